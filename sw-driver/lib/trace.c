/* The trace: control, reading from the host's FIFO, decoding (docs/architecture.md, Trace). */
#include "device.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#define FEATURE_TRACE 16
#define KIND_ARRIVAL 0
#define KIND_TICK 2

static uint32_t bits(uint32_t word, unsigned int high, unsigned int low)
{
	return word >> low & (uint32_t)((UINT64_C(1) << (high - low + 1)) - 1);
}

void weir_trace_decode(const uint32_t words[WEIR_RECORD_WORDS], struct weir_trace_record *record)
{
	struct weir_trace_record r;

	memset(&r, 0, sizeof(r));
	r.time_ns = (uint64_t)bits(words[1], 15, 0) << 32 | words[0];
	r.queue = bits(words[1], 19, 16);
	r.kind = bits(words[1], 21, 20);
	r.action = bits(words[1], 23, 22);
	r.cause = bits(words[1], 27, 24);
	r.ecn = bits(words[1], 29, 28);
	r.exempt = bits(words[1], 30, 30);
	if (r.kind == KIND_TICK) {
		r.policy = bits(words[2], 19, 16);
		memcpy(r.state, &words[3], sizeof(r.state));
		*record = r;
		return;
	}
	r.length = bits(words[2], 13, 0);
	r.bytes = words[3];
	r.packets = bits(words[4], 15, 0);
	r.frames = bits(words[4], 31, 16);
	r.number = words[11];
	if (r.kind == KIND_ARRIVAL) {
		r.policy = bits(words[2], 19, 16);
		r.unit = bits(words[2], 21, 20);
		r.average_raw = (uint64_t)words[5] << 11 | bits(words[6], 31, 21);
		r.average = ldexp((double)r.average_raw, -22);
		r.count = bits(words[7], 15, 0);
		r.p_raw = (uint64_t)bits(words[1], 31, 31) << 32 | words[8];
		r.p = ldexp((double)r.p_raw, -32);
		r.draw = bits(words[9], 23, 0);
		r.idle_slots = bits(words[10], 21, 0);
	} else {
		r.marked = bits(words[2], 14, 14);
		r.sojourn_ns = (uint64_t)bits(words[6], 15, 0) << 32 | words[5];
	}
	*record = r;
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
