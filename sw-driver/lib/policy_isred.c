/* ISRED: RED that acts earlier while the average, or the queue, rises faster than a slope. */
#include "internal.h"
#include "weir_regs.h"

#include <math.h>

#define SLOPE_PER_S 4.096e-6 /* 2^12 queue units a ns, of queue units a second */
#define DEFAULT_SLOPE 0.8    /* limits a second */

static uint32_t slope_word(double slope)
{
	return weir_scaled_word(slope * SLOPE_PER_S);
}

static int complete(const struct weir_capabilities *caps, struct weir_queue_config *config)
{
	(void)caps;
	weir_fill(&config->isred.slope, DEFAULT_SLOPE * weir_unit_limit(config));
	return WEIR_OK;
}

static void convert(const struct weir_queue_config *config, struct weir_queue_registers *r)
{
	weir_put(r, WEIR_Q_ISRED_CTRL, WEIR_FIELD(WEIR_Q_ISRED_CTRL_MODE, config->isred.mode) |
					       WEIR_FIELD(WEIR_Q_ISRED_CTRL_SOURCE, config->isred.source));
	weir_put(r, WEIR_Q_ISRED_SLOPE, slope_word(config->isred.slope));
	weir_put(r, WEIR_Q_ISRED_GAIN, weir_scaled_word(config->isred.gain));
}

static void convert_back(const struct weir_capabilities *caps, const struct weir_queue_registers *r,
			 struct weir_queue_config *config)
{
	const uint32_t ctrl = weir_take(r, WEIR_Q_ISRED_CTRL), slope = weir_take(r, WEIR_Q_ISRED_SLOPE);
	const uint32_t gain = weir_take(r, WEIR_Q_ISRED_GAIN);

	(void)caps;
	config->isred.mode = (int)WEIR_TAKE(WEIR_Q_ISRED_CTRL_MODE, ctrl);
	if (config->isred.mode > WEIR_EDROP_GAIN) /* as the hardware takes it */
		config->isred.mode = WEIR_EDROP_GAIN;
	config->isred.source = (int)WEIR_TAKE(WEIR_Q_ISRED_CTRL_SOURCE, ctrl);
	config->isred.slope = weir_shortest(weir_from_scaled_word(slope) / SLOPE_PER_S, slope, slope_word);
	config->isred.gain = weir_shortest(weir_from_scaled_word(gain), gain, weir_scaled_word);
}

const struct weir_policy_ops weir_policy_isred = {
	.complete = complete,
	.convert = convert,
	.convert_back = convert_back,
};
