/* PI2, a queue of the DualQ Coupled AQM (RFC 9332, appendix A.1) or a classic queue by itself. */
#include "internal.h"
#include "registers_policies.h"

#include <math.h>

#define MOST_TIME 4e6         /* us; registers have 32 bits of ns */
#define RTT_MAX 0.1           /* s, RFC 9332 */
#define COUPLING_ONE 4096.0   /* UQ4.12 */
#define US_PER_S 1e6

static const struct weir_row rows[] = {
	{ .parameter = { "target", "us", WEIR_KIND_TIME, 1, MOST_TIME, "15ms", NULL, "RFC 9332 target, tc-dualpi2 target",
			 "delay that the controller of the classic queue aims at" },
	  .offset = WEIR_AT(pi2.target), .advice = "RFC 9332 has 15ms" },
	{ .parameter = { "tupdate", "us", WEIR_KIND_TIME, 10, MOST_TIME, "target, at most 33.333ms", NULL,
			 "RFC 9332 min(target, RTT_max/3), tc-dualpi2 tupdate",
			 "time from one update of the probability to the next" },
	  .offset = WEIR_AT(pi2.tupdate), .advice = "RFC 9332 has the target, at most a third of the longest round trip" },
	{ .parameter = { "alpha", "1/s", WEIR_KIND_NUMBER, 0, 40, "10*tupdate in s", NULL,
			 "RFC 9332 0.1*Tupdate/RTT_max^2, tc-dualpi2 alpha", "gain of the delay's distance from the target" },
	  .offset = WEIR_AT(pi2.alpha), .advice = "with tupdate 15ms RFC 9332 has 0.15" },
	{ .parameter = { "beta", "1/s", WEIR_KIND_NUMBER, 0, 40, "3", NULL, "RFC 9332 0.3/RTT_max, tc-dualpi2 beta",
			 "gain of the delay's change" },
	  .offset = WEIR_AT(pi2.beta), .advice = "RFC 9332 has 3" },
	{ .parameter = { "step_thresh", "us", WEIR_KIND_TIME, 0, MOST_TIME, "1ms", NULL, "tc-dualpi2 step_thresh",
			 "low-latency packets with a longer sojourn time are marked" },
	  .offset = WEIR_AT(pi2.step_thresh), .advice = "tc-dualpi2 has 1ms" },
	{ .parameter = { "coupling_factor", "", WEIR_KIND_NUMBER, 0, 15, "2", NULL, "RFC 9332 k, tc-dualpi2 coupling_factor",
			 "k: low-latency packets are marked with k times the base probability" },
	  .offset = WEIR_AT(pi2.coupling_factor), .advice = "RFC 9332 has 2" },
	{ .parameter = { "p_cmax", "", WEIR_KIND_NUMBER, 0, 1, "1/coupling_factor^2, at most 1", NULL, "RFC 9332 p_Cmax",
			 "from this classic probability on the queue and its pair are overloaded: ECT packets are dropped too" },
	  .offset = WEIR_AT(pi2.p_cmax), .advice = "RFC 9332 has 1/k^2" },
	WEIR_FLAG_ROW("ecn", pi2.ecn, "on", "RFC 9332 A.1", "the classic queue marks ECT packets instead of dropping them"),
	WEIR_FLAG_ROW("low_latency", pi2.low_latency, "off", "RFC 9332 L queue",
		      "this is the low-latency queue of a pair; make it `strict`, with the lower number"),
	{ .parameter = { "coupled", "", WEIR_KIND_COUNT, 0, 7, "0", NULL, "RFC 9332",
			 "number of the other queue of the pair; the two name each other, a queue without a pair any" },
	  .offset = WEIR_AT(pi2.coupled), .span = WEIR_SPAN_QUEUES, .whole = true, .advice = "name a queue of this core" },
};

static const struct weir_register_name words[] = {
	{ "PI2_CTRL", WEIR_Q_PI2_CTRL },   { "PI2_INTERVAL", WEIR_Q_PI2_INTERVAL }, { "PI2_TARGET", WEIR_Q_PI2_TARGET },
	{ "PI2_ALPHA", WEIR_Q_PI2_ALPHA }, { "PI2_BETA", WEIR_Q_PI2_BETA },         { "PI2_STEP", WEIR_Q_PI2_STEP },
	{ "PI2_COUPLING", WEIR_Q_PI2_COUPLING }, { "PI2_MAX", WEIR_Q_PI2_MAX },
};

static uint32_t coupling_word(double k)
{
	return (uint32_t)round(k * COUPLING_ONE);
}

static int complete(const struct weir_capabilities *caps, struct weir_queue_config *config)
{
	struct weir_pi2 *own = &config->pi2;
	const double k = own->coupling_factor;

	(void)caps;
	weir_fill(&own->tupdate, fmin(own->target, round(RTT_MAX / 3 * US_PER_S)));
	weir_fill(&own->alpha, own->tupdate / (10 * RTT_MAX * RTT_MAX * US_PER_S)); /* 0.1*Tupdate/RTT_max^2 */
	weir_fill(&own->p_cmax, fmin(1 / (k * k), 1));
	return WEIR_OK;
}

static void convert(const struct weir_queue_config *config, struct weir_queue_registers *r)
{
	const struct weir_pi2 *own = &config->pi2;

	weir_put(r, WEIR_Q_PI2_CTRL, WEIR_FIELD(WEIR_Q_PI2_CTRL_ECN, own->ecn) |
					     WEIR_FIELD(WEIR_Q_PI2_CTRL_LOW_LATENCY, own->low_latency) |
					     WEIR_FIELD(WEIR_Q_PI2_CTRL_COUPLED, own->coupled));
	weir_put(r, WEIR_Q_PI2_INTERVAL, weir_time_word(own->tupdate));
	weir_put(r, WEIR_Q_PI2_TARGET, weir_time_word(own->target));
	weir_put(r, WEIR_Q_PI2_ALPHA, weir_gain_word(own->alpha));
	weir_put(r, WEIR_Q_PI2_BETA, weir_gain_word(own->beta));
	weir_put(r, WEIR_Q_PI2_STEP, weir_time_word(own->step_thresh));
	weir_put(r, WEIR_Q_PI2_COUPLING, coupling_word(own->coupling_factor));
	weir_put(r, WEIR_Q_PI2_MAX, weir_probability_word(own->p_cmax));
}

static void convert_back(const struct weir_capabilities *caps, const struct weir_queue_registers *r,
			 struct weir_queue_config *config)
{
	struct weir_pi2 *own = &config->pi2;
	const uint32_t ctrl = weir_take(r, WEIR_Q_PI2_CTRL), most = weir_take(r, WEIR_Q_PI2_MAX);
	const uint32_t coupling = weir_take(r, WEIR_Q_PI2_COUPLING);

	(void)caps;
	own->ecn = (int)WEIR_TAKE(WEIR_Q_PI2_CTRL_ECN, ctrl);
	own->low_latency = (int)WEIR_TAKE(WEIR_Q_PI2_CTRL_LOW_LATENCY, ctrl);
	own->coupled = WEIR_TAKE(WEIR_Q_PI2_CTRL_COUPLED, ctrl);
	own->tupdate = weir_from_time(weir_take(r, WEIR_Q_PI2_INTERVAL));
	own->target = weir_from_time(weir_take(r, WEIR_Q_PI2_TARGET));
	own->alpha = weir_from_gain_word(weir_take(r, WEIR_Q_PI2_ALPHA));
	own->beta = weir_from_gain_word(weir_take(r, WEIR_Q_PI2_BETA));
	own->step_thresh = weir_from_time(weir_take(r, WEIR_Q_PI2_STEP));
	own->coupling_factor = weir_shortest(coupling / COUPLING_ONE, coupling, coupling_word);
	own->p_cmax = weir_shortest(weir_from_probability(most), most, weir_probability_word);
}

static int place(struct weir *w, unsigned int queue, struct weir_queue_registers *r)
{
	const uint32_t ctrl = weir_take(r, WEIR_Q_PI2_CTRL);

	(void)w;
	if (WEIR_TAKE(WEIR_Q_PI2_CTRL_LOW_LATENCY, ctrl) && WEIR_TAKE(WEIR_Q_PI2_CTRL_COUPLED, ctrl) == queue)
		return weir_fail(WEIR_E_CONFLICT, "coupled %u is this queue itself; name the classic queue of the pair", queue);
	return WEIR_OK;
}

const struct weir_policy_ops weir_policy_pi2 = {
	.info = { WEIR_POLICY_PI2, "pi2", "PI controller with a squared probability; with low_latency the L queue of DualPI2",
		  "RFC 9332; tc-dualpi2(8)" },
	WEIR_ROWS(rows),
	WEIR_WORDS(words),
	.complete = complete,
	.convert = convert,
	.convert_back = convert_back,
	.place = place,
};
