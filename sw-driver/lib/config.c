/* A queue's configuration in natural units: setting by name, defaults as tc has them, checks. */
#include "internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_QUANTUM 9216.0
#define DEFAULT_PROBABILITY 0.02
#define DEFAULT_AVPKT 1000.0
/* Floyd & Jacobson 1993; used when tc's equation has no solution and neither weight nor burst is given. */
#define DEFAULT_WEIGHT 0.002
/* The narrowest band: the slopes' mantissas and tc's own smallest step end here. */
#define NARROWEST_BAND 1.0

int weir_queue_defaults(int policy, struct weir_queue_config *config)
{
	const double unset = NAN;

	if (policy != WEIR_POLICY_DROP_TAIL && policy != WEIR_POLICY_RED)
		return weir_fail(WEIR_E_UNKNOWN, "policy number %d is not known; 0 is drop-tail, 1 is red", policy);
	*config = (struct weir_queue_config){
		.policy = policy,
		.unit = WEIR_UNSET,
		.strict = WEIR_UNSET,
		.limit = unset,
		.limit_bytes = unset,
		.limit_packets = unset,
		.reserve = unset,
		.quantum = unset,
		.min = unset,
		.max = unset,
		.probability = unset,
		.weight = unset,
		.burst = unset,
		.avpkt = unset,
		.bandwidth = unset,
		.gentle = WEIR_UNSET,
		.ecn = WEIR_UNSET,
		.harddrop = WEIR_UNSET,
		.nodrop = WEIR_UNSET,
		.spread = WEIR_UNSET,
		.bytemode = WEIR_UNSET,
		.exempt_first = WEIR_UNSET,
	};
	return WEIR_OK;
}

static int unknown_key(int policy, const char *name)
{
	char known[300] = "";
	size_t used = 0;
	const struct weir_parameter *p;

	for (size_t i = 0; (p = weir_parameter_at(i)); i++)
		if (p->scope == WEIR_SCOPE_QUEUE && (p->policies >> policy & 1))
			used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "", p->name);
	return weir_fail(WEIR_E_UNKNOWN, "%s has no parameter '%.30s'; it has %s",
			 weir_policy_at((size_t)policy)->name, name ? name : "", known);
}

/* Notes that an amount came with a size suffix. */
static void note_amount(struct weir_queue_config *config, const char *name, bool suffix)
{
	uint32_t bit = !strcmp(name, "min") ? WEIR_IN_BYTES_MIN :
		       !strcmp(name, "max") ? WEIR_IN_BYTES_MAX : WEIR_IN_BYTES_RESERVE;

	config->in_bytes = suffix ? config->in_bytes | bit : config->in_bytes & ~bit;
}

static int set_amount(struct weir_queue_config *config, const struct weir_parameter *p, const char *text)
{
	double value;
	bool suffix;
	int status = weir_parse_amount(text, &value, &suffix);

	if (status)
		return status;
	if (!strcmp(p->name, "limit")) {
		if (suffix)
			config->limit_bytes = value;
		else
			config->limit = value;
		return WEIR_OK;
	}
	note_amount(config, p->name, suffix);
	*weir_number_field(config, p) = value;
	return WEIR_OK;
}

static int set_number(struct weir_queue_config *config, const struct weir_parameter *p, const char *text)
{
	double value;
	int status = p->kind == WEIR_KIND_SIZE ? weir_parse_size(text, &value) :
		     p->kind == WEIR_KIND_RATE ? weir_parse_rate(text, &value) : weir_parse_number(text, &value);

	if (status)
		return status;
	*weir_number_field(config, p) = value;
	if (!strcmp(p->name, "weight")) {
		config->named |= WEIR_NAMED_WEIGHT;
	} else if (!strcmp(p->name, "burst") && !(config->named & WEIR_NAMED_WEIGHT)) {
		config->weight = NAN; /* a weight that was read back gives way; one that was named does not */
	}
	return WEIR_OK;
}

static int set_choice(struct weir_queue_config *config, const struct weir_parameter *p, const char *text)
{
	int value = text ? weir_choice_value(p->choices, text) : -1;

	if (value < 0)
		return weir_fail(WEIR_E_SYNTAX, "'%.30s' is not a choice; choose one of %s", text ? text : "", p->choices);
	*weir_choice_field(config, p) = value;
	return WEIR_OK;
}

int weir_queue_set(struct weir_queue_config *config, const char *name, const char *text)
{
	const struct weir_parameter *p = weir_find_parameter(WEIR_SCOPE_QUEUE, name);
	int status;

	if (config->policy < 0 || !weir_policy_at((size_t)config->policy))
		return weir_fail(WEIR_E_UNKNOWN, "policy number %d is not known; 0 is drop-tail, 1 is red", config->policy);
	if (!p || !(p->policies >> config->policy & 1))
		return unknown_key(config->policy, name);
	if (!text && p->kind != WEIR_KIND_FLAG)
		return weir_fail(WEIR_E_SYNTAX, "%s needs a value; it is %s", p->name, p->help);
	switch (p->kind) {
	case WEIR_KIND_FLAG: {
		int value = 1;

		status = text ? weir_parse_flag(text, &value) : WEIR_OK;
		if (!status)
			*weir_choice_field(config, p) = value;
		break;
	}
	case WEIR_KIND_CHOICE:
		status = set_choice(config, p, text);
		break;
	case WEIR_KIND_AMOUNT:
		status = set_amount(config, p, text);
		break;
	default:
		status = set_number(config, p, text);
	}
	if (status) {
		char reason[WEIR_MESSAGE_SIZE];

		snprintf(reason, sizeof(reason), "%s", weir_error());
		return weir_fail(status, "%s: %.350s", p->name, reason);
	}
	return WEIR_OK;
}

static int check_parameter(const struct weir_capabilities *caps, const char *name, double value, const char *unit,
			   const char *advice)
{
	const struct weir_parameter *p = weir_find_parameter(WEIR_SCOPE_QUEUE, name);
	double min, max;

	weir_parameter_range(caps, p, &min, &max);
	return weir_check_range(name, value, min, max, unit ? unit : p->unit, advice);
}

static int check_whole(const char *name, double value)
{
	if (value == floor(value))
		return WEIR_OK;
	return weir_fail(WEIR_E_RANGE, "%s %s is not a whole number; try %s", name, weir_show_value(value).s,
			 weir_show_value(round(value)).s);
}

/* Flags and choices. */
static int check_choices(const struct weir_queue_config *config)
{
	struct weir_queue_config copy = *config;
	const struct weir_parameter *p;

	for (size_t i = 0; (p = weir_parameter_at(i)); i++) {
		if (p->scope != WEIR_SCOPE_QUEUE || (p->kind != WEIR_KIND_FLAG && p->kind != WEIR_KIND_CHOICE) ||
		    !(p->policies >> config->policy & 1))
			continue;
		int value = *weir_choice_field(&copy, p);

		if (value < (int)p->min || value > (int)p->max)
			return weir_fail(WEIR_E_RANGE, "%s %d is out of range: allowed is %d to %d; choose %s", p->name,
					 value, (int)p->min, (int)p->max, p->choices ? p->choices : "off or on");
	}
	return WEIR_OK;
}

/* What every policy has. */
static int check_common(const struct weir_capabilities *caps, const struct weir_queue_config *config)
{
	char advice[160];
	int status;

	if (config->policy < 0 || !weir_policy_at((size_t)config->policy))
		return weir_fail(WEIR_E_UNKNOWN, "policy number %d is not known; 0 is drop-tail, 1 is red", config->policy);
	if (!(caps->features >> config->policy & 1)) {
		char built[120] = "";
		size_t used = 0;
		const struct weir_policy_info *info;

		for (size_t i = 0; (info = weir_policy_at(i)); i++)
			if (caps->features >> info->id & 1)
				used += (size_t)snprintf(built + used, sizeof(built) - used, "%s%s", used ? ", " : "",
							 info->name);
		return weir_fail(WEIR_E_UNSUPPORTED, "policy %s is not built into this core; choose one of %s",
				 weir_policy_at((size_t)config->policy)->name, built);
	}
	status = check_choices(config);
	if (status)
		return status;
	snprintf(advice, sizeof(advice), "the buffer of this core has %u cells of %u bytes, one of them the list's end",
		 (unsigned int)caps->cells, (unsigned int)caps->cell_bytes);
	status = check_parameter(caps, "limit_bytes", config->limit_bytes, NULL, advice);
	if (!status)
		status = check_whole("limit_bytes", config->limit_bytes);
	if (!status)
		status = check_parameter(caps, "limit_packets", config->limit_packets, NULL,
					 "this core has no more packet descriptors");
	if (!status)
		status = check_whole("limit_packets", config->limit_packets);
	if (!status)
		status = check_parameter(caps, "reserve", config->reserve, NULL, advice);
	if (!status)
		status = check_whole("reserve", config->reserve);
	if (!status)
		status = check_parameter(caps, "quantum", config->quantum, NULL, "a quantum holds the longest frame");
	if (!status)
		status = check_whole("quantum", config->quantum);
	return status;
}

static double unit_limit(const struct weir_queue_config *config)
{
	return config->unit == WEIR_UNIT_BYTES ? config->limit_bytes : config->limit_packets;
}

/* What the weight is derived from: thresholds, avpkt, burst. */
static int check_thresholds(const struct weir_capabilities *caps, const struct weir_queue_config *config)
{
	const char *unit = weir_unit_name(config->unit);
	char advice[160];
	int status;

	if (config->unit != WEIR_UNIT_BYTES && (config->in_bytes & (WEIR_IN_BYTES_MIN | WEIR_IN_BYTES_MAX)))
		return weir_fail(WEIR_E_CONFLICT,
				 "%s is given in bytes, but the queue is measured in %s; write a plain number of %s, or "
				 "unit bytes",
				 config->in_bytes & WEIR_IN_BYTES_MIN ? "min" : "max", unit, unit);
	snprintf(advice, sizeof(advice), "it may not pass the limit; lower max or raise limit (up to %s)",
		 weir_show_amount(config->unit == WEIR_UNIT_BYTES ? weir_buffer_bytes(caps) : caps->descriptors, unit).s);
	status = weir_check_range("max", config->max, NARROWEST_BAND, unit_limit(config), unit, advice);
	/* the band as the hardware will have it */
	if (!status && !(config->min >= 0 &&
			 weir_round_threshold(config->max) - weir_round_threshold(config->min) >= NARROWEST_BAND))
		status = weir_fail(WEIR_E_RANGE,
				   "min %s is out of range: allowed is 0 to %s; lower min, or raise max, which is %s",
				   weir_show_value(config->min).s, weir_show_amount(config->max - NARROWEST_BAND, unit).s,
				   weir_show_value(config->max).s);
	if (!status)
		status = check_parameter(caps, "avpkt", config->avpkt, NULL, "give the length of a typical packet");
	if (!status)
		status = check_whole("avpkt", config->avpkt);
	if (!status && !isnan(config->burst)) {
		status = check_parameter(caps, "burst", config->burst, NULL, "or give weight instead");
		if (!status)
			status = check_whole("burst", config->burst);
	}
	return status;
}

/* min in packets. */
static double minimum_packets(const struct weir_queue_config *config)
{
	return config->unit == WEIR_UNIT_BYTES ? config->min / config->avpkt : config->min;
}

/* (1-(1-w)^burst)/w, falling from burst (w = 0) to 1 (w = 1). */
static double burst_average(double burst, double w)
{
	return w >= 1 ? 1 : -expm1(burst * log1p(-w)) / w;
}

/* The largest w with (1-(1-w)^burst)/w >= a; 0 if there is none. tc takes the largest power of two. */
static double solve_weight(double burst, double a)
{
	double low = 0, high = 1;

	if (burst_average(burst, 1) >= a)
		return 1;
	if (a >= burst)
		return 0;
	for (int i = 0; i < 200 && low < high; i++) {
		/* the geometric mean while the ends are far apart: small weights are found to full precision */
		double middle = low == 0 ? high / 16 : high > 2 * low ? sqrt(low * high) : (low + high) / 2;

		if (middle <= low || middle >= high || middle < 0x1p-60)
			break;
		if (burst_average(burst, middle) >= a)
			low = middle;
		else
			high = middle;
	}
	return low;
}

int weir_weight_from_burst(double burst, double qmin, double *weight)
{
	const double smallest = weir_find_parameter(WEIR_SCOPE_QUEUE, "weight")->min;
	double low = fmax(1, ceil(qmin)), high, found;

	if (!(qmin >= 0 && qmin <= 1e7) || !(burst >= 1 && burst <= 1e7))
		return weir_fail(WEIR_E_RANGE, "burst %s with min %s packets is out of range: allowed is 1 to 10000000; "
				 "give weight instead",
				 weir_show_value(burst).s, weir_show_value(qmin).s);
	found = burst + 1 - qmin < 1 ? 0 : solve_weight(burst, burst + 1 - qmin);
	if (found >= smallest) {
		*weight = found;
		return WEIR_OK;
	}
	if (qmin <= 1)
		return weir_fail(WEIR_E_CONFLICT,
				 "burst %s gives no weight: min is %s packets of avpkt and has to be more than 1; raise "
				 "min, or give weight (%s to 1)",
				 weir_show_value(burst).s, weir_show_value(qmin).s, weir_show_value(smallest).s);
	for (high = 2 * low; solve_weight(high, high + 1 - qmin) >= smallest;)
		high *= 2;
	for (double step = high / 2; step >= 1; step = floor(step / 2)) /* the last burst that still works */
		while (high > low && solve_weight(high, high + 1 - qmin) < smallest &&
		       (step == 1 || solve_weight(high - step, high - step + 1 - qmin) < smallest))
			high -= step;
	return weir_fail(WEIR_E_RANGE,
			 "burst %s is out of range: allowed with min %s packets is %s to %s packets; or give weight "
			 "instead",
			 weir_show_value(burst).s, weir_show_value(qmin).s, weir_show_value(low).s,
			 weir_show_value(fmax(low, high)).s);
}

static int complete_weight(struct weir_queue_config *config)
{
	double qmin = minimum_packets(config);
	bool given = !isnan(config->burst);
	double divisor = config->unit == WEIR_UNIT_BYTES ? 3 * config->avpkt : 3;

	if (!isnan(config->weight))
		return WEIR_OK;
	if (given)
		return weir_weight_from_burst(config->burst, qmin, &config->weight);
	if (qmin <= 1) {
		config->weight = DEFAULT_WEIGHT;
		return WEIR_OK;
	}
	config->burst = fmax(floor((2 * config->min + config->max) / divisor), floor(qmin) + 1);
	config->weight = fmax(solve_weight(config->burst, config->burst + 1 - qmin), 0x1p-16);
	return WEIR_OK;
}

static void fill(double *value, double otherwise)
{
	if (isnan(*value))
		*value = otherwise;
}

static void fill_choice(int *value, int otherwise)
{
	if (*value == WEIR_UNSET)
		*value = otherwise;
}

static int complete_red(const struct weir_capabilities *caps, struct weir_queue_config *c)
{
	bool whole = c->unit == WEIR_UNIT_BYTES;
	int status;

	fill(&c->max, whole ? floor(unit_limit(c) / 4) : unit_limit(c) / 4);
	fill(&c->min, whole ? floor(c->max / 3) : c->max / 3);
	fill(&c->probability, DEFAULT_PROBABILITY);
	fill(&c->avpkt, DEFAULT_AVPKT);
	fill(&c->bandwidth, caps->link_rate);
	fill_choice(&c->gentle, 0);
	fill_choice(&c->ecn, 0);
	fill_choice(&c->harddrop, 0);
	fill_choice(&c->nodrop, 0);
	fill_choice(&c->spread, WEIR_SPREAD_UNIFORM);
	fill_choice(&c->bytemode, WEIR_BYTE_MODE_OFF);
	fill_choice(&c->exempt_first, c->spread == WEIR_SPREAD_UNIFORM_WAIT);
	status = check_common(caps, c);
	if (!status)
		status = check_thresholds(caps, c);
	return status ? status : complete_weight(c);
}

int weir_config_complete(const struct weir_capabilities *caps, struct weir_queue_config *config)
{
	struct weir_queue_config c = *config;
	int status = WEIR_OK;

	fill_choice(&c.unit, WEIR_UNIT_BYTES);
	fill_choice(&c.strict, 0);
	fill(&c.quantum, DEFAULT_QUANTUM);
	fill(&c.reserve, 0);
	if (c.in_bytes & WEIR_IN_BYTES_RESERVE) {
		c.reserve = ceil(c.reserve / caps->cell_bytes);
		c.in_bytes &= ~(uint32_t)WEIR_IN_BYTES_RESERVE;
	}
	if (!isnan(c.limit)) {
		*(c.unit == WEIR_UNIT_BYTES ? &c.limit_bytes : &c.limit_packets) = c.limit;
		c.limit = NAN;
	}
	fill(&c.limit_bytes, weir_buffer_bytes(caps));
	fill(&c.limit_packets, caps->descriptors);
	if (c.policy == WEIR_POLICY_RED)
		status = complete_red(caps, &c);
	if (!status)
		*config = c;
	return status;
}

int weir_config_check(const struct weir_capabilities *caps, const struct weir_queue_config *config)
{
	int status = check_common(caps, config);

	if (status || config->policy != WEIR_POLICY_RED)
		return status;
	status = check_thresholds(caps, config);
	if (!status)
		status = check_parameter(caps, "probability", config->probability, NULL, "it is the chance at max, e.g. 0.02");
	if (!status)
		status = check_parameter(caps, "weight", config->weight, NULL, "or give burst and let it be derived");
	if (!status)
		status = check_parameter(caps, "bandwidth", config->bandwidth, NULL,
					 "give the rate at which the queue empties");
	if (!status && config->nodrop && !config->ecn)
		status = weir_fail(WEIR_E_CONFLICT, "nodrop on has a meaning only with ecn; add ecn, or leave nodrop out");
	return status;
}
