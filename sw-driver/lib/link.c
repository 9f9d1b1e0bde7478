/* The client of the register protocol: requests, answers, repetition. docs/register-protocol.md */
#define _POSIX_C_SOURCE 200809L
#include "transport.h"
#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST_TRIES 4
#define GRACE_MS 20 /* for an answer after a frame that was damaged */
#define BUSY_MS 5000 /* how long another client may hold the device */
#define BUSY_STEP_NS 5000000L
#define MOST_PARTS 64U
#define PACK_FROM 4U /* words from which a read is packed */
#define OP_WORDS 255U
#define REQUEST_FRAME 2U /* kind, number */
#define OP_BYTES 4U
#define TRAILER 3U

/* A piece of an access that goes into one request. */
struct part {
	struct weir_access access;
	enum weir_wire_op op;
};

struct link {
	struct weir_line line;
	struct weir_wire_in in;
	struct weir_link_counters counters;
	size_t longest; /* request that the server takes */
	uint8_t number;
	uint8_t status; /* of the last answer */
	uint32_t done;  /* words that its request moved */
	struct part parts[MOST_PARTS];
	size_t part_count, request_bytes, words;
};

static int gone(const struct link *l, const char *what)
{
	return weir_fail(WEIR_E_BUS, "%s: %s; %s", l->line.name, what, l->line.advice);
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Waits for the line, no longer than to `deadline`: 1 ready, 0 too late, negative status. */
static int wait_line(struct link *l, short events, int64_t deadline)
{
	struct pollfd p = { .fd = l->line.descriptor, .events = events };

	for (;;) {
		int64_t left = deadline - now_ms();
		int n = poll(&p, 1, left > 0 ? (int)left : 0);

		if (n > 0)
			return 1; /* an error shows in the read or write that follows */
		if (n == 0)
			return 0;
		if (errno != EINTR)
			return gone(l, strerror(errno));
	}
}

static int send_bytes(struct link *l, const uint8_t *bytes, size_t length)
{
	const int64_t deadline = now_ms() + 1000 + (l->line.baud > 0 ? (int64_t)((double)length * 1e4 / l->line.baud) : 0);

	for (size_t at = 0; at < length;) {
		ssize_t n = l->line.shared ? send(l->line.descriptor, bytes + at, length - at, MSG_NOSIGNAL) :
					     write(l->line.descriptor, bytes + at, length - at);

		if (n > 0) {
			at += (size_t)n;
			l->counters.bytes_out += (uint64_t)n;
			continue;
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return gone(l, errno == EPIPE || errno == EIO ? "the device has gone" : strerror(errno));
		n = wait_line(l, POLLOUT, deadline);
		if (n <= 0)
			return n < 0 ? (int)n : gone(l, "nothing can be sent");
	}
	return WEIR_OK;
}

/* Takes an answer's data apart; false if it does not fit the request. */
static bool take_answer(struct link *l, const uint8_t *bytes, size_t length)
{
	uint32_t left;
	size_t at = 0;

	if (length < TRAILER)
		return false;
	length -= TRAILER;
	l->done = left = bytes[length] | (uint32_t)bytes[length + 1] << 8;
	l->status = bytes[length + 2];
	if (left > l->words || (l->status == WEIR_WIRE_OK && left != l->words))
		return false;
	for (size_t i = 0; i < l->part_count && left; i++) {
		const struct weir_access *a = &l->parts[i].access;
		const uint32_t n = a->count < left ? a->count : left;
		long used = 0;

		left -= n;
		if (l->parts[i].op == WEIR_WIRE_READ_PACKED) {
			used = weir_wire_unpack(bytes + at, length - at, a->values, n);
			if (used < 0)
				return false;
		} else if (!a->write && l->parts[i].op != WEIR_WIRE_HOLD) {
			used = 4L * n;
			if ((size_t)used > length - at)
				return false;
			for (uint32_t k = 0; k < n; k++, at += 4)
				a->values[k] = bytes[at] | (uint32_t)bytes[at + 1] << 8 | (uint32_t)bytes[at + 2] << 16 |
					       (uint32_t)bytes[at + 3] << 24;
			continue;
		}
		at += (size_t)used;
	}
	return at == length;
}

/* Bytes that have come: true if the answer is among them. All of them are taken, for what follows is another frame. */
static bool take_bytes(struct link *l, const uint8_t *bytes, size_t n)
{
	bool answered = false;

	l->counters.bytes_in += n;
	for (size_t i = 0; i < n; i++) {
		int length = weir_wire_take(&l->in, bytes[i]);

		if (length < 0)
			l->counters.corrupted++;
		if (answered || length < 2 || l->in.bytes[0] != WEIR_WIRE_ANSWER || l->in.bytes[1] != l->number)
			continue; /* of an earlier request, or an echo */
		answered = take_answer(l, l->in.bytes + 2, (size_t)length - 2);
		l->counters.corrupted += !answered;
	}
	return answered;
}

/* 1 the answer is there, 0 none came, negative status. */
static int await(struct link *l, int64_t deadline)
{
	const uint64_t corrupted = l->counters.corrupted;
	bool hurried = false;
	uint8_t bytes[512];

	for (;;) {
		int status = wait_line(l, POLLIN, deadline);
		ssize_t n;

		if (status <= 0)
			return status;
		n = read(l->line.descriptor, bytes, sizeof(bytes));
		if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
			return gone(l, "the device has gone");
		if (n > 0 && take_bytes(l, bytes, (size_t)n))
			return 1;
		if (!hurried && l->counters.corrupted != corrupted) {
			/* it may have been the answer, or noise before it */
			const int64_t soon = now_ms() + GRACE_MS;

			hurried = true;
			deadline = soon < deadline ? soon : deadline;
		}
	}
}

static size_t write_request(const struct link *l, bool repeated, uint8_t *bytes, size_t size)
{
	struct weir_wire_out out;

	weir_wire_begin(&out, bytes, size);
	weir_wire_put(&out, repeated ? WEIR_WIRE_REPEAT : WEIR_WIRE_REQUEST);
	weir_wire_put(&out, l->number);
	for (size_t i = 0; i < l->part_count; i++) {
		const struct weir_access *a = &l->parts[i].access;

		weir_wire_put(&out, (uint8_t)l->parts[i].op);
		weir_wire_put16(&out, a->address);
		weir_wire_put(&out, (uint8_t)a->count);
		for (uint32_t k = 0; a->write && k < a->count; k++)
			weir_wire_put32(&out, a->values[k]);
	}
	return weir_wire_end(&out);
}

/* Sends what has been collected, as often as it takes; the status of the answer is in l->status then. */
static int exchange(struct link *l)
{
	const uint64_t corrupted = l->counters.corrupted;
	uint8_t bytes[2 * WEIR_WIRE_MOST_REQUEST + 8];
	char what[120];

	l->number++;
	for (int attempt = 0; attempt < MOST_TRIES; attempt++) {
		const size_t length = write_request(l, attempt > 0, bytes, sizeof(bytes));
		const double bits = 10.0 * (double)(length + 8 * l->words + 64); /* with stuffing, start and stop bits */
		int64_t wait = l->line.wait_ms + (l->line.baud > 0 ? (int64_t)(bits * 1e3 / l->line.baud) : 0);
		int status;

		l->counters.requests++;
		l->counters.repeated += attempt > 0;
		status = send_bytes(l, bytes, length);
		if (!status)
			status = await(l, now_ms() + wait);
		if (status)
			return status > 0 ? WEIR_OK : status;
	}
	snprintf(what, sizeof(what), "no answer to %d requests, %llu of them came back corrupted", MOST_TRIES,
		 (unsigned long long)(l->counters.corrupted - corrupted));
	return gone(l, what);
}

/* The access that word `done` of the request belongs to, for the message. */
static int refusal(const struct link *l)
{
	uint32_t done = l->done;

	if (l->status == WEIR_WIRE_BUSY)
		return weir_fail(WEIR_E_BUSY, "%s: another program has held the device for %d ms; try again", l->line.name,
				 BUSY_MS);
	if (l->status == WEIR_WIRE_MALFORMED)
		return gone(l, "the server does not understand the request");
	for (size_t i = 0; i < l->part_count; done -= l->parts[i++].access.count)
		if (done < l->parts[i].access.count)
			return weir_refused(&l->parts[i].access, done,
					    l->status == WEIR_WIRE_SLVERR ? "the core answered SLVERR" :
									    "the core does not answer");
	return gone(l, "the server sent a status that is not known");
}

static void empty(struct link *l)
{
	l->part_count = l->words = 0;
	l->request_bytes = REQUEST_FRAME + WEIR_WIRE_CRC_BYTES;
}

static int flush(struct link *l)
{
	const struct timespec step = { 0, BUSY_STEP_NS };
	const int64_t deadline = now_ms() + BUSY_MS;
	int status = WEIR_OK;

	while (l->part_count) {
		status = exchange(l);
		if (!status && l->status == WEIR_WIRE_BUSY && now_ms() < deadline) {
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

	if (l->part_count == MOST_PARTS || l->longest < l->request_bytes + OP_BYTES)
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

static int greet(struct link *l)
{
	uint32_t word = 0;
	const struct weir_access access = { .count = 1, .values = &word };
	int status;

	empty(l);
	add(l, WEIR_WIRE_HELLO, &access);
	status = flush(l);
	if (status)
		return status;
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
