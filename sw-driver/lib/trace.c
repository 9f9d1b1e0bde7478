/* The trace: control, reading from the host's FIFO, decoding (docs/architecture.md, Trace). */
#include "device.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define FEATURE_TRACE 16

void weir_trace_decode(const uint32_t words[WEIR_RECORD_WORDS], struct weir_trace_record *record)
{
	const uint32_t kind = weir_record_kind(words);
	struct weir_trace_record r;

	memset(&r, 0, sizeof(r));
#define FIELD(name, kinds)          \
	if ((kinds) >> kind & 1)    \
		r.name = weir_record_##name(words);
#define REAL(name, kinds, fraction)                                \
	if ((kinds) >> kind & 1) {                                 \
		r.name##_raw = weir_record_##name(words);          \
		r.name = ldexp((double)r.name##_raw, -(fraction)); \
	}
	WEIR_TRACE_FIELDS(FIELD, REAL)
#undef FIELD
#undef REAL
	if (kind == WEIR_RECORD_KIND_TICK)
		memcpy(r.state, &words[WEIR_RECORD_STATE], sizeof(r.state));
	*record = r;
}

const struct weir_trace_field *weir_trace_field_at(size_t i)
{
	return i < weir_trace_field_count ? &weir_trace_fields[i] : NULL;
}

const struct weir_trace_field *weir_state_field_at(int policy, size_t i)
{
	const struct weir_policy_entry *entry = weir_policy_of(policy);

	return entry && i < entry->state_count ? &entry->state[i] : NULL;
}

/* Answers a core without a trace, whose registers are not there. */
static int traced(const struct weir *w)
{
	if (w->caps.features >> FEATURE_TRACE & 1)
		return WEIR_OK;
	return weir_fail(WEIR_E_UNSUPPORTED, "the trace is not built into this core; use a preset with a trace");
}

static int control(struct weir *w, int enable, uint32_t queues, uint32_t kinds)
{
	const uint32_t most = (1U << w->caps.queues) - 1;
	uint32_t value = 0;
	int status = traced(w);

	if (status)
		return status;
	if (queues & ~most)
		return weir_fail(WEIR_E_RANGE, "trace queues 0x%X is out of range: allowed is 0x0 to 0x%X; bit n is queue n",
				 (unsigned int)queues, (unsigned int)most);
	if (enable)
		value = 1U << WEIR_TRACE_CTRL_ENABLE_SHIFT |
			(kinds & WEIR_TRACE_ARRIVALS ? 1U : 0U) << WEIR_TRACE_CTRL_ARRIVALS_SHIFT |
			(kinds & WEIR_TRACE_DEPARTURES ? 1U : 0U) << WEIR_TRACE_CTRL_DEPARTURES_SHIFT |
			(kinds & WEIR_TRACE_TICKS ? 1U : 0U) << WEIR_TRACE_CTRL_TICKS_SHIFT |
			queues << WEIR_TRACE_CTRL_QUEUES_SHIFT;
	return weir_write_core(w, WEIR_TRACE_CTRL, &value, 1);
}

int weir_trace_control(struct weir *w, int enable, uint32_t queues, uint32_t kinds)
{
	EXCLUSIVE(w, control(w, enable, queues, kinds));
}

static int level(struct weir *w, unsigned int *records)
{
	int status = traced(w);

	return status ? status : weir_rd(w, WEIR_TRACE_LEVEL, records);
}

int weir_trace_level(struct weir *w, unsigned int *records)
{
	LOCKED(w, level(w, records));
}

/* A record is one request: if it has to be repeated, its data is read again, and must be that of no later one. */
static int read_some(struct weir *w, struct weir_trace_record *records, size_t most)
{
	uint32_t words[WEIR_RECORD_WORDS], waiting, one = WEIR_ONE;
	const struct weir_access list[] = {
		{ WEIR_TRACE_POP, 1, &one, true },
		{ WEIR_TRACE_DATA0, WEIR_RECORD_WORDS, words, false },
		{ WEIR_TRACE_LEVEL, 1, &waiting, false },
	};
	int n = 0, status = most ? level(w, &waiting) : traced(w);

	while (!status && (size_t)n < most && n < INT_MAX && waiting) {
		status = weir_transfer(w, list, WEIR_LENGTH(list));
		if (!status)
			weir_trace_decode(words, &records[n++]);
	}
	return n ? n : status; /* a failure after the first record will be met again */
}

int weir_trace_read(struct weir *w, struct weir_trace_record *record)
{
	EXCLUSIVE(w, read_some(w, record, 1));
}

int weir_trace_read_some(struct weir *w, struct weir_trace_record *records, size_t most)
{
	EXCLUSIVE(w, read_some(w, records, most));
}
