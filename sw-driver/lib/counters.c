/* Counters, and values of now. */
#include "device.h"

#include <math.h>
#include <string.h>

static int snapshot(struct weir *w)
{
	int status = weir_wr(w, WEIR_SNAPSHOT, WEIR_ONE);

	return status ? status : weir_wait_low(w, WEIR_PLACED(WEIR_STATUS_SNAPSHOT_BUSY), "the snapshot");
}

int weir_snapshot(struct weir *w)
{
	EXCLUSIVE(w, snapshot(w));
}

/* Registers in a row, read at once: offset of a count in the structure, position of its first word. */
struct count_at {
	uint32_t word;
	size_t offset;
};

static uint64_t wide(const uint32_t *words)
{
	return (uint64_t)words[1] << 32 | words[0];
}

static void take_counts(const uint32_t *words, const struct count_at *list, size_t n, void *counters)
{
	for (size_t i = 0; i < n; i++) {
		struct weir_count *count = (struct weir_count *)(void *)((char *)counters + list[i].offset);

		count->packets = wide(words + list[i].word);
		count->bytes = wide(words + list[i].word + 2);
	}
}

/* From the first to the last register of a row. */
#define FIRST_COUNT WEIR_Q_NODROP_PACKETS_LO
#define COUNT_WORDS ((WEIR_Q_HEAD_ALREADY_CE_BYTES_HI - FIRST_COUNT) / 4 + 1)
#define SOJOURN_WORDS 64
#define FIRST_CORE WEIR_RX_PACKETS_LO
#define CORE_WORDS ((WEIR_TRACE_LOST_BYTES_HI - FIRST_CORE) / 4 + 1)
#define JUMBO_WORDS ((WEIR_HURRIED_BYTES_HI - WEIR_MALFORMED_PACKETS_LO) / 4 + 1)
#define LIVE_WORDS ((WEIR_Q_PEAK_PACKETS - WEIR_Q_LIVE_BYTES) / 4 + 1)
#define COUNT(name, field) { (WEIR_Q_##name##_PACKETS_LO - FIRST_COUNT) / 4, offsetof(struct weir_counters, field) }
#define CORE_COUNT(name, field) { (WEIR_##name##_PACKETS_LO - FIRST_CORE) / 4, offsetof(struct weir_core_counters, field) }

struct queue_words {
	uint32_t counts[COUNT_WORDS], sojourn[SOJOURN_WORDS], live[LIVE_WORDS];
};

struct core_words {
	uint32_t counts[CORE_WORDS + JUMBO_WORDS], throttled[2], uptime[4]; /* UPTIME to SPACED_PACKETS */
	uint32_t now[2], cells[3], state[2]; /* FREE_CELLS to HELD_PACKETS; STATUS, GENERATION */
};

_Static_assert(WEIR_MALFORMED_PACKETS_LO == FIRST_CORE + 4 * CORE_WORDS, "the counters of jumbo frames follow");
_Static_assert(WEIR_HELD_PACKETS - WEIR_FREE_CELLS == 8 && WEIR_GENERATION - WEIR_STATUS == 4, "registers in a row");
_Static_assert(WEIR_SPACED_PACKETS - WEIR_UPTIME_LO == 12, "registers in a row");
_Static_assert(WEIR_Q_SOJOURN0_LO + 4 * SOJOURN_WORDS == WEIR_Q_STRIDE, "the histogram ends the block");

static void take_counters(const struct queue_words *words, struct weir_counters *counters)
{
	static const struct count_at list[] = {
		COUNT(IN_NOT_ECT, in_not_ect), COUNT(IN_ECT1, in_ect1), COUNT(IN_ECT0, in_ect0),
		COUNT(IN_CE, in_ce),           COUNT(EARLY, early),     COUNT(FORCED, forced),
		COUNT(OVERFLOW, overflow),     COUNT(MARKED, marked),   COUNT(ALREADY_CE, already_ce),
		COUNT(OUT, out),               COUNT(LINK_DOWN, link_down), COUNT(FRONT, front),
		COUNT(HEAD_DROPPED, head_dropped), COUNT(HEAD_MARKED, head_marked), COUNT(PARTIAL, partial),
		COUNT(NODROP, nodrop),         COUNT(HEAD_ALREADY_CE, head_already_ce),
	};
	/* OUT leaves out what these count */
	const struct weir_count *sent[] = { &counters->head_marked, &counters->head_already_ce };

	take_counts(words->counts, list, WEIR_LENGTH(list), counters);
	for (size_t i = 0; i < WEIR_LENGTH(sent); i++) {
		counters->out.packets += sent[i]->packets;
		counters->out.bytes += sent[i]->bytes;
	}
	for (size_t bin = 0; bin < 32; bin++)
		counters->sojourn[bin] = wide(words->sojourn + 2 * bin);
}

static size_t ask_counters(unsigned int queue, struct queue_words *words, int histogram, struct weir_access *list)
{
	size_t n = 0;

	list[n++] = (struct weir_access){ weir_queue_address(queue, FIRST_COUNT), COUNT_WORDS, words->counts, false };
	if (histogram)
		list[n++] = (struct weir_access){ weir_queue_address(queue, WEIR_Q_SOJOURN0_LO), SOJOURN_WORDS, words->sojourn, false };
	return n;
}

static int read_counters(struct weir *w, unsigned int queue, struct weir_counters *counters)
{
	struct weir_access list[2];
	struct queue_words words;
	int status = weir_check_queue(w, queue);

	if (!status)
		status = weir_transfer(w, list, ask_counters(queue, &words, 1, list));
	if (!status)
		take_counters(&words, counters);
	return status;
}

int weir_counters(struct weir *w, unsigned int queue, struct weir_counters *counters)
{
	LOCKED(w, read_counters(w, queue, counters));
}

static void take_core(const struct weir *w, const struct core_words *words, struct weir_core_counters *counters)
{
	static const struct count_at list[] = {
		CORE_COUNT(RX, rx),
		CORE_COUNT(TX, tx),
		CORE_COUNT(BAD, bad),
		CORE_COUNT(RUNT, runt),
		CORE_COUNT(OVERSIZE, oversize),
		CORE_COUNT(INGRESS_OVERFLOW, ingress_overflow),
	};
	static const struct count_at jumbo[] = {
		CORE_COUNT(MALFORMED, malformed),
		CORE_COUNT(JUMBO_IN, jumbo_in),
		CORE_COUNT(SPLIT_DISCARDED, split_discarded),
		CORE_COUNT(RX_WIRE, rx_wire),
		CORE_COUNT(JUMBO_OUT, jumbo_out),
		CORE_COUNT(MERGED, merged),
	};

	memset(counters, 0, sizeof(*counters));
	take_counts(words->counts, list, WEIR_LENGTH(list), counters);
	if (weir_splits(w)) {
		take_counts(words->counts, jumbo, WEIR_LENGTH(jumbo), counters);
		counters->evicted = wide(words->counts + (WEIR_EVICTED_PACKETS_LO - FIRST_CORE) / 4);
		counters->hurried = wide(words->counts + (WEIR_HURRIED_PACKETS_LO - FIRST_CORE) / 4);
	} else {
		counters->rx_wire = counters->rx;
	}
	counters->tx_wire.packets = counters->tx.packets - counters->merged.packets + counters->jumbo_out.packets;
	counters->tx_wire.bytes = counters->tx.bytes - counters->merged.bytes + counters->jumbo_out.bytes;
	counters->trace_lost = wide(words->counts + (WEIR_TRACE_LOST_PACKETS_LO - FIRST_CORE) / 4);
	counters->throttled_ns = wide(words->throttled);
	counters->uptime = wide(words->uptime);
	counters->queued = words->uptime[2];
	counters->spaced = words->uptime[3];
}

static size_t ask_core(const struct weir *w, struct core_words *words, struct weir_access *list)
{
	list[0] = (struct weir_access){ FIRST_CORE, weir_splits(w) ? CORE_WORDS + JUMBO_WORDS : CORE_WORDS, words->counts, false };
	list[1] = (struct weir_access){ WEIR_THROTTLED_LO, 2, words->throttled, false };
	list[2] = (struct weir_access){ WEIR_UPTIME_LO, 4, words->uptime, false };
	return 3;
}

static int read_core_counters(struct weir *w, struct weir_core_counters *counters)
{
	struct weir_access list[3];
	struct core_words words;
	int status = weir_transfer(w, list, ask_core(w, &words, list));

	if (!status)
		take_core(w, &words, counters);
	return status;
}

int weir_core_counters(struct weir *w, struct weir_core_counters *counters)
{
	LOCKED(w, read_core_counters(w, counters));
}

static void take_live(const uint32_t *words, struct weir_live *live)
{
	/* in the order of the registers */
	*live = (struct weir_live){ words[0], words[1], words[2], words[3], ldexp(words[4], -11), words[5], words[6] };
}

static struct weir_access ask_live(unsigned int queue, uint32_t *words)
{
	return (struct weir_access){ weir_queue_address(queue, WEIR_Q_LIVE_BYTES), LIVE_WORDS, words, false };
}

static int read_live(struct weir *w, unsigned int queue, struct weir_live *live)
{
	uint32_t words[LIVE_WORDS];
	const struct weir_access access = ask_live(queue, words);
	int status = weir_check_queue(w, queue);

	if (!status)
		status = weir_transfer(w, &access, 1);
	if (!status)
		take_live(words, live);
	return status;
}

int weir_live(struct weir *w, unsigned int queue, struct weir_live *live)
{
	LOCKED(w, read_live(w, queue, live));
}

static void take_core_live(const struct core_words *words, struct weir_core_live *live)
{
	const uint32_t word = words->state[0];

	live->now_ns = wide(words->now);
	live->free_cells = words->cells[0];
	live->free_cells_min = words->cells[1];
	live->held_packets = words->cells[2];
	live->generation = words->state[1];
	live->link_up = (int)WEIR_TAKE(WEIR_STATUS_LINK_UP, word);
	live->resetting = (int)WEIR_TAKE(WEIR_STATUS_RESETTING, word);
	live->quiet = (int)WEIR_TAKE(WEIR_STATUS_QUIET, word);
	live->snapshot_busy = (int)WEIR_TAKE(WEIR_STATUS_SNAPSHOT_BUSY, word);
	live->apply_busy = (int)WEIR_TAKE(WEIR_STATUS_APPLY_BUSY, word);
}

static size_t ask_core_live(struct core_words *words, struct weir_access *list)
{
	list[0] = (struct weir_access){ WEIR_NOW_LO, 2, words->now, false };
	list[1] = (struct weir_access){ WEIR_FREE_CELLS, 3, words->cells, false };
	list[2] = (struct weir_access){ WEIR_STATUS, 2, words->state, false };
	return 3;
}

static int read_core_live(struct weir *w, struct weir_core_live *live)
{
	struct weir_access list[3];
	struct core_words words;
	int status = weir_transfer(w, list, ask_core_live(&words, list));

	if (!status)
		take_core_live(&words, live);
	return status;
}

int weir_core_live(struct weir *w, struct weir_core_live *live)
{
	LOCKED(w, read_core_live(w, live));
}

/* The snapshot is a request of its own, so that a repeated read does not take it again: it starts the peaks anew. Then the live
 * values, the time first, which is that of the snapshot but for an access or two. Counter reads wait for the copy. */
static int snapshot_all(struct weir *w, struct weir_state *state, int histograms)
{
	struct weir_access list[3 + 3 + 3 * WEIR_MOST_QUEUES];
	struct queue_words words[WEIR_MOST_QUEUES];
	struct core_words core;
	int status = weir_wr(w, WEIR_SNAPSHOT, WEIR_ONE);
	size_t n = ask_core_live(&core, list);

	memset(words, 0, sizeof(words));
	memset(state, 0, sizeof(*state));
	for (unsigned int q = 0; q < w->caps.queues; q++)
		list[n++] = ask_live(q, words[q].live);
	n += ask_core(w, &core, list + n);
	for (unsigned int q = 0; q < w->caps.queues; q++)
		n += ask_counters(q, &words[q], histograms, list + n);
	if (!status)
		status = weir_transfer(w, list, n);
	if (status)
		return status;
	state->queues = w->caps.queues;
	take_core_live(&core, &state->core_live);
	take_core(w, &core, &state->core);
	for (unsigned int q = 0; q < w->caps.queues; q++) {
		take_live(words[q].live, &state->live[q]);
		take_counters(&words[q], &state->queue[q]);
	}
	return WEIR_OK;
}

int weir_snapshot_all(struct weir *w, struct weir_state *state, int histograms)
{
	EXCLUSIVE(w, snapshot_all(w, state, histograms));
}
