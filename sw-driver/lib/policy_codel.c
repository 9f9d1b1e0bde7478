/* CoDel (RFC 8289), with marking and ce_threshold as tc-codel has them. */
#include "internal.h"
#include "registers_policies.h"

#include <math.h>

#define MOST_TIME 4e6 /* us; registers have 32 bits of ns */

static const struct weir_row rows[] = {
	{ .parameter = { "target", "us", WEIR_KIND_TIME, 1, MOST_TIME, "5ms", NULL, "RFC 8289 TARGET, tc-codel target",
			 "sojourn time that may stand" },
	  .offset = WEIR_AT(codel.target), .advice = "RFC 8289 has 5ms, 5 to 10 % of interval" },
	{ .parameter = { "interval", "us", WEIR_KIND_TIME, 1, MOST_TIME, "100ms", NULL,
			 "RFC 8289 INTERVAL, tc-codel interval",
			 "time above target before the first drop: the longest usual round trip" },
	  .offset = WEIR_AT(codel.interval), .advice = "RFC 8289 has 100ms" },
	{ .parameter = { "maxpacket", "bytes", WEIR_KIND_SIZE, 0, 9216, "1514", NULL, "RFC 8289 MAXPACKET, Linux mtu",
			 "no drop while the queue holds this or less: the longest usual frame, header included" },
	  .offset = WEIR_AT(codel.maxpacket), .whole = true, .advice = "give the longest usual frame: an MTU of 1500 is 1514" },
	{ .parameter = { "ce_threshold", "us", WEIR_KIND_TIME, 0, MOST_TIME, "off", NULL, "tc-codel ce_threshold",
			 "ECT packets with a longer sojourn time are marked" },
	  .offset = WEIR_AT(codel.ce_threshold), .advice = "or off" },
	WEIR_FLAG_ROW("ecn", codel.ecn, "off", "tc-codel ecn", "mark ECT packets instead of dropping them"),
};

static const struct weir_register_name words[] = {
	{ "CODEL_CTRL", WEIR_Q_CODEL_CTRL },
	{ "CODEL_TARGET", WEIR_Q_CODEL_TARGET },
	{ "CODEL_INTERVAL", WEIR_Q_CODEL_INTERVAL },
	{ "CODEL_MTU", WEIR_Q_CODEL_MTU },
	{ "CODEL_CE_THRESHOLD", WEIR_Q_CODEL_CE_THRESHOLD },
};

static void convert(const struct weir_queue_config *config, struct weir_queue_registers *r)
{
	const struct weir_codel *own = &config->codel;

	weir_put(r, WEIR_Q_CODEL_CTRL, WEIR_FIELD(WEIR_Q_CODEL_CTRL_ECN, own->ecn));
	weir_put(r, WEIR_Q_CODEL_TARGET, weir_time_word(own->target));
	weir_put(r, WEIR_Q_CODEL_INTERVAL, weir_time_word(own->interval));
	weir_put(r, WEIR_Q_CODEL_MTU, (uint32_t)own->maxpacket);
	weir_put(r, WEIR_Q_CODEL_CE_THRESHOLD, weir_time_word(own->ce_threshold)); /* infinite: all ones */
}

static void convert_back(const struct weir_capabilities *caps, const struct weir_queue_registers *r,
			 struct weir_queue_config *config)
{
	struct weir_codel *own = &config->codel;
	const uint32_t threshold = weir_take(r, WEIR_Q_CODEL_CE_THRESHOLD);

	(void)caps;
	own->ecn = (int)WEIR_TAKE(WEIR_Q_CODEL_CTRL_ECN, weir_take(r, WEIR_Q_CODEL_CTRL));
	own->target = weir_from_time(weir_take(r, WEIR_Q_CODEL_TARGET));
	own->interval = weir_from_time(weir_take(r, WEIR_Q_CODEL_INTERVAL));
	own->maxpacket = weir_take(r, WEIR_Q_CODEL_MTU);
	own->ce_threshold = threshold == UINT32_MAX ? INFINITY : weir_from_time(threshold);
}

const struct weir_policy_ops weir_policy_codel = {
	.info = { WEIR_POLICY_CODEL, "codel", "controlled delay: drops or marks at departure by the sojourn time",
		  "RFC 8289; tc-codel(8)" },
	WEIR_ROWS(rows),
	WEIR_WORDS(words),
	.convert = convert,
	.convert_back = convert_back,
};
