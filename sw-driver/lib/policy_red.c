/* RED (Floyd & Jacobson 1993; tc-red(8); ns-2.35 red.cc). Formats: docs/modules/ewma.md and red.md. */
#include "internal.h"
#include "weir_regs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Floyd & Jacobson 1993; used when tc's equation has no solution and neither weight nor burst is given. */
#define DEFAULT_WEIGHT 0.002
#define LEAST_WEIGHT 0x1p-16
/* The narrowest band: the slopes' mantissas and tc's own smallest step end here. */
#define NARROWEST_BAND 1.0
#define LEAST_BANDWIDTH 1e3
#define MOST_BANDWIDTH 100e9
#define SLOPE_ONE 131072.0 /* 2^17 */
#define MEAN_ONE 1048576.0 /* 2^20 */
#define BIT_NS_PER_BYTE 8e9 /* bit/s * ns a byte */

static void named(struct weir_queue_config *config, const char *name)
{
	struct weir_red *red = &config->red;

	if (!strcmp(name, "weight")) {
		config->named |= WEIR_NAMED_WEIGHT;
	} else if (!strcmp(name, "burst") && !(config->named & WEIR_NAMED_WEIGHT)) {
		red->weight = NAN; /* a weight that was read back gives way; one that was named does not */
	} else if (!strcmp(name, "adaptive")) {
		config->policy = red->adaptive ? WEIR_POLICY_ARED : WEIR_POLICY_RED;
		red->adaptive = WEIR_UNSET;
	}
}

/* What the weight is derived from: thresholds, avpkt, burst. */
static int check_thresholds(const struct weir_capabilities *caps, const struct weir_queue_config *config)
{
	const struct weir_red *red = &config->red;
	const char *unit = weir_unit_name(config->unit);
	const double most = config->unit == WEIR_UNIT_BYTES ? weir_buffer_bytes(caps) : caps->descriptors;
	const double band = weir_round_threshold(red->max) - weir_round_threshold(red->min); /* as the hardware has it */
	int status = weir_check_parameter(caps, config, "max");

	if (!status)
		status = weir_check_range("max", red->max, NARROWEST_BAND, most, unit, "no more packets find a place");
	if (!status && !(band == 0 || band >= NARROWEST_BAND)) /* without a band, max is a step */
		status = weir_fail(WEIR_E_RANGE,
				   "min %s is out of range: allowed is 0 to %s, or as max, which is %s; lower min, or raise max",
				   weir_show_value(red->min).s, weir_show_amount(red->max - NARROWEST_BAND, unit).s,
				   weir_show_value(red->max).s);
	if (!status)
		status = weir_check_parameter(caps, config, "avpkt");
	return status ? status : weir_check_parameter(caps, config, "burst");
}

/* (1-(1-w)^burst)/w, falling from burst (w = 0) to 1 (w = 1). As tc computes it: with pow(), what is exact is exact. */
static double burst_average(double burst, double w)
{
	return (1 - pow(1 - w, burst)) / w;
}

/* tc's rule: the largest w of 1/2, 1/4 ... LEAST_WEIGHT with (1-(1-w)^burst)/w >= a; 0 if there is none. */
static double solve_weight(double burst, double a)
{
	if (a < 1 || (a >= burst && a > 1))
		return 0;
	for (double w = 0.5; w >= LEAST_WEIGHT; w /= 2)
		if (burst_average(burst, w) >= a)
			return w;
	return 0;
}

int weir_weight_from_burst(double burst, double qmin, double *weight)
{
	double low = fmax(1, ceil(qmin)), high, found;

	if (!(qmin >= 0 && qmin <= 1e7) || !(burst >= 1 && burst <= 1e7))
		return weir_fail(WEIR_E_RANGE, "burst %s with min %s packets is out of range: allowed is 1 to 10000000; "
				 "give weight instead",
				 weir_show_value(burst).s, weir_show_value(qmin).s);
	found = solve_weight(burst, burst + 1 - qmin);
	if (found > 0) {
		*weight = found;
		return WEIR_OK;
	}
	if (qmin <= 1)
		return weir_fail(WEIR_E_CONFLICT,
				 "burst %s gives no weight: min is %s packets of avpkt and has to be more than 1; raise "
				 "min, or give weight (%s to 1)",
				 weir_show_value(burst).s, weir_show_value(qmin).s, weir_show_value(LEAST_WEIGHT).s);
	for (high = 2 * low; solve_weight(high, high + 1 - qmin) > 0;)
		high *= 2;
	for (double step = high / 2; step >= 1; step = floor(step / 2)) /* the last burst that still works */
		while (high > low && solve_weight(high, high + 1 - qmin) == 0 &&
		       (step == 1 || solve_weight(high - step, high - step + 1 - qmin) == 0))
			high -= step;
	return weir_fail(WEIR_E_RANGE,
			 "burst %s is out of range: allowed with min %s packets is %s to %s packets; or give weight "
			 "instead",
			 weir_show_value(burst).s, weir_show_value(qmin).s, weir_show_value(low).s,
			 weir_show_value(fmax(low, high)).s);
}

static int complete_weight(struct weir_queue_config *config)
{
	struct weir_red *red = &config->red;
	double avpkt = config->unit == WEIR_UNIT_BYTES ? red->avpkt : 1; /* in the queue's unit */
	double qmin = red->min / avpkt;

	if (!isnan(red->weight))
		return WEIR_OK;
	if (!isnan(red->burst))
		return weir_weight_from_burst(red->burst, qmin, &red->weight);
	red->burst = fmax(floor((2 * red->min + red->max) / (3 * avpkt)), ceil(qmin));
	red->weight = solve_weight(red->burst, red->burst + 1 - qmin);
	if (red->weight == 0 && qmin <= 1) {
		red->burst = NAN;
		red->weight = DEFAULT_WEIGHT;
	}
	red->weight = fmax(red->weight, LEAST_WEIGHT);
	return WEIR_OK;
}

static int complete(const struct weir_capabilities *caps, struct weir_queue_config *config)
{
	struct weir_red *red = &config->red;
	bool whole = config->unit == WEIR_UNIT_BYTES;
	double quarter = weir_unit_limit(config) / 4;
	int status = isnan(red->min) ? WEIR_OK : weir_check_parameter(caps, config, "min");

	if (status)
		return status;
	weir_fill(&red->max, red->min > 0 ? 3 * red->min : whole ? floor(quarter) : quarter);
	weir_fill(&red->min, whole ? floor(red->max / 3) : red->max / 3);
	weir_fill(&red->bandwidth, caps->link_rate);
	weir_fill_choice(&red->exempt_first, red->spread != WEIR_SPREAD_GEOMETRIC); /* independent draws have no first */
	status = weir_check_common(caps, config);
	if (!status)
		status = check_thresholds(caps, config);
	return status ? status : complete_weight(config);
}

static int check(const struct weir_capabilities *caps, const struct weir_queue_config *config)
{
	int status = check_thresholds(caps, config);

	if (!status && config->red.nodrop && !config->red.ecn)
		status = weir_fail(WEIR_E_CONFLICT, "nodrop on has a meaning only with ecn; add ecn, or leave nodrop out");
	return status;
}

static uint32_t flags_word(const struct weir_red *red)
{
	return WEIR_FIELD(WEIR_Q_RED_FLAGS_SPREAD, red->spread) | WEIR_FIELD(WEIR_Q_RED_FLAGS_BYTE_MODE, red->bytemode) |
	       WEIR_FIELD(WEIR_Q_RED_FLAGS_GENTLE, red->gentle) | WEIR_FIELD(WEIR_Q_RED_FLAGS_ECN, red->ecn) |
	       WEIR_FIELD(WEIR_Q_RED_FLAGS_HARDDROP, red->harddrop) | WEIR_FIELD(WEIR_Q_RED_FLAGS_NODROP, red->nodrop) |
	       WEIR_FIELD(WEIR_Q_RED_FLAGS_EXEMPT_FIRST, red->exempt_first);
}

static void convert(const struct weir_queue_config *config, struct weir_queue_registers *r)
{
	const struct weir_red *red = &config->red;
	const uint64_t weight = weir_to_weight(red->weight), decay = weir_to_decay(weight);
	/* Slopes of thresholds and max_p as they were rounded: p is max_p at max, whatever the band's width, and
	 * what is read back converts to the same words again. */
	const double min = weir_round_threshold(red->min), max = weir_round_threshold(red->max);
	const double probability = weir_from_probability(weir_probability_word(red->probability));

	weir_put(r, WEIR_Q_RED_FLAGS, flags_word(red));
	weir_put(r, WEIR_Q_RED_WEIGHT_LO, (uint32_t)weight);
	weir_put(r, WEIR_Q_RED_WEIGHT_HI, (uint32_t)(weight >> 32));
	weir_put(r, WEIR_Q_RED_DECAY_LO, (uint32_t)decay);
	weir_put(r, WEIR_Q_RED_DECAY_HI, (uint32_t)(decay >> 32));
	weir_put(r, WEIR_Q_RED_IDLE_RATE, weir_scaled_word(red->bandwidth / (red->avpkt * BIT_NS_PER_BYTE)));
	weir_put(r, WEIR_Q_RED_MIN, weir_threshold_word(red->min));
	weir_put(r, WEIR_Q_RED_MAX, weir_threshold_word(red->max));
	weir_put(r, WEIR_Q_RED_MAXP, weir_probability_word(red->probability));
	weir_put(r, WEIR_Q_RED_SLOPE, max > min ? weir_scaled_word(probability / (max - min) * SLOPE_ONE) : 0);
	weir_put(r, WEIR_Q_RED_GENTLE_SLOPE, weir_scaled_word((1 - probability) / max * SLOPE_ONE));
	weir_put(r, WEIR_Q_RED_MEAN, weir_scaled_word(MEAN_ONE / red->avpkt));
}

static void convert_back(const struct weir_capabilities *caps, const struct weir_queue_registers *r,
			 struct weir_queue_config *config)
{
	struct weir_red *red = &config->red;
	const uint32_t flags = weir_take(r, WEIR_Q_RED_FLAGS);
	const uint32_t idle = weir_take(r, WEIR_Q_RED_IDLE_RATE), mean = weir_take(r, WEIR_Q_RED_MEAN);
	const uint64_t weight = (uint64_t)weir_take(r, WEIR_Q_RED_WEIGHT_HI) << 32 | weir_take(r, WEIR_Q_RED_WEIGHT_LO);

	(void)caps;
	red->spread = (int)WEIR_TAKE(WEIR_Q_RED_FLAGS_SPREAD, flags);
	if (red->spread > WEIR_SPREAD_UNIFORM_WAIT) /* as the hardware takes it */
		red->spread = WEIR_SPREAD_UNIFORM_WAIT;
	red->bytemode = (int)WEIR_TAKE(WEIR_Q_RED_FLAGS_BYTE_MODE, flags);
	red->gentle = (int)WEIR_TAKE(WEIR_Q_RED_FLAGS_GENTLE, flags);
	red->ecn = (int)WEIR_TAKE(WEIR_Q_RED_FLAGS_ECN, flags);
	red->harddrop = (int)WEIR_TAKE(WEIR_Q_RED_FLAGS_HARDDROP, flags);
	red->nodrop = (int)WEIR_TAKE(WEIR_Q_RED_FLAGS_NODROP, flags);
	red->exempt_first = (int)WEIR_TAKE(WEIR_Q_RED_FLAGS_EXEMPT_FIRST, flags);
	red->weight = ldexp((double)weight, -36);
	red->min = weir_from_threshold(weir_take(r, WEIR_Q_RED_MIN));
	red->max = weir_from_threshold(weir_take(r, WEIR_Q_RED_MAX));
	red->probability = weir_from_probability(weir_take(r, WEIR_Q_RED_MAXP));
	if (WEIR_TAKE(WEIR_SCALED_MANTISSA, mean)) {
		red->avpkt = round(MEAN_ONE / weir_from_scaled_word(mean)); /* whole, so this is exact */
		if (WEIR_TAKE(WEIR_SCALED_MANTISSA, idle))
			red->bandwidth = weir_settle(weir_from_scaled_word(idle) * red->avpkt * BIT_NS_PER_BYTE,
						     LEAST_BANDWIDTH, MOST_BANDWIDTH);
	}
}

const struct weir_policy_ops weir_policy_red = {
	.named = named,
	.complete = complete,
	.check = check,
	.convert = convert,
	.convert_back = convert_back,
};
