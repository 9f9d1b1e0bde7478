/* The client of the register protocol: lists of accesses as requests. docs/register-protocol.md */
#define _POSIX_C_SOURCE 200809L
#include "link.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BUSY_MS 5000 /* how long another client may hold the device */
#define BUSY_STEP_NS 5000000L
#define PACK_FROM 4U /* words from which a read is packed */
#define OP_WORDS 255U
#define REQUEST_FRAME 2U /* kind, number */
#define OP_BYTES 4U

/* The access that word `done` of the request belongs to, for the message. */
static int refusal(const struct link *l)
{
	uint32_t done = l->done;

	if (l->status == WEIR_WIRE_BUSY)
		return weir_fail(WEIR_E_BUSY, "%s: another program has held the device for %d ms; try again", l->line.name,
				 BUSY_MS);
	if (l->status == WEIR_WIRE_LAPSED)
		return weir_fail(WEIR_E_BUSY, "%s: this program held the device and said nothing for %d ms: others may have changed "
				 "it since, and nothing of what follows was done; try again", l->line.name, BUSY_MS);
	if (l->status == WEIR_WIRE_MALFORMED)
		return weir_line_failed(l, "the server does not understand the request");
	for (size_t i = 0; i < l->part_count; done -= l->parts[i++].access.count)
		if (done < l->parts[i].access.count)
			return weir_refused(&l->parts[i].access, done,
					    l->status == WEIR_WIRE_SLVERR ? "the core answered SLVERR" :
									    "the core does not answer");
	return weir_line_failed(l, "the server sent a status that is not known");
}

static void empty(struct link *l)
{
	l->part_count = l->words = 0;
	l->request_bytes = REQUEST_FRAME + WEIR_WIRE_CRC_BYTES;
}

static int flush(struct link *l)
{
	const struct timespec step = { 0, BUSY_STEP_NS };
	const int64_t deadline = weir_now_ms() + BUSY_MS;
	int status = WEIR_OK;

	while (l->part_count) {
		status = weir_exchange(l);
		if (!status && l->status == WEIR_WIRE_BUSY && weir_now_ms() < deadline) {
			nanosleep(&step, NULL);
			continue; /* nothing has been done */
		}
		if (!status && l->status != WEIR_WIRE_OK)
			status = refusal(l);
		break;
	}
	empty(l);
	return status;
}

static void add(struct link *l, enum weir_wire_op op, const struct weir_access *access)
{
	l->parts[l->part_count++] = (struct part){ *access, op };
	l->request_bytes += OP_BYTES + (access->write ? 4 * access->count : 0);
	l->words += access->count;
}

/* How many words of an access still go into the request that is being collected. */
static uint32_t room(const struct link *l, const struct weir_access *a)
{
	size_t most = WEIR_WIRE_MOST_WORDS - l->words, bytes;

	if (l->part_count == WEIR_LINK_PARTS || l->longest < l->request_bytes + OP_BYTES)
		return 0;
	bytes = l->longest - l->request_bytes - OP_BYTES;
	if (a->write && bytes / 4 < most)
		most = bytes / 4;
	if (most > OP_WORDS)
		most = OP_WORDS;
	return a->count < most ? a->count : (uint32_t)most;
}

static int transfer(void *ctx, const struct weir_access *list, size_t n)
{
	struct link *l = ctx;

	empty(l);
	for (size_t i = 0; i < n; i++) {
		struct weir_access left = list[i];

		while (left.count) {
			struct weir_access now = left;
			int status;

			now.count = room(l, &left);
			if (!now.count) {
				status = flush(l);
				if (status)
					return status;
				continue;
			}
			add(l, left.write ? WEIR_WIRE_WRITE : now.count >= PACK_FROM ? WEIR_WIRE_READ_PACKED : WEIR_WIRE_READ,
			    &now);
			left.address += 4 * now.count;
			left.values += now.count;
			left.count -= now.count;
		}
	}
	return flush(l);
}

static int hold(void *ctx, bool on)
{
	const struct weir_access access = { .address = on, .count = 1 };

	empty(ctx);
	add(ctx, WEIR_WIRE_HOLD, &access);
	return flush(ctx);
}

static void read_counters(void *ctx, struct weir_link_counters *counters)
{
	*counters = ((const struct link *)ctx)->counters;
}

static void close_link(void *ctx)
{
	struct link *l = ctx;

	close(l->line.descriptor);
	free(l);
}

static int hello(struct link *l, uint32_t *word)
{
	const struct weir_access access = { .count = 1, .values = word };

	empty(l);
	add(l, WEIR_WIRE_HELLO, &access);
	return flush(l);
}

/* The server has not understood a greeting to a core but the first: how many cores it has. */
static int no_such_core(struct link *l)
{
	const unsigned int wanted = l->line.core;
	uint32_t word;

	for (l->line.core = 0; l->line.core < wanted; l->line.core++) {
		int status = hello(l, &word);

		if (status && (!l->line.core || l->status != WEIR_WIRE_MALFORMED))
			return status;
		if (status)
			break;
	}
	return weir_fail(WEIR_E_RANGE, "%s: core %u is out of range: allowed is 0 to %u; this line has %u", l->line.name, wanted,
			 l->line.core - 1, l->line.core);
}

static int greet(struct link *l)
{
	uint32_t word = 0;
	int status = hello(l, &word);

	if (status)
		return l->line.core && l->status == WEIR_WIRE_MALFORMED ? no_such_core(l) : status;
	if (word >> 24 != WEIR_WIRE_MAGIC || (word >> 16 & 0xFF) != WEIR_WIRE_VERSION || (word & 0xFFFF) < WEIR_WIRE_LEAST_REQUEST)
		return weir_fail(WEIR_E_DEVICE, "%s: the server greets with 0x%08X, this library knows protocol version %u; "
				 "use a libweir of the server's version", l->line.name, (unsigned int)word, WEIR_WIRE_VERSION);
	l->longest = word & 0xFFFF;
	if (l->longest > WEIR_WIRE_MOST_REQUEST)
		l->longest = WEIR_WIRE_MOST_REQUEST;
	return WEIR_OK;
}

int weir_open_link(const struct weir_line *line, struct weir_transport *transport)
{
	struct link *l = calloc(1, sizeof(*l));
	struct timespec t;
	int status;

	if (!l) {
		close(line->descriptor);
		return weir_fail(WEIR_E_MEMORY, "no memory for a link of %zu bytes; free some", sizeof(*l));
	}
	l->line = *line;
	l->longest = WEIR_WIRE_LEAST_REQUEST;
	clock_gettime(CLOCK_MONOTONIC, &t);
	l->number = (uint8_t)(t.tv_nsec >> 10); /* unlike that of the client before */
	status = greet(l);
	if (status) {
		close_link(l);
		return status;
	}
	*transport = (struct weir_transport){ l, transfer, line->shared ? hold : NULL, read_counters, close_link };
	return WEIR_OK;
}
