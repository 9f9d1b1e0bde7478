/* PI2, a queue of the DualQ Coupled AQM (RFC 9332, appendix A.1) or a classic queue by itself. */
#include "internal.h"
#include "weir_regs.h"

#include <math.h>

#define RTT_MAX 0.1           /* s, RFC 9332 */
#define COUPLING_ONE 4096.0   /* UQ4.12 */
#define US_PER_S 1e6

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
	.complete = complete,
	.convert = convert,
	.convert_back = convert_back,
	.place = place,
};
