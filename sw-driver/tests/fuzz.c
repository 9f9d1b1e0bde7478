/* Random bytes, always the same ones, into what reads them: URIs, frames, packed words, and a whole device behind a line
 * that damages what it carries. Built with AddressSanitizer and UBSan; `fuzz ROUNDS`. */
#define _GNU_SOURCE
#include "device.h"
#include "weir_regs.h"
#include "wire.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUIRE(condition)                                                               \
	do {                                                                             \
		if (!(condition)) {                                                      \
			printf("%s:%d: %s; last message: %s\n", __FILE__, __LINE__, #condition, weir_error()); \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

static uint64_t state = 88172645463325252U;

static uint32_t draw(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32) % below;
}

/* ---- URIs ---------------------------------------------------------------------------------------------- */

static void opens_no_nonsense(int rounds)
{
	static const char *const parts[] = { "unix", "uart", "pci", "sim", ":", "/", "@", "?core=", ".", "0000", "01", "00", "0", "7", "dev",
					     "absent", "1000000", "99999999999999999999", "-1", "%s", "\x80", " ", "full", "f" };
	for (int i = 0; i < rounds; i++) {
		char uri[700] = "";
		struct weir *w = (struct weir *)uri;

		for (uint32_t n = draw(12); n; n--)
			strncat(uri, parts[draw(sizeof(parts) / sizeof(parts[0]))], 30);
		if (!draw(20))
			memset(uri, "a:/@0."[draw(6)], draw(sizeof(uri) - 1));
		uri[sizeof(uri) - 1] = '\0';
		/* there is such a device, if the model is built */
		if (weir_open(uri, &w) == 0 && !strncmp(uri, "sim:full", 8)) {
			weir_close(w);
			continue;
		}
		if (w)
			fprintf(stderr, "'%s' was opened\n", uri);
		REQUIRE(!w && *weir_error());
	}
}

/* ---- frames -------------------------------------------------------------------------------------------- */

static size_t make_frame(uint8_t *payload, size_t *length, uint8_t *frame, size_t size)
{
	struct weir_wire_out out;

	*length = 2 + draw(300);
	weir_wire_begin(&out, frame, size);
	for (size_t i = 0; i < *length; i++) {
		payload[i] = draw(4) ? (uint8_t)draw(256) : (uint8_t)(WEIR_WIRE_ESCAPE + draw(2));
		weir_wire_put(&out, payload[i]);
	}
	return weir_wire_end(&out);
}

static void takes_frames_apart(int rounds)
{
	static struct weir_wire_in in;
	uint8_t payload[400], frame[900];
	int found = 0, refused = 0;

	for (int i = 0; i < rounds; i++) {
		size_t length, n = make_frame(payload, &length, frame, sizeof(frame));
		int last = 0;
		bool damaged = draw(2);

		if (damaged)
			frame[1 + draw((uint32_t)n - 2)] ^= (uint8_t)(1U << draw(8)); /* neither flag at the ends */
		for (size_t k = 0; k < n; k++) {
			int got = weir_wire_take(&in, frame[k]);

			if (got > 0) { /* one damaged bit is always seen */
				REQUIRE(!damaged && (size_t)got == length && !memcmp(in.bytes, payload, length));
				last = got;
			}
			refused += got < 0;
		}
		REQUIRE(damaged || last);
		found += last > 0;
	}
	for (int i = 0; i < 200 * rounds; i++)
		REQUIRE(weir_wire_take(&in, (uint8_t)(draw(40) ? draw(256) : WEIR_WIRE_FLAG)) <= 0);
	for (size_t k = 0; k < 2 * sizeof(in.bytes); k++) /* a frame without end, then a good one */
		REQUIRE(weir_wire_take(&in, 0x55) == 0);
	REQUIRE(weir_wire_take(&in, WEIR_WIRE_FLAG) < 0);
	REQUIRE(found > rounds / 3 && refused > rounds / 3);
}

static void unpacks_any_bytes(int rounds)
{
	uint32_t values[300];

	for (int i = 0; i < rounds; i++) {
		size_t length = draw(200), count = draw(300);
		uint8_t *bytes = malloc(length ? length : 1); /* its end is where the sanitizer looks */
		long used;

		REQUIRE(bytes);
		for (size_t k = 0; k < length; k++)
			bytes[k] = draw(3) ? 0 : (uint8_t)draw(256);
		used = weir_wire_unpack(bytes, length, values, count);
		REQUIRE(used <= (long)length);
		free(bytes);
	}
}

/* ---- a device behind a bad line ------------------------------------------------------------------------ */

struct server {
	int line;
	uint32_t words[0x4000];
	bool vicious; /* answers are random frames with a right checksum */
	uint32_t damage; /* one of so many frames is; 0: none */
	struct weir_wire_in in;
};

static void put_word(struct weir_wire_out *out, uint32_t value)
{
	weir_wire_put32(out, value);
}

static void answer(struct server *s, const uint8_t *request, size_t length)
{
	static uint8_t frame[3 * WEIR_WIRE_MOST_ANSWER];
	struct weir_wire_out out;
	uint32_t done = 0;
	size_t n;

	weir_wire_begin(&out, frame, sizeof(frame));
	weir_wire_put(&out, WEIR_WIRE_ANSWER);
	weir_wire_put(&out, request[1]);
	if (s->vicious) {
		for (uint32_t k = draw(60); k; k--)
			weir_wire_put(&out, (uint8_t)(draw(2) ? draw(256) : draw(4)));
	} else {
		for (size_t at = 2; at + 4 <= length;) {
			const uint8_t *op = request + at;
			uint32_t address = op[1] | (uint32_t)op[2] << 8;

			at += 4;
			for (uint32_t k = 0; k < op[3]; k++, done++, address += 4) {
				uint32_t *word = &s->words[address / 4 % 0x4000];

				if (op[0] == WEIR_WIRE_WRITE) {
					memcpy(word, request + at, 4);
					at += 4;
					s->words[WEIR_STATUS / 4] = 0;
				} else if (op[0] == WEIR_WIRE_READ_PACKED) { /* every word in four bytes is packed, too */
					if (k % 4 == 0)
						weir_wire_put(&out, op[3] - k >= 4 ? 0xFF : (uint8_t)((1U << 2 * (op[3] - k)) - 1));
					put_word(&out, *word);
				} else if (op[0] == WEIR_WIRE_HELLO) {
					put_word(&out, WEIR_WIRE_MAGIC << 24 | WEIR_WIRE_VERSION << 16 | 64);
				} else if (op[0] == WEIR_WIRE_READ) {
					put_word(&out, *word);
				}
			}
		}
		weir_wire_put16(&out, done);
		weir_wire_put(&out, WEIR_WIRE_OK);
	}
	n = weir_wire_end(&out);
	if (s->damage && !draw(s->damage)) {
		if (draw(2))
			frame[draw((uint32_t)n)] ^= (uint8_t)(1U << draw(8));
		else
			n = 1 + draw((uint32_t)n);
	}
	if (write(s->line, frame, n) < 0)
		return;
}

static void *serve(void *ctx)
{
	struct server *s = ctx;
	uint8_t bytes[256];
	ssize_t n;

	while ((n = read(s->line, bytes, sizeof(bytes))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			int length = weir_wire_take(&s->in, bytes[i]);

			if (length > 2)
				answer(s, s->in.bytes, (size_t)length);
		}
	return NULL;
}

/* Opens a device whose server damages one of `damage` answers; how many calls of it worked. */
static int use(uint32_t damage, bool vicious, int calls)
{
	struct weir_line line = { .shared = true, .wait_ms = 150, .name = "test", .advice = "look" };
	struct server *s = calloc(1, sizeof(*s));
	struct weir_transport transport;
	struct weir_queue_config config;
	struct weir_state snapshot;
	struct weir *w = NULL;
	pthread_t thread;
	int ends[2], worked = 0;

	REQUIRE(s && !socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	s->line = ends[1];
	s->damage = damage;
	s->vicious = vicious;
	s->words[0] = WEIR_MAGIC_VALUE;
	s->words[WEIR_FEATURES / 4] = 1 << 17 | 1 << 16 | 0x1FF;
	s->words[WEIR_PARAMS / 4] = 64 << 8 | 4;
	s->words[WEIR_CELLS / 4] = s->words[WEIR_DESCRIPTORS / 4] = 2048;
	s->words[WEIR_CLOCK_HZ / 4] = 156250000;
	s->words[WEIR_CELL_BYTES / 4] = 64;
	s->words[WEIR_SHARED_CELLS / 4] = 2047;
	line.descriptor = ends[0];
	REQUIRE(!fcntl(ends[0], F_SETFL, O_NONBLOCK));
	REQUIRE(!pthread_create(&thread, NULL, serve, s));
	if (!weir_open_link(&line, &transport) && !weir_open_transport(&transport, &w))
		for (int i = 0; i < calls; i++) {
			REQUIRE(!weir_queue_defaults(WEIR_POLICY_ARED, &config));
			worked += !weir_queue_apply(w, 1, &config) && !weir_queue_read(w, 1, &config) &&
				  config.policy == WEIR_POLICY_ARED && !weir_snapshot_all(w, &snapshot, 1) && snapshot.queues == 4;
		}
	weir_close(w);
	shutdown(ends[1], SHUT_RDWR);
	REQUIRE(!pthread_join(thread, NULL));
	close(ends[1]);
	free(s);
	return worked;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 2000;

	opens_no_nonsense(rounds);
	takes_frames_apart(rounds);
	unpacks_any_bytes(10 * rounds);
	REQUIRE(use(0, false, 20) == 20);
	REQUIRE(use(20, false, 40) > 36);
	for (int i = 0; i < 10; i++)
		REQUIRE(use(0, true, 5) == 0);
	puts("fuzzed");
	return 0;
}
