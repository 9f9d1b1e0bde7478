/* CoDel (RFC 8289), with marking and ce_threshold as tc-codel has them. */
#include "internal.h"
#include "weir_regs.h"

#include <math.h>

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
	.convert = convert,
	.convert_back = convert_back,
};
