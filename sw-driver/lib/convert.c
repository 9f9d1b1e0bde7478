/* Natural units to fixed point and back: the only place in the project that does it. Formats are those of
 * docs/modules and docs/policy-registers.md, error bounds those of docs/libweir.md. What belongs to one policy is in
 * policy_<name>.c. */
#include "internal.h"
#include "weir_regs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHT_ONE (UINT64_C(1) << 36)
#define DECAY_ALL_ONES ((UINT64_C(1) << 42) - 1)
#define MANTISSA_BITS 18
#define EXPONENT_MAX 63
#define THRESHOLD_ONE 2048.0 /* UQ21.11 */
#define PROBABILITY_ONE 4294967296.0 /* UQ0.32, whose largest value stands for 1 */
#define NS_PER_US 1e3
#define GAIN_ONE (1099511627776.0 / 1e9) /* 2^40 a ns, of 1/s */
#define COST_ONE 524288.0 /* UQ17.19 */
#define BIT_NS_PER_BYTE 8e9 /* bit/s * ns a byte */
#define DEFAULT_SHAPER_BURST 1538.0
#define DEFAULT_SHAPER_OVERHEAD 24.0
#define DEFAULT_SHAPER_MPU 60.0

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

uint32_t weir_probability_word(double probability)
{
	return (uint32_t)fmin(round(probability * PROBABILITY_ONE), PROBABILITY_ONE - 1);
}

double weir_from_probability(uint32_t word)
{
	return word == UINT32_MAX ? 1 : word / PROBABILITY_ONE;
}

double weir_round_threshold(double value)
{
	return round(value * THRESHOLD_ONE) / THRESHOLD_ONE;
}

uint32_t weir_threshold_word(double value)
{
	return (uint32_t)(weir_round_threshold(value) * THRESHOLD_ONE);
}

double weir_from_threshold(uint32_t word)
{
	return word / THRESHOLD_ONE;
}

uint32_t weir_time_word(double microseconds)
{
	return (uint32_t)fmin(round(microseconds * NS_PER_US), UINT32_MAX);
}

double weir_from_time(uint32_t word)
{
	return word / NS_PER_US;
}

uint32_t weir_scaled_word(double value)
{
	const struct weir_scaled scaled = weir_to_scaled(value);

	if (!scaled.mantissa) /* one word for 0 */
		return 0;
	return WEIR_FIELD(WEIR_SCALED_MANTISSA, scaled.mantissa) | WEIR_FIELD(WEIR_SCALED_EXPONENT, scaled.exponent);
}

double weir_from_scaled_word(uint32_t word)
{
	const struct weir_scaled scaled = { WEIR_TAKE(WEIR_SCALED_MANTISSA, word), WEIR_TAKE(WEIR_SCALED_EXPONENT, word) };

	return weir_from_scaled(scaled);
}

/* value = MANTISSA * 2^(EXPONENT - bias), normalised where the exponent reaches; more than the largest is the largest. */
uint32_t weir_wide_word(double value, int bias)
{
	int power, exponent;
	double mantissa;

	if (!(value > 0))
		return 0;
	mantissa = frexp(value, &power); /* value = mantissa * 2^power, mantissa in [0.5, 1) */
	exponent = power - MANTISSA_BITS + bias;
	mantissa = round(ldexp(mantissa, MANTISSA_BITS));
	if (mantissa == ldexp(1, MANTISSA_BITS)) {
		mantissa /= 2;
		exponent++;
	}
	if (exponent < 0) {
		mantissa = round(ldexp(value, bias));
		exponent = 0;
	} else if (exponent > EXPONENT_MAX) {
		mantissa = ldexp(1, MANTISSA_BITS) - 1;
		exponent = EXPONENT_MAX;
	}
	return WEIR_FIELD(WEIR_SCALED_MANTISSA, mantissa) | WEIR_FIELD(WEIR_SCALED_EXPONENT, exponent);
}

double weir_from_wide_word(uint32_t word, int bias)
{
	return ldexp(WEIR_TAKE(WEIR_SCALED_MANTISSA, word), (int)WEIR_TAKE(WEIR_SCALED_EXPONENT, word) - bias);
}

uint32_t weir_gain_word(double per_second)
{
	return weir_scaled_word(per_second * GAIN_ONE);
}

double weir_settle(double value, double min, double max)
{
	const double rounding = 0x1p-17;

	if (value < min && value > min * (1 - rounding))
		return min;
	return value > max && value < max * (1 + rounding) ? max : value;
}

/* To so many digits, as text would; powers of ten below 1 are not exact, so none is used. */
static double with_digits(double value, int digits)
{
	const int places = digits - 1 - (int)floor(log10(fabs(value)));
	const double power = pow(10, abs(places));
	const double rounded = places < 0 ? round(value / power) * power : round(value * power) / power;

	return isfinite(rounded) ? rounded : value;
}

double weir_shortest_that(double value, bool (*fits)(double value, const void *known), const void *known)
{
	for (int digits = 1; digits < 16; digits++) {
		const double candidate = value == 0 ? 0 : with_digits(value, digits);

		if (fits(candidate, known))
			return candidate;
	}
	return value;
}

struct wanted_word {
	uint32_t word, (*to_word)(double value);
};

static bool has_word(double value, const void *known)
{
	const struct wanted_word *wanted = known;

	return wanted->to_word(value) == wanted->word;
}

double weir_shortest(double value, uint32_t word, uint32_t (*to_word)(double value))
{
	const struct wanted_word wanted = { word, to_word };

	return weir_shortest_that(value, has_word, &wanted);
}

double weir_from_gain_word(uint32_t word)
{
	return weir_shortest(weir_from_scaled_word(word) / GAIN_ONE, word, weir_gain_word);
}

/* ---- queues -------------------------------------------------------------------------------------------- */

static void add_words(const struct weir_policy_entry *entry, struct weir_queue_registers *r)
{
	if (entry->base)
		add_words(entry->base, r);
	for (size_t i = 0; i < entry->word_count && r->count < WEIR_QUEUE_WORDS; i++)
		r->words[r->count++] = (struct weir_word){ entry->words[i].name, entry->words[i].offset, 0 };
}

void weir_registers_of(const struct weir_policy_entry *entry, struct weir_queue_registers *r)
{
	static const struct weir_register_name common[] = {
		{ "POLICY", WEIR_Q_POLICY },
		{ "LIMIT_BYTES", WEIR_Q_LIMIT_BYTES },
		{ "LIMIT_PACKETS", WEIR_Q_LIMIT_PACKETS },
		{ "RESERVE_CELLS", WEIR_Q_RESERVE_CELLS },
		{ "QUANTUM", WEIR_Q_QUANTUM },
	};
	const struct weir_policy_entry every = { WEIR_WORDS(common) };

	memset(r, 0, sizeof(*r));
	add_words(&every, r);
	add_words(entry, r);
	weir_put(r, WEIR_Q_POLICY, WEIR_FIELD(WEIR_Q_POLICY_POLICY, entry->info.id));
}

void weir_put(struct weir_queue_registers *r, uint32_t offset, uint32_t value)
{
	for (uint32_t i = 0; i < r->count; i++)
		if (r->words[i].offset == offset)
			r->words[i].value = value;
}

uint32_t weir_take(const struct weir_queue_registers *r, uint32_t offset)
{
	for (uint32_t i = 0; i < r->count && i < WEIR_QUEUE_WORDS; i++)
		if (r->words[i].offset == offset)
			return r->words[i].value;
	return 0;
}

static void convert_policy(const struct weir_policy_entry *entry, const struct weir_queue_config *c,
			   struct weir_queue_registers *r)
{
	if (entry->base)
		convert_policy(entry->base, c, r);
	if (entry->ops->convert)
		entry->ops->convert(c, r);
}

int weir_convert_queue(const struct weir_capabilities *caps, const struct weir_queue_config *config,
		       struct weir_queue_registers *registers)
{
	struct weir_queue_config c = *config;
	const struct weir_policy_entry *entry = weir_policy_of(c.policy);
	int status = weir_config_complete(caps, &c);

	if (!status)
		status = weir_config_check(caps, &c);
	if (status)
		return status;
	weir_registers_of(entry, registers);
	weir_put(registers, WEIR_Q_POLICY,
		 WEIR_FIELD(WEIR_Q_POLICY_POLICY, c.policy) | WEIR_FIELD(WEIR_Q_POLICY_UNIT, c.unit) |
			 WEIR_FIELD(WEIR_Q_POLICY_DROP_FRONT, c.front) | WEIR_FIELD(WEIR_Q_POLICY_STRICT, c.strict));
	weir_put(registers, WEIR_Q_LIMIT_BYTES, (uint32_t)c.limit_bytes);
	weir_put(registers, WEIR_Q_LIMIT_PACKETS, (uint32_t)c.limit_packets);
	weir_put(registers, WEIR_Q_RESERVE_CELLS, (uint32_t)c.reserve);
	weir_put(registers, WEIR_Q_QUANTUM, (uint32_t)c.quantum);
	convert_policy(entry, &c, registers);
	return WEIR_OK;
}

static void convert_policy_back(const struct weir_capabilities *caps, const struct weir_policy_entry *entry,
				const struct weir_queue_registers *r, struct weir_queue_config *c)
{
	if (entry->base)
		convert_policy_back(caps, entry->base, r, c);
	if (entry->ops->convert_back)
		entry->ops->convert_back(caps, r, c);
}

int weir_convert_queue_back(const struct weir_capabilities *caps, const struct weir_queue_registers *registers,
			    struct weir_queue_config *config)
{
	const uint32_t word = weir_take(registers, WEIR_Q_POLICY);
	const int policy = (int)WEIR_TAKE(WEIR_Q_POLICY_POLICY, word);
	struct weir_queue_config c;
	int status = weir_queue_defaults(policy, &c);

	if (status)
		return status;
	c.unit = (int)WEIR_TAKE(WEIR_Q_POLICY_UNIT, word);
	if (c.unit > WEIR_UNIT_FRAMES) /* as the hardware takes it */
		c.unit = WEIR_UNIT_BYTES;
	c.strict = (int)WEIR_TAKE(WEIR_Q_POLICY_STRICT, word);
	c.front = (int)WEIR_TAKE(WEIR_Q_POLICY_DROP_FRONT, word);
	/* after reset the limits are above what the core can hold, which is the same as all it can hold */
	c.limit_bytes = fmin(weir_take(registers, WEIR_Q_LIMIT_BYTES), weir_buffer_bytes(caps));
	c.limit_packets = fmin(weir_take(registers, WEIR_Q_LIMIT_PACKETS), caps->descriptors);
	c.reserve = weir_take(registers, WEIR_Q_RESERVE_CELLS);
	c.quantum = weir_take(registers, WEIR_Q_QUANTUM);
	convert_policy_back(caps, weir_policy_of(policy), registers, &c);
	*config = c;
	return WEIR_OK;
}

/* ---- shaper -------------------------------------------------------------------------------------------- */

static int check_shaper(const struct weir_capabilities *caps, const char *name, double value, double max,
			const char *advice)
{
	const struct weir_parameter *p = &weir_shaper_row_of(name)->parameter;
	double low, high;

	weir_parameter_range(caps, p, &low, &high);
	return weir_check_range(name, value, low, fmin(high, max), p->unit, advice);
}

static int check_whole_bytes(const struct weir_capabilities *caps, const char *name, double value, const char *advice)
{
	int status = check_shaper(caps, name, value, INFINITY, advice);

	if (!status && value != floor(value))
		status = weir_fail(WEIR_E_RANGE, "%s %s is not a whole number; try %s", name, weir_show_value(value).s,
				   weir_show_value(round(value)).s);
	return status;
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
	double mpu = isnan(shaper->mpu) ? DEFAULT_SHAPER_MPU : shaper->mpu;
	struct weir_shaper_registers r = { 0, 0, 0, 0 };
	int status = WEIR_OK;

	if (shaper->rate != 0) {
		status = check_shaper(caps, "rate", shaper->rate, INFINITY, "or 0 to turn the shaper off");
		if (!status)
			status = check_shaper(caps, "burst", burst, burst_bytes(shaper->rate, UINT32_MAX),
					      "more is over 4.29 s at this rate");
	} else if (!(burst >= 0 && isfinite(burst))) {
		status = check_shaper(caps, "burst", burst, INFINITY, "give bytes");
	}
	if (!status)
		status = check_whole_bytes(caps, "overhead", overhead, "24 is preamble, FCS and gap of Ethernet");
	if (!status)
		status = check_whole_bytes(caps, "mpu", mpu, "60 is Ethernet's least frame without FCS, 0 for none");
	if (status)
		return status;
	if (shaper->rate != 0) {
		r.cost = (uint64_t)round(BIT_NS_PER_BYTE / shaper->rate * COST_ONE);
		r.burst = (uint32_t)fmin(round(burst * BIT_NS_PER_BYTE / shaper->rate), UINT32_MAX);
	}
	r.overhead = (int32_t)overhead;
	r.mpu = (uint32_t)mpu;
	*registers = r;
	return WEIR_OK;
}

void weir_convert_shaper_back(const struct weir_capabilities *caps, const struct weir_shaper_registers *registers,
			      struct weir_shaper *shaper)
{
	const struct weir_parameter *rate = &weir_shaper_row_of("rate")->parameter;

	shaper->rate = 0;
	if (registers->cost)
		shaper->rate = weir_settle(BIT_NS_PER_BYTE * COST_ONE / (double)registers->cost, rate->min, caps->line_rate);
	shaper->burst = burst_bytes(shaper->rate, registers->burst);
	shaper->overhead = registers->overhead;
	shaper->mpu = registers->mpu;
}
