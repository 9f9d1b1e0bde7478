/* Natural units to fixed point and back: the only place in the project that does it. Formats are those of
 * docs/modules/ewma.md and red.md, error bounds those of docs/libweir.md. */
#include "internal.h"
#include "weir_regs.h"

#include <math.h>
#include <string.h>

#define WEIGHT_ONE (UINT64_C(1) << 36)
#define DECAY_ALL_ONES ((UINT64_C(1) << 42) - 1)
#define MANTISSA_BITS 18
#define EXPONENT_MAX 63
#define THRESHOLD_ONE 2048.0 /* UQ21.11 */
#define PROBABILITY_ONE 4294967296.0 /* UQ0.32, whose largest value stands for 1 */
#define SLOPE_ONE 131072.0 /* 2^17 */
#define MEAN_ONE 1048576.0 /* 2^20 */
#define COST_ONE 524288.0 /* UQ17.19 */
#define BIT_NS_PER_BYTE 8e9 /* bit/s * ns a byte */
#define DEFAULT_SHAPER_BURST 1538.0
#define DEFAULT_SHAPER_OVERHEAD 24.0

struct weir_scaled weir_to_scaled(double value)
{
	struct weir_scaled scaled = { 0, 0 };
	int power, exponent;
	double mantissa;

	if (!(value > 0))
		return scaled;
	mantissa = frexp(value, &power); /* value = mantissa * 2^power, mantissa in [0.5, 1) */
	exponent = MANTISSA_BITS - power;
	mantissa = round(ldexp(mantissa, MANTISSA_BITS));
	if (mantissa == ldexp(1, MANTISSA_BITS)) {
		mantissa /= 2;
		exponent--;
	}
	if (exponent > EXPONENT_MAX) {
		mantissa = round(ldexp(value, EXPONENT_MAX));
		exponent = EXPONENT_MAX;
	} else if (exponent < 0) {
		mantissa = ldexp(1, MANTISSA_BITS) - 1;
		exponent = 0;
	}
	scaled.mantissa = (uint32_t)mantissa;
	scaled.exponent = (uint32_t)exponent;
	return scaled;
}

double weir_from_scaled(struct weir_scaled scaled)
{
	return ldexp(scaled.mantissa, -(int)scaled.exponent);
}

uint64_t weir_to_weight(double weight)
{
	return (uint64_t)round(ldexp(weight, 36));
}

/* C = -log2(1-w) of the weight as it was rounded, so that normal and idle updates belong together. 1-w is exact
 * in a double; log1pl keeps the relative precision for small w. */
uint64_t weir_to_decay(uint64_t weight)
{
	const long double ln2 = 0.693147180559945309417232121458176568L;
	long double decay;

	if (weight >= WEIGHT_ONE)
		return DECAY_ALL_ONES;
	decay = -log1pl(-ldexpl((long double)weight, -36)) / ln2;
	return (uint64_t)roundl(ldexpl(decay, 36));
}

static uint32_t to_probability(double probability)
{
	return (uint32_t)fmin(round(probability * PROBABILITY_ONE), PROBABILITY_ONE - 1);
}

static double from_probability(uint32_t word)
{
	return word == UINT32_MAX ? 1 : word / PROBABILITY_ONE;
}

double weir_round_threshold(double value)
{
	return round(value * THRESHOLD_ONE) / THRESHOLD_ONE;
}

static uint32_t to_threshold(double value)
{
	return (uint32_t)(weir_round_threshold(value) * THRESHOLD_ONE);
}

#define FIELD(name, value) ((uint32_t)(value) << name##_SHIFT)
#define TAKE(name, word) ((word) >> name##_SHIFT & name##_MASK)

static void convert_red(const struct weir_queue_config *c, struct weir_queue_registers *r)
{
	double min, max, probability;

	r->red_flags = FIELD(WEIR_Q_RED_FLAGS_SPREAD, c->spread) | FIELD(WEIR_Q_RED_FLAGS_BYTE_MODE, c->bytemode) |
		       FIELD(WEIR_Q_RED_FLAGS_GENTLE, c->gentle) | FIELD(WEIR_Q_RED_FLAGS_ECN, c->ecn) |
		       FIELD(WEIR_Q_RED_FLAGS_HARDDROP, c->harddrop) | FIELD(WEIR_Q_RED_FLAGS_NODROP, c->nodrop) |
		       FIELD(WEIR_Q_RED_FLAGS_EXEMPT_FIRST, c->exempt_first);
	r->red_weight = weir_to_weight(c->weight);
	r->red_decay = weir_to_decay(r->red_weight);
	r->red_idle_rate = weir_to_scaled(c->bandwidth / (c->avpkt * BIT_NS_PER_BYTE));
	r->red_min = to_threshold(c->min);
	r->red_max = to_threshold(c->max);
	r->red_maxp = to_probability(c->probability);
	/* Slopes of thresholds and max_p as they were rounded: p is max_p at max, whatever the band's width, and
	 * what is read back converts to the same words again. */
	min = r->red_min / THRESHOLD_ONE;
	max = r->red_max / THRESHOLD_ONE;
	probability = from_probability(r->red_maxp);
	r->red_slope = weir_to_scaled(probability / (max - min) * SLOPE_ONE);
	r->red_gentle_slope = weir_to_scaled((1 - probability) / max * SLOPE_ONE);
	r->red_mean = weir_to_scaled(MEAN_ONE / c->avpkt);
}

int weir_convert_queue(const struct weir_capabilities *caps, const struct weir_queue_config *config,
		       struct weir_queue_registers *registers)
{
	struct weir_queue_config c = *config;
	int status = weir_config_complete(caps, &c);

	if (!status)
		status = weir_config_check(caps, &c);
	if (status)
		return status;
	memset(registers, 0, sizeof(*registers));
	registers->policy = FIELD(WEIR_Q_POLICY_POLICY, c.policy) | FIELD(WEIR_Q_POLICY_UNIT, c.unit) |
			    FIELD(WEIR_Q_POLICY_STRICT, c.strict);
	registers->limit_bytes = (uint32_t)c.limit_bytes;
	registers->limit_packets = (uint32_t)c.limit_packets;
	registers->reserve_cells = (uint32_t)c.reserve;
	registers->quantum = (uint32_t)c.quantum;
	if (c.policy == WEIR_POLICY_RED)
		convert_red(&c, registers);
	return WEIR_OK;
}

/* An end of the range, for a value that only rounding took over it. */
static double settle(double value, double min, double max)
{
	const double rounding = 0x1p-17;

	if (value < min && value > min * (1 - rounding))
		return min;
	return value > max && value < max * (1 + rounding) ? max : value;
}

static void convert_red_back(const struct weir_queue_registers *r, struct weir_queue_config *c)
{
	const struct weir_parameter *bandwidth = weir_find_parameter(WEIR_SCOPE_QUEUE, "bandwidth");

	c->spread = (int)TAKE(WEIR_Q_RED_FLAGS_SPREAD, r->red_flags);
	if (c->spread > WEIR_SPREAD_UNIFORM_WAIT) /* as the hardware takes it */
		c->spread = WEIR_SPREAD_UNIFORM_WAIT;
	c->bytemode = (int)TAKE(WEIR_Q_RED_FLAGS_BYTE_MODE, r->red_flags);
	c->gentle = (int)TAKE(WEIR_Q_RED_FLAGS_GENTLE, r->red_flags);
	c->ecn = (int)TAKE(WEIR_Q_RED_FLAGS_ECN, r->red_flags);
	c->harddrop = (int)TAKE(WEIR_Q_RED_FLAGS_HARDDROP, r->red_flags);
	c->nodrop = (int)TAKE(WEIR_Q_RED_FLAGS_NODROP, r->red_flags);
	c->exempt_first = (int)TAKE(WEIR_Q_RED_FLAGS_EXEMPT_FIRST, r->red_flags);
	c->weight = ldexp((double)r->red_weight, -36);
	c->min = r->red_min / THRESHOLD_ONE;
	c->max = r->red_max / THRESHOLD_ONE;
	c->probability = from_probability(r->red_maxp);
	if (r->red_mean.mantissa)
		c->avpkt = round(MEAN_ONE / weir_from_scaled(r->red_mean)); /* whole, so this is exact */
	if (r->red_mean.mantissa && r->red_idle_rate.mantissa)
		c->bandwidth = settle(weir_from_scaled(r->red_idle_rate) * c->avpkt * BIT_NS_PER_BYTE,
				      bandwidth->min, bandwidth->max);
}

int weir_convert_queue_back(const struct weir_capabilities *caps, const struct weir_queue_registers *registers,
			    struct weir_queue_config *config)
{
	struct weir_queue_config c;
	int policy = (int)TAKE(WEIR_Q_POLICY_POLICY, registers->policy);
	int status = weir_queue_defaults(policy, &c);

	if (status)
		return status;
	c.unit = (int)TAKE(WEIR_Q_POLICY_UNIT, registers->policy);
	if (c.unit > WEIR_UNIT_FRAMES) /* as the hardware takes it */
		c.unit = WEIR_UNIT_BYTES;
	c.strict = (int)TAKE(WEIR_Q_POLICY_STRICT, registers->policy);
	/* after reset the limits are above what the core can hold, which is the same as all it can hold */
	c.limit_bytes = fmin(registers->limit_bytes, weir_buffer_bytes(caps));
	c.limit_packets = fmin(registers->limit_packets, caps->descriptors);
	c.reserve = registers->reserve_cells;
	c.quantum = registers->quantum;
	if (policy == WEIR_POLICY_RED)
		convert_red_back(registers, &c);
	*config = c;
	return WEIR_OK;
}

static uint32_t scaled_word(struct weir_scaled scaled)
{
	return FIELD(WEIR_Q_RED_SLOPE_MANTISSA, scaled.mantissa) | FIELD(WEIR_Q_RED_SLOPE_EXPONENT, scaled.exponent);
}

int weir_queue_words(const struct weir_queue_registers *r, uint32_t *offsets, uint32_t *values, const char **names)
{
	const struct {
		const char *name;
		uint32_t offset, value;
	} words[WEIR_QUEUE_WORDS] = {
		{ "POLICY", WEIR_Q_POLICY, r->policy },
		{ "LIMIT_BYTES", WEIR_Q_LIMIT_BYTES, r->limit_bytes },
		{ "LIMIT_PACKETS", WEIR_Q_LIMIT_PACKETS, r->limit_packets },
		{ "RESERVE_CELLS", WEIR_Q_RESERVE_CELLS, r->reserve_cells },
		{ "QUANTUM", WEIR_Q_QUANTUM, r->quantum },
		{ "RED_FLAGS", WEIR_Q_RED_FLAGS, r->red_flags },
		{ "RED_WEIGHT_LO", WEIR_Q_RED_WEIGHT_LO, (uint32_t)r->red_weight },
		{ "RED_WEIGHT_HI", WEIR_Q_RED_WEIGHT_HI, (uint32_t)(r->red_weight >> 32) },
		{ "RED_DECAY_LO", WEIR_Q_RED_DECAY_LO, (uint32_t)r->red_decay },
		{ "RED_DECAY_HI", WEIR_Q_RED_DECAY_HI, (uint32_t)(r->red_decay >> 32) },
		{ "RED_IDLE_RATE", WEIR_Q_RED_IDLE_RATE, scaled_word(r->red_idle_rate) },
		{ "RED_MIN", WEIR_Q_RED_MIN, r->red_min },
		{ "RED_MAX", WEIR_Q_RED_MAX, r->red_max },
		{ "RED_SLOPE", WEIR_Q_RED_SLOPE, scaled_word(r->red_slope) },
		{ "RED_GENTLE_SLOPE", WEIR_Q_RED_GENTLE_SLOPE, scaled_word(r->red_gentle_slope) },
		{ "RED_MAXP", WEIR_Q_RED_MAXP, r->red_maxp },
		{ "RED_MEAN", WEIR_Q_RED_MEAN, scaled_word(r->red_mean) },
	};
	int count = TAKE(WEIR_Q_POLICY_POLICY, r->policy) == WEIR_POLICY_RED ? WEIR_QUEUE_WORDS : 5;

	for (int i = 0; i < count; i++) {
		if (offsets)
			offsets[i] = words[i].offset;
		if (values)
			values[i] = words[i].value;
		if (names)
			names[i] = words[i].name;
	}
	return count;
}

static int check_shaper(const struct weir_capabilities *caps, const char *name, double value, double max,
			const char *advice)
{
	const struct weir_parameter *p = weir_find_parameter(WEIR_SCOPE_SHAPER, name);
	double low, high;

	weir_parameter_range(caps, p, &low, &high);
	return weir_check_range(name, value, low, fmin(high, max), p->unit, advice);
}

/* The bytes that a tolerance in ns lets through ahead of the rate. */
static double burst_bytes(double rate, uint32_t ns)
{
	return rate * ns / BIT_NS_PER_BYTE;
}

int weir_convert_shaper(const struct weir_capabilities *caps, const struct weir_shaper *shaper,
			struct weir_shaper_registers *registers)
{
	double burst = isnan(shaper->burst) ? DEFAULT_SHAPER_BURST : shaper->burst;
	double overhead = isnan(shaper->overhead) ? DEFAULT_SHAPER_OVERHEAD : shaper->overhead;
	struct weir_shaper_registers r = { 0, 0, 0 };
	int status = WEIR_OK;

	if (shaper->rate != 0) {
		status = check_shaper(caps, "rate", shaper->rate, INFINITY, "or 0 to turn the shaper off");
		if (!status)
			status = check_shaper(caps, "burst", burst, burst_bytes(shaper->rate, UINT32_MAX),
					      "at this rate more would be over 4.29 s");
	} else if (!(burst >= 0 && isfinite(burst))) {
		status = check_shaper(caps, "burst", burst, INFINITY, "give bytes");
	}
	if (!status)
		status = check_shaper(caps, "overhead", overhead, INFINITY, "24 is preamble, FCS and gap of Ethernet");
	if (!status && overhead != floor(overhead))
		status = weir_fail(WEIR_E_RANGE, "overhead %s is not a whole number; try %s", weir_show_value(overhead).s,
				   weir_show_value(round(overhead)).s);
	if (status)
		return status;
	if (shaper->rate != 0) {
		r.cost = (uint64_t)round(BIT_NS_PER_BYTE / shaper->rate * COST_ONE);
		r.burst = (uint32_t)fmin(round(burst * BIT_NS_PER_BYTE / shaper->rate), UINT32_MAX);
	}
	r.overhead = (int32_t)overhead;
	*registers = r;
	return WEIR_OK;
}

void weir_convert_shaper_back(const struct weir_capabilities *caps, const struct weir_shaper_registers *registers,
			      struct weir_shaper *shaper)
{
	const struct weir_parameter *rate = weir_find_parameter(WEIR_SCOPE_SHAPER, "rate");

	shaper->rate = 0;
	if (registers->cost)
		shaper->rate = settle(BIT_NS_PER_BYTE * COST_ONE / (double)registers->cost, rate->min, caps->line_rate);
	shaper->burst = burst_bytes(shaper->rate, registers->burst);
	shaper->overhead = registers->overhead;
}
