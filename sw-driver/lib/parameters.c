/* What can be set for every queue and for the shaper, and how tables of parameters are used. The tables are the only
 * lists of ranges and defaults; each policy has its own in policy_<name>.c. */
#define _POSIX_C_SOURCE 200809L
#include "internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The formats' own ends: q has 21 bits in bytes and 16 in packets, the quantum 20, cells 15. */
#define MOST_BYTES 2097151.0
#define MOST_PACKETS 65535.0
#define MOST_CELLS 16383.0
#define MOST_QUANTUM 1048575.0

static const struct weir_row common[] = {
	{ .parameter = { "unit", "", WEIR_KIND_CHOICE, 0, 2, "bytes", "bytes|packets|frames", "ns-2 queue_in_bytes_",
			 "in what the queue is measured; a jumbo frame is several packets, one frame" },
	  .offset = WEIR_AT(unit), .advice = "choose bytes|packets|frames" },
	{ .parameter = { "limit", "queue unit", WEIR_KIND_AMOUNT, 1, MOST_BYTES, "the whole buffer", NULL, "tc-red limit",
			 "hard limit, in the queue's unit or with a size suffix in bytes" },
	  .offset = WEIR_AT(limit), .span = WEIR_SPAN_BUFFER, .optional = true },
	{ .parameter = { "limit_bytes", "bytes", WEIR_KIND_SIZE, 64, MOST_BYTES, "the whole buffer", NULL,
			 "tc-bfifo limit", "hard limit in bytes" },
	  .offset = WEIR_AT(limit_bytes), .span = WEIR_SPAN_BUFFER, .whole = true },
	{ .parameter = { "limit_packets", "packets", WEIR_KIND_COUNT, 1, MOST_PACKETS, "all descriptors", NULL,
			 "tc-pfifo limit", "hard limit in packets" },
	  .offset = WEIR_AT(limit_packets), .span = WEIR_SPAN_DESCRIPTORS, .whole = true,
	  .advice = "this core has no more packet descriptors" },
	{ .parameter = { "reserve", "cells", WEIR_KIND_AMOUNT, 0, MOST_CELLS, "0", NULL, "Weir",
			 "64-byte cells kept for this queue; with a size suffix bytes, rounded up" },
	  .offset = WEIR_AT(reserve), .span = WEIR_SPAN_CELLS, .in_bytes = WEIR_IN_BYTES_RESERVE, .whole = true },
	{ .parameter = { "quantum", "bytes", WEIR_KIND_SIZE, 9216, MOST_QUANTUM, "9216", NULL, "tc-drr quantum",
			 "bytes a round of deficit weighted round robin" },
	  .offset = WEIR_AT(quantum), .whole = true, .advice = "a quantum holds the longest frame" },
	WEIR_FLAG_ROW("strict", strict, "off", "tc-ets strict",
		      "served before all that are not strict; of strict ones the lower number first"),
	WEIR_FLAG_ROW("front", front, "off", "Lakshman et al. 1996",
		      "a packet that does not fit is queued, and the queue drops from its head until it fits"),
};

static const struct weir_row shaper[] = {
	{ .parameter = { "rate", "bit/s", WEIR_KIND_RATE, 64000, 100e9, "off", NULL, "tc-tbf rate",
			 "rate of the shaper, up to the line's; 0 is off" },
	  .span = WEIR_SPAN_LINE },
	{ .parameter = { "burst", "bytes", WEIR_KIND_SIZE, 0, 53687091187.5, "1538", NULL, "tc-tbf burst",
			 "bytes that may be sent ahead of the rate" } },
	{ .parameter = { "overhead", "bytes", WEIR_KIND_COUNT, -32768, 32767, "24", NULL, "tc-stab overhead",
			 "bytes counted on top of every frame; 24 is preamble, FCS and gap" } },
	{ .parameter = { "mpu", "bytes", WEIR_KIND_COUNT, 0, 16383, "60", NULL, "tc-stab mpu",
			 "least length that is counted, without overhead (tc's is with it); 60 is Ethernet's, 0 for none" } },
};

/* Row i of a policy and its bases; counts i down by what it passes. */
static const struct weir_row *own_row(const struct weir_policy_entry *entry, size_t *i)
{
	const struct weir_row *row = entry->base ? own_row(entry->base, i) : NULL;

	if (row)
		return row;
	if (*i < entry->row_count)
		return &entry->rows[*i];
	*i -= entry->row_count;
	return NULL;
}

const struct weir_row *weir_row_at(int policy, size_t i)
{
	const struct weir_policy_entry *entry = weir_policy_of(policy);

	if (!entry)
		return NULL;
	if (i < WEIR_LENGTH(common))
		return &common[i];
	i -= WEIR_LENGTH(common);
	return own_row(entry, &i);
}

const struct weir_parameter *weir_parameter_at(int policy, size_t i)
{
	const struct weir_row *row = weir_row_at(policy, i);

	return row ? &row->parameter : NULL;
}

/* Whether a parameter's source, such as "tc-red min, ns-2 thresh_", has the name; a last underscore does not matter. */
static bool called(const char *source, const char *name)
{
	size_t length = strlen(name);

	length -= length && name[length - 1] == '_';
	for (const char *word = source; length && *word; word += strspn(word, " ,;")) {
		size_t n = strcspn(word, " ,;");

		if (n - (word[n - 1] == '_') == length && !strncasecmp(word, name, length))
			return true;
		word += n;
	}
	return false;
}

const char *weir_parameter_called(int policy, const char *word)
{
	const struct weir_row *row;

	for (size_t i = 0; word && (row = weir_row_at(policy, i)); i++)
		if (called(row->parameter.source, word))
			return row->parameter.name;
	return NULL;
}

const struct weir_parameter *weir_shaper_parameter_at(size_t i)
{
	return i < WEIR_LENGTH(shaper) ? &shaper[i].parameter : NULL;
}

static bool same_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
			return false;
	return *a == *b;
}

const struct weir_row *weir_row_of(int policy, const char *name)
{
	const struct weir_row *row;

	for (size_t i = 0; name && (row = weir_row_at(policy, i)); i++)
		if (same_name(row->parameter.name, name))
			return row;
	return NULL;
}

const struct weir_row *weir_shaper_row_of(const char *name)
{
	for (size_t i = 0; i < WEIR_LENGTH(shaper); i++)
		if (same_name(shaper[i].parameter.name, name))
			return &shaper[i];
	return NULL;
}

bool weir_is_choice(const struct weir_row *row)
{
	return row->parameter.kind == WEIR_KIND_FLAG || row->parameter.kind == WEIR_KIND_CHOICE;
}

double weir_row_value(const struct weir_queue_config *config, const struct weir_row *row)
{
	const char *field = (const char *)config + row->offset;

	if (weir_is_choice(row)) {
		int value = *(const int *)(const void *)field;

		return value == WEIR_UNSET ? (double)NAN : value;
	}
	return *(const double *)(const void *)field;
}

void weir_set_row(struct weir_queue_config *config, const struct weir_row *row, double value)
{
	char *field = (char *)config + row->offset;

	if (weir_is_choice(row))
		*(int *)(void *)field = isnan(value) ? WEIR_UNSET : (int)value;
	else
		*(double *)(void *)field = value;
}

double weir_buffer_bytes(const struct weir_capabilities *caps)
{
	return ((double)caps->cells - 1) * (double)caps->cell_bytes;
}

void weir_parameter_range(const struct weir_capabilities *caps, const struct weir_parameter *parameter, double *min,
			  double *max)
{
	const struct weir_row *row = (const struct weir_row *)(const void *)parameter; /* its first member */
	double device = parameter->max;

	switch (row->span) {
	case WEIR_SPAN_BUFFER:
		device = weir_buffer_bytes(caps);
		break;
	case WEIR_SPAN_DESCRIPTORS:
		device = caps->descriptors;
		break;
	case WEIR_SPAN_CELLS:
		device = (double)caps->cells - 1;
		break;
	case WEIR_SPAN_QUEUES:
		device = (double)caps->queues - 1;
		break;
	case WEIR_SPAN_LINE:
		device = caps->line_rate;
		break;
	default:
		break;
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

double weir_unit_limit(const struct weir_queue_config *config)
{
	return config->unit == WEIR_UNIT_BYTES ? config->limit_bytes : config->limit_packets;
}
