/* PIE (RFC 8033). */
#include "internal.h"
#include "weir_regs.h"

#include <math.h>

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
	.convert = convert,
	.convert_back = convert_back,
};
