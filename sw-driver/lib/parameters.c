/* What can be set, in which range, and where the name comes from: the only list of ranges. */
#define _POSIX_C_SOURCE 200809L
#include "internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ALL_POLICIES 0xFFFFU
#define RED (1U << WEIR_POLICY_RED)

/* The formats' own ends: q has 21 bits in bytes and 16 in packets, the quantum 20, cells 15. */
#define MOST_BYTES 2097151.0
#define MOST_PACKETS 65535.0
#define MOST_CELLS 16383.0
#define MOST_QUANTUM 1048575.0

struct entry {
	struct weir_parameter parameter;
	size_t offset;
};

#define AT(field) offsetof(struct weir_queue_config, field)

static const struct entry entries[] = {
	{ { "unit", "", WEIR_KIND_CHOICE, WEIR_SCOPE_QUEUE, ALL_POLICIES, 0, 2, "bytes", "bytes|packets|frames",
	    "ns-2 queue_in_bytes_", "in what the queue is measured; a jumbo frame is several packets, one frame" },
	  AT(unit) },
	{ { "limit", "queue unit", WEIR_KIND_AMOUNT, WEIR_SCOPE_QUEUE, ALL_POLICIES, 1, MOST_BYTES,
	    "the whole buffer", NULL, "tc-red limit", "hard limit, in the queue's unit or with a size suffix in bytes" },
	  AT(limit) },
	{ { "limit_bytes", "bytes", WEIR_KIND_SIZE, WEIR_SCOPE_QUEUE, ALL_POLICIES, 64, MOST_BYTES,
	    "the whole buffer", NULL, "tc-bfifo limit", "hard limit in bytes" },
	  AT(limit_bytes) },
	{ { "limit_packets", "packets", WEIR_KIND_COUNT, WEIR_SCOPE_QUEUE, ALL_POLICIES, 1, MOST_PACKETS,
	    "all descriptors", NULL, "tc-pfifo limit", "hard limit in packets" },
	  AT(limit_packets) },
	{ { "reserve", "cells", WEIR_KIND_AMOUNT, WEIR_SCOPE_QUEUE, ALL_POLICIES, 0, MOST_CELLS, "0", NULL,
	    "Weir", "64-byte cells kept for this queue; with a size suffix bytes, rounded up" },
	  AT(reserve) },
	{ { "quantum", "bytes", WEIR_KIND_SIZE, WEIR_SCOPE_QUEUE, ALL_POLICIES, 9216, MOST_QUANTUM, "9216", NULL,
	    "tc-drr quantum", "bytes a round of deficit weighted round robin" },
	  AT(quantum) },
	{ { "strict", "", WEIR_KIND_FLAG, WEIR_SCOPE_QUEUE, ALL_POLICIES, 0, 1, "off", NULL, "tc-ets strict",
	    "served before every queue of a higher number" },
	  AT(strict) },
	{ { "min", "queue unit", WEIR_KIND_AMOUNT, WEIR_SCOPE_QUEUE, RED, 0, MOST_BYTES, "max/3", NULL,
	    "tc-red min, ns-2 thresh_", "average above which packets are selected by chance" },
	  AT(min) },
	{ { "max", "queue unit", WEIR_KIND_AMOUNT, WEIR_SCOPE_QUEUE, RED, 1, MOST_BYTES, "limit/4", NULL,
	    "tc-red max, ns-2 maxthresh_", "average at which the chance is `probability`; above it, certain or gentle" },
	  AT(max) },
	{ { "probability", "", WEIR_KIND_NUMBER, WEIR_SCOPE_QUEUE, RED, 1e-6, 1, "0.02", NULL,
	    "tc-red probability, ns-2 1/linterm_", "max_p, the chance at max" },
	  AT(probability) },
	{ { "avpkt", "bytes", WEIR_KIND_SIZE, WEIR_SCOPE_QUEUE, RED, 16, 9216, "1000", NULL,
	    "tc-red avpkt, ns-2 mean_pktsize_", "typical packet: idle slots, burst, byte mode" },
	  AT(avpkt) },
	{ { "burst", "packets", WEIR_KIND_COUNT, WEIR_SCOPE_QUEUE, RED, 1, 1000000, "(2*min+max)/(3*avpkt)", NULL,
	    "tc-red burst", "burst that is let through; gives the weight" },
	  AT(burst) },
	{ { "weight", "", WEIR_KIND_NUMBER, WEIR_SCOPE_QUEUE, RED, 0x1p-16, 1, "from burst", NULL,
	    "Floyd & Jacobson 1993, ns-2 q_weight_", "weight w of the moving average; over burst" },
	  AT(weight) },
	{ { "bandwidth", "bit/s", WEIR_KIND_RATE, WEIR_SCOPE_QUEUE, RED, 1000, 100e9, "the link's rate", NULL,
	    "tc-red bandwidth", "rate by which an idle queue's average decays: a slot is avpkt*8/bandwidth" },
	  AT(bandwidth) },
	{ { "gentle", "", WEIR_KIND_FLAG, WEIR_SCOPE_QUEUE, RED, 0, 1, "off", NULL, "ns-2 gentle_",
	    "between max and 2*max the chance rises to 1" },
	  AT(gentle) },
	{ { "ecn", "", WEIR_KIND_FLAG, WEIR_SCOPE_QUEUE, RED, 0, 1, "off", NULL, "tc-red ecn, ns-2 setbit_",
	    "mark ECT packets instead of dropping them" },
	  AT(ecn) },
	{ { "harddrop", "", WEIR_KIND_FLAG, WEIR_SCOPE_QUEUE, RED, 0, 1, "off", NULL, "tc-red harddrop",
	    "drop above max also what could be marked" },
	  AT(harddrop) },
	{ { "nodrop", "", WEIR_KIND_FLAG, WEIR_SCOPE_QUEUE, RED, 0, 1, "off", NULL, "tc-red nodrop",
	    "never drop by chance what cannot be marked; needs ecn" },
	  AT(nodrop) },
	{ { "spread", "", WEIR_KIND_CHOICE, WEIR_SCOPE_QUEUE, RED, 0, 2, "uniform", "geometric|uniform|uniform-wait",
	    "Floyd & Jacobson 1993 section 7, ns-2 wait_", "how selected packets are spread" },
	  AT(spread) },
	{ { "bytemode", "", WEIR_KIND_CHOICE, WEIR_SCOPE_QUEUE, RED, 0, 2, "off", "off|after|before",
	    "ns-2 bytes_ (after), Floyd & Jacobson 1993 (before); RFC 7141 advises off",
	    "scale the chance by length/avpkt, after or before spreading" },
	  AT(bytemode) },
	{ { "exempt_first", "", WEIR_KIND_FLAG, WEIR_SCOPE_QUEUE, RED, 0, 1, "on with uniform-wait, else off", NULL,
	    "ns-2 red.cc", "the first packet in the band counts and is never selected by chance" },
	  AT(exempt_first) },
	{ { "rate", "bit/s", WEIR_KIND_RATE, WEIR_SCOPE_SHAPER, 0, 64000, 100e9, "off", NULL, "tc-tbf rate",
	    "rate of the shaper, up to the line's; 0 is off" },
	  0 },
	{ { "burst", "bytes", WEIR_KIND_SIZE, WEIR_SCOPE_SHAPER, 0, 0, 53687091187.5, "1538", NULL, "tc-tbf burst",
	    "bytes that may be sent ahead of the rate" },
	  0 },
	{ { "overhead", "bytes", WEIR_KIND_COUNT, WEIR_SCOPE_SHAPER, 0, -32768, 32767, "24", NULL, "tc-stab overhead",
	    "bytes counted on top of every frame; 24 is preamble, FCS and gap" },
	  0 },
};

#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

static const struct weir_policy_info policies[] = {
	{ WEIR_POLICY_DROP_TAIL, "drop-tail", "drops what does not fit", "algorithms: drop-tail" },
	{ WEIR_POLICY_RED, "red", "random early detection: drops or marks by the average queue",
	  "Floyd & Jacobson 1993; tc-red(8); ns-2.35 red.cc" },
};

#define POLICIES (sizeof(policies) / sizeof(policies[0]))

const struct weir_policy_info *weir_policy_at(size_t i)
{
	return i < POLICIES ? &policies[i] : NULL;
}

int weir_policy_by_name(const char *name)
{
	char known[120] = "";
	size_t used = 0;

	for (size_t i = 0; i < POLICIES; i++) {
		if (name && !strcasecmp(name, policies[i].name))
			return policies[i].id;
		used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "", policies[i].name);
	}
	if (name && !strcasecmp(name, "droptail"))
		return WEIR_POLICY_DROP_TAIL;
	return weir_fail(WEIR_E_UNKNOWN, "policy '%.40s' is not known; choose one of %s", name ? name : "", known);
}

const struct weir_parameter *weir_parameter_at(size_t i)
{
	return i < ENTRIES ? &entries[i].parameter : NULL;
}

static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
			return false;
	return *a == *b;
}

const struct weir_parameter *weir_find_parameter(int scope, const char *name)
{
	for (size_t i = 0; name && i < ENTRIES; i++)
		if (entries[i].parameter.scope == scope && same_name(entries[i].parameter.name, name))
			return &entries[i].parameter;
	return NULL;
}

static void *field(struct weir_queue_config *config, const struct weir_parameter *parameter)
{
	const struct entry *entry = (const struct entry *)(const void *)parameter;

	return (char *)config + entry->offset;
}

double *weir_number_field(struct weir_queue_config *config, const struct weir_parameter *parameter)
{
	return (double *)field(config, parameter);
}

int *weir_choice_field(struct weir_queue_config *config, const struct weir_parameter *parameter)
{
	return (int *)field(config, parameter);
}

double weir_buffer_bytes(const struct weir_capabilities *caps)
{
	return ((double)caps->cells - 1) * (double)caps->cell_bytes;
}

void weir_parameter_range(const struct weir_capabilities *caps, const struct weir_parameter *parameter, double *min,
			  double *max)
{
	double device = parameter->max;

	if (parameter->scope == WEIR_SCOPE_SHAPER) {
		if (!strcmp(parameter->name, "rate"))
			device = caps->line_rate;
	} else if (!strcmp(parameter->name, "limit_packets")) {
		device = caps->descriptors;
	} else if (!strcmp(parameter->name, "reserve")) {
		device = (double)caps->cells - 1;
	} else if (!strcmp(parameter->name, "limit") || !strcmp(parameter->name, "limit_bytes") ||
		   !strcmp(parameter->name, "min") || !strcmp(parameter->name, "max")) {
		device = weir_buffer_bytes(caps);
	}
	*min = parameter->min;
	*max = fmin(parameter->max, device);
}

/* Position and length of the n-th of "a|b|c"; NULL after the last. */
static const char *choice_at(const char *choices, int n, size_t *length)
{
	while (n-- > 0) {
		choices = strchr(choices, '|');
		if (!choices)
			return NULL;
		choices++;
	}
	*length = strcspn(choices, "|");
	return choices;
}

struct weir_text weir_choice_name(const char *choices, int value)
{
	struct weir_text text;
	size_t length = 0;
	const char *name = value >= 0 ? choice_at(choices, value, &length) : NULL;

	snprintf(text.s, sizeof(text.s), "%.*s", name ? (int)length : 1, name ? name : "?");
	return text;
}

int weir_choice_value(const char *choices, const char *name)
{
	size_t length;

	for (int i = 0;; i++) {
		const char *choice = choice_at(choices, i, &length);

		if (!choice)
			return -1;
		if (strlen(name) == length && !strncasecmp(choice, name, length))
			return i;
	}
}

const char *weir_unit_name(int unit)
{
	static const char *const names[] = { "bytes", "packets", "frames" };

	return unit >= 0 && unit <= 2 ? names[unit] : "?";
}
