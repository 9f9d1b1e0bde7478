/* PIE (RFC 8033). */
#include "internal.h"
#include "registers_policies.h"

#include <math.h>

#define MOST_BYTES 2097151.0
#define MOST_TIME 4e6 /* us; registers have 32 bits of ns */
#define ADVICE_GAIN "it counts per second; tc-pie counts in sixteenths, its 2 and 20 are 0.125 and 1.25"

static const struct weir_row rows[] = {
	{ .parameter = { "target", "us", WEIR_KIND_TIME, 1, MOST_TIME, "15ms", NULL, "RFC 8033 QDELAY_REF, tc-pie target",
			 "delay that the controller aims at" },
	  .offset = WEIR_AT(pie.target), .advice = "RFC 8033 has 15ms" },
	{ .parameter = { "tupdate", "us", WEIR_KIND_TIME, 10, MOST_TIME, "15ms", NULL, "RFC 8033 T_UPDATE, tc-pie tupdate",
			 "time from one update of the probability to the next" },
	  .offset = WEIR_AT(pie.tupdate), .advice = "RFC 8033 has 15ms" },
	{ .parameter = { "alpha", "1/s", WEIR_KIND_NUMBER, 0, 1, "0.125", NULL, "RFC 8033 alpha (tc-pie: sixteenths)",
			 "gain of the delay's distance from the target" },
	  .offset = WEIR_AT(pie.alpha), .advice = ADVICE_GAIN },
	{ .parameter = { "beta", "1/s", WEIR_KIND_NUMBER, 0, 10, "1.25", NULL, "RFC 8033 beta (tc-pie: sixteenths)",
			 "gain of the delay's change" },
	  .offset = WEIR_AT(pie.beta), .advice = ADVICE_GAIN },
	{ .parameter = { "burst", "us", WEIR_KIND_TIME, 0, MOST_TIME, "150ms", NULL, "RFC 8033 MAX_BURST",
			 "burst that passes an idle queue without drops" },
	  .offset = WEIR_AT(pie.burst), .advice = "RFC 8033 has 150ms" },
	{ .parameter = { "mark_ecnth", "", WEIR_KIND_NUMBER, 0, 1, "0.1", NULL, "RFC 8033 mark_ecnth",
			 "probability above which ECT packets are dropped too" },
	  .offset = WEIR_AT(pie.mark_ecnth), .advice = "RFC 8033 has 0.1" },
	{ .parameter = { "bypass", "bytes", WEIR_KIND_SIZE, 0, MOST_BYTES, "3000", NULL, "RFC 8033 2*MEAN_PKTSIZE",
			 "no drop while the queue holds this or less" },
	  .offset = WEIR_AT(pie.bypass), .span = WEIR_SPAN_BUFFER, .whole = true,
	  .advice = "give two packets of typical length" },
	WEIR_FLAG_ROW("ecn", pie.ecn, "off", "tc-pie ecn", "mark ECT packets instead of dropping them"),
};

static const struct weir_register_name words[] = {
	{ "PIE_CTRL", WEIR_Q_PIE_CTRL },   { "PIE_INTERVAL", WEIR_Q_PIE_INTERVAL }, { "PIE_TARGET", WEIR_Q_PIE_TARGET },
	{ "PIE_ALPHA", WEIR_Q_PIE_ALPHA }, { "PIE_BETA", WEIR_Q_PIE_BETA },         { "PIE_BURST", WEIR_Q_PIE_BURST },
	{ "PIE_ECN_MAX", WEIR_Q_PIE_ECN_MAX }, { "PIE_BYPASS", WEIR_Q_PIE_BYPASS },
};

static void convert(const struct weir_queue_config *config, struct weir_queue_registers *r)
{
	const struct weir_pie *own = &config->pie;

	weir_put(r, WEIR_Q_PIE_CTRL, WEIR_FIELD(WEIR_Q_PIE_CTRL_ECN, own->ecn));
	weir_put(r, WEIR_Q_PIE_INTERVAL, weir_time_word(own->tupdate));
	weir_put(r, WEIR_Q_PIE_TARGET, weir_time_word(own->target));
	weir_put(r, WEIR_Q_PIE_ALPHA, weir_gain_word(own->alpha));
	weir_put(r, WEIR_Q_PIE_BETA, weir_gain_word(own->beta));
	weir_put(r, WEIR_Q_PIE_BURST, weir_time_word(own->burst));
	weir_put(r, WEIR_Q_PIE_ECN_MAX, weir_probability_word(own->mark_ecnth));
	weir_put(r, WEIR_Q_PIE_BYPASS, (uint32_t)own->bypass);
}

static void convert_back(const struct weir_capabilities *caps, const struct weir_queue_registers *r,
			 struct weir_queue_config *config)
{
	struct weir_pie *own = &config->pie;
	const uint32_t most = weir_take(r, WEIR_Q_PIE_ECN_MAX);

	(void)caps;
	own->ecn = (int)WEIR_TAKE(WEIR_Q_PIE_CTRL_ECN, weir_take(r, WEIR_Q_PIE_CTRL));
	own->tupdate = weir_from_time(weir_take(r, WEIR_Q_PIE_INTERVAL));
	own->target = weir_from_time(weir_take(r, WEIR_Q_PIE_TARGET));
	own->alpha = weir_from_gain_word(weir_take(r, WEIR_Q_PIE_ALPHA));
	own->beta = weir_from_gain_word(weir_take(r, WEIR_Q_PIE_BETA));
	own->burst = weir_from_time(weir_take(r, WEIR_Q_PIE_BURST));
	own->mark_ecnth = weir_shortest(weir_from_probability(most), most, weir_probability_word);
	own->bypass = weir_take(r, WEIR_Q_PIE_BYPASS);
}

const struct weir_policy_ops weir_policy_pie = {
	.info = { WEIR_POLICY_PIE, "pie", "proportional integral controller enhanced: a delay by a drop probability",
		  "RFC 8033; tc-pie(8)" },
	WEIR_ROWS(rows),
	WEIR_WORDS(words),
	.convert = convert,
	.convert_back = convert_back,
};
