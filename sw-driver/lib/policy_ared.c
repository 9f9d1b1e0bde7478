/* ARED, Adaptive RED (Floyd, Gummadi, Shenker 2001): max_p follows the average. */
#include "internal.h"
#include "weir_regs.h"

#include <math.h>

#define LOW_SHARE 0.4
#define HIGH_SHARE 0.6
#define BAND_ONE 131072.0 /* 2^17 */

static int complete(const struct weir_capabilities *caps, struct weir_queue_config *config)
{
	const double min = config->red.min, band = config->red.max - min;

	(void)caps;
	weir_fill(&config->ared.low, weir_round_threshold(min + LOW_SHARE * band));
	weir_fill(&config->ared.high, weir_round_threshold(min + HIGH_SHARE * band));
	return WEIR_OK;
}

static int check(const struct weir_capabilities *caps, const struct weir_queue_config *config)
{
	const struct weir_ared *own = &config->ared;
	const struct weir_red *red = &config->red;
	const char *unit = weir_unit_name(config->unit);
	int status;

	(void)caps;
	status = weir_check_range("min", red->min, 0, red->max - 1, unit, "max_p is adapted between min and max");
	if (!status)
		status = weir_check_range("low", own->low, red->min, red->max, unit, "it is between min and max");
	if (!status)
		status = weir_check_range("high", own->high, own->low, red->max, unit, "it is between low and max");
	if (!status)
		status = weir_check_range("top", own->top, own->bottom, 1, "", "it is not below bottom");
	return status ? status :
			weir_check_range("probability", red->probability, own->bottom, own->top, "",
					 "max_p begins in its range; change it, bottom or top");
}

static void convert(const struct weir_queue_config *config, struct weir_queue_registers *r)
{
	const struct weir_ared *own = &config->ared;
	const double min = weir_round_threshold(config->red.min), max = weir_round_threshold(config->red.max);

	weir_put(r, WEIR_Q_ARED_INTERVAL, weir_time_word(own->interval));
	weir_put(r, WEIR_Q_ARED_LOW, weir_threshold_word(own->low));
	weir_put(r, WEIR_Q_ARED_HIGH, weir_threshold_word(own->high));
	weir_put(r, WEIR_Q_ARED_BOTTOM, weir_probability_word(own->bottom));
	weir_put(r, WEIR_Q_ARED_TOP, weir_probability_word(own->top));
	weir_put(r, WEIR_Q_ARED_INCREASE, weir_probability_word(own->alpha));
	weir_put(r, WEIR_Q_ARED_DECREASE, weir_probability_word(own->beta));
	weir_put(r, WEIR_Q_ARED_BAND, weir_scaled_word(BAND_ONE / (max - min)));
	weir_put(r, WEIR_Q_ARED_GENTLE, weir_scaled_word(BAND_ONE / max));
}

static double share(const struct weir_queue_registers *r, uint32_t offset)
{
	const uint32_t word = weir_take(r, offset);

	return weir_shortest(weir_from_probability(word), word, weir_probability_word);
}

static void convert_back(const struct weir_capabilities *caps, const struct weir_queue_registers *r,
			 struct weir_queue_config *config)
{
	struct weir_ared *own = &config->ared;

	(void)caps;
	own->interval = weir_from_time(weir_take(r, WEIR_Q_ARED_INTERVAL));
	own->low = weir_from_threshold(weir_take(r, WEIR_Q_ARED_LOW));
	own->high = weir_from_threshold(weir_take(r, WEIR_Q_ARED_HIGH));
	own->bottom = share(r, WEIR_Q_ARED_BOTTOM);
	own->top = share(r, WEIR_Q_ARED_TOP);
	own->alpha = share(r, WEIR_Q_ARED_INCREASE);
	own->beta = share(r, WEIR_Q_ARED_DECREASE);
	/* the same word of max_p and of an end of its range has to read the same */
	config->red.probability = share(r, WEIR_Q_RED_MAXP);
}

const struct weir_policy_ops weir_policy_ared = {
	.complete = complete,
	.check = check,
	.convert = convert,
	.convert_back = convert_back,
};
