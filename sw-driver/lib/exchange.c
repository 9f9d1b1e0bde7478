/* A request of the register protocol on its way: sending, the answer, repetition. docs/register-protocol.md */
#define _POSIX_C_SOURCE 200809L
#include "link.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MOST_TRIES 4
#define GRACE_MS 20 /* for an answer after a frame that was damaged */
#define TRAILER 3U

int weir_line_failed(const struct link *l, const char *what)
{
	return weir_fail(WEIR_E_BUS, "%s: %s; %s", l->line.name, what, l->line.advice);
}

int64_t weir_now_ms(void)
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
		int64_t left = deadline - weir_now_ms();
		int n = poll(&p, 1, left > 0 ? (int)left : 0);

		if (n > 0)
			return 1; /* an error shows in the read or write that follows */
		if (n == 0)
			return 0;
		if (errno != EINTR)
			return weir_line_failed(l, strerror(errno));
	}
}

static int send_bytes(struct link *l, const uint8_t *bytes, size_t length)
{
	const int64_t deadline = weir_now_ms() + 1000 + (l->line.baud > 0 ? (int64_t)((double)length * 1e4 / l->line.baud) : 0);

	for (size_t at = 0; at < length;) {
		ssize_t n = l->line.shared ? send(l->line.descriptor, bytes + at, length - at, MSG_NOSIGNAL) :
					     write(l->line.descriptor, bytes + at, length - at);

		if (n > 0) {
			at += (size_t)n;
			l->counters.bytes_out += (uint64_t)n;
			continue;
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return weir_line_failed(l, errno == EPIPE || errno == EIO ? "the device has gone" : strerror(errno));
		n = wait_line(l, POLLOUT, deadline);
		if (n <= 0)
			return n < 0 ? (int)n : weir_line_failed(l, "nothing can be sent");
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
			return weir_line_failed(l, "the device has gone");
		if (n > 0 && take_bytes(l, bytes, (size_t)n))
			return 1;
		if (!hurried && l->counters.corrupted != corrupted) {
			/* it may have been the answer, or noise before it */
			const int64_t soon = weir_now_ms() + GRACE_MS;

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

		weir_wire_put(&out, (uint8_t)(l->parts[i].op | l->line.core << WEIR_WIRE_CORE_SHIFT));
		weir_wire_put16(&out, a->address);
		weir_wire_put(&out, (uint8_t)a->count);
		for (uint32_t k = 0; a->write && k < a->count; k++)
			weir_wire_put32(&out, a->values[k]);
	}
	return weir_wire_end(&out);
}

int weir_exchange(struct link *l)
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
			status = await(l, weir_now_ms() + wait);
		if (status)
			return status > 0 ? WEIR_OK : status;
	}
	if (l->counters.corrupted == corrupted)
		snprintf(what, sizeof(what), "no answer to %d requests", MOST_TRIES);
	else
		snprintf(what, sizeof(what), "no good answer to %d requests, %llu damaged", MOST_TRIES,
			 (unsigned long long)(l->counters.corrupted - corrupted));
	return weir_line_failed(l, what);
}
