/* libweir from C, for AddressSanitizer and UBSan: everything once, and every access of every call failing once. */
#include "weir.h"
#include "weir_regs.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                               \
	do {                                                                             \
		if (!(condition)) {                                                      \
			printf("%s:%d: %s; last message: %s\n", __FILE__, __LINE__, #condition, weir_error()); \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

struct memory {
	uint32_t words[0x4000];
	long until_failure; /* accesses that still work; negative: all */
	long accesses;
};

static int access_ok(struct memory *m)
{
	m->accesses++;
	return m->until_failure < 0 || m->until_failure-- > 0;
}

static int rd(void *ctx, uint32_t address, uint32_t *value)
{
	struct memory *m = ctx;

	if (!access_ok(m) || address % 4 || address >= 0x10000)
		return -5;
	*value = m->words[address / 4];
	return 0;
}

static int wr(void *ctx, uint32_t address, uint32_t value)
{
	struct memory *m = ctx;

	if (!access_ok(m) || address % 4 || address >= 0x10000)
		return -5;
	m->words[address / 4] = value;
	return 0;
}

static struct memory *new_memory(void)
{
	struct memory *m = calloc(1, sizeof(*m));

	REQUIRE(m);
	m->until_failure = -1;
	m->words[WEIR_MAGIC / 4] = WEIR_MAGIC_VALUE;
	m->words[WEIR_VERSION / 4] = 1 << 8;
	m->words[WEIR_FEATURES / 4] = 1 << 17 | 1 << 16 | WEIR_FEATURES_POLICIES_MASK;
	m->words[WEIR_PARAMS / 4] = 64 << 8 | 4;
	m->words[WEIR_CELLS / 4] = 2048;
	m->words[WEIR_DESCRIPTORS / 4] = 2048;
	m->words[WEIR_CLOCK_HZ / 4] = 156250000;
	m->words[WEIR_CELL_BYTES / 4] = 64;
	m->words[WEIR_SHARED_CELLS / 4] = 2047;
	m->words[WEIR_TRACE_LEVEL / 4] = 1;
	return m;
}

static struct weir_queue_config red(void)
{
	struct weir_queue_config config;

	REQUIRE(!weir_queue_defaults(WEIR_POLICY_RED, &config));
	REQUIRE(!weir_queue_set(&config, "limit", "100KB"));
	REQUIRE(!weir_queue_set(&config, "min", "5KB"));
	REQUIRE(!weir_queue_set(&config, "max", "15KB"));
	REQUIRE(!weir_queue_set(&config, "ecn", NULL));
	REQUIRE(!weir_queue_set(&config, "reserve", "6400b"));
	return config;
}

/* Every call that talks to the device; answers the first failure. */
static int everything(struct weir *w)
{
	static const uint8_t map[64] = { 1, 2, 3 };
	const struct weir_shaper shaper = { 1e9, NAN, NAN };
	struct weir_queue_config config = red(), read;
	struct weir_counters counters;
	struct weir_core_counters core_counters;
	struct weir_jumbo jumbo = { WEIR_JUMBO_SPLIT, 0, 0, 0, 0, 0 }, jumbo_read;
	struct weir_trace_record record;
	struct weir_live live;
	struct weir_core_live core_live;
	struct weir_shaper shaper_read;
	uint8_t map_read[64];
	unsigned int value;
	int status;

#define TRY(call)               \
	do {                    \
		status = call;  \
		if (status < 0) \
			return status; \
	} while (0)
	TRY(weir_queue_apply(w, 1, &config));
	TRY(weir_queue_read(w, 1, &read));
	TRY(weir_queue_check(w, 1, &read));
	for (int policy = 0; weir_policy_at((size_t)policy); policy++) {
		struct weir_queue_config other;

		REQUIRE(!weir_queue_defaults(policy, &other));
		TRY(weir_queue_apply(w, 2, &other));
		TRY(weir_queue_read(w, 2, &other));
		REQUIRE(other.policy == policy);
	}
	REQUIRE(read.red.min == 5120 && read.red.max == 15360 && read.red.ecn == 1 && read.reserve == 100);
	TRY(weir_shape(w, &shaper));
	TRY(weir_shape_read(w, &shaper_read));
	REQUIRE(shaper_read.rate == 1e9 && shaper_read.burst == 1538 && shaper_read.overhead == 24);
	TRY(weir_set_dscp_map(w, map));
	TRY(weir_get_dscp_map(w, map_read));
	REQUIRE(!memcmp(map, map_read, 64));
	TRY(weir_set_default_queue(w, 3));
	TRY(weir_get_default_queue(w, &value));
	TRY(weir_set_max_frame(w, 1518));
	TRY(weir_get_max_frame(w, &value));
	REQUIRE(value == 1518);
	TRY(weir_set_jumbo(w, &jumbo));
	TRY(weir_get_jumbo(w, &jumbo_read));
	REQUIRE(jumbo_read.mode == WEIR_JUMBO_SPLIT && jumbo_read.ethertype == 0x88B5 && jumbo_read.protocol == 253);
	TRY(weir_get_shared_cells(w, &value));
	REQUIRE(value == 2047 - 100);
	TRY(weir_seed(w, UINT64_MAX));
	TRY(weir_fix_draw(w, 0xFFFFFF));
	TRY(weir_fix_draw(w, -1));
	TRY(weir_reset(w));
	TRY(weir_snapshot(w));
	TRY(weir_counters(w, 3, &counters));
	TRY(weir_core_counters(w, &core_counters));
	TRY(weir_live(w, 3, &live));
	TRY(weir_core_live(w, &core_live));
	TRY(weir_trace_control(w, 1, 15, WEIR_TRACE_ARRIVALS | WEIR_TRACE_TICKS));
	TRY(weir_trace_level(w, &value));
	TRY(weir_trace_read(w, &record));
	REQUIRE(status == 1);
	TRY(weir_core_apply(w));
	return 0;
}

static void opens_only_what_is_a_core(void)
{
	struct memory *m = new_memory();
	struct weir_bus bus = { m, rd, wr }, half = { m, rd, NULL };
	struct weir *w;

	REQUIRE(weir_open_bus(&half, &w) == WEIR_E_DEVICE && !w);
	REQUIRE(weir_open_bus(NULL, &w) == WEIR_E_DEVICE && !w);
	m->words[0]++;
	REQUIRE(weir_open_bus(&bus, &w) == WEIR_E_DEVICE && !w);
	m->words[0]--;
	for (long n = 0;; n++) {
		int status;

		m->until_failure = n;
		status = weir_open_bus(&bus, &w);
		if (!status)
			break;
		REQUIRE(status == WEIR_E_BUS && !w && strstr(weir_error(), "reading register"));
	}
	weir_close(w);
	weir_close(NULL);
	free(m);
}

static void survives_a_failure_of_every_access(void)
{
	long failures = 0;

	for (long n = 0;; n++) {
		struct memory *m = new_memory();
		struct weir_bus bus = { m, rd, wr };
		struct weir *w;
		int status;

		REQUIRE(!weir_open_bus(&bus, &w));
		m->until_failure = n;
		status = everything(w);
		weir_close(w);
		free(m);
		if (!status)
			break;
		REQUIRE(status == WEIR_E_BUS);
		failures++;
	}
	REQUIRE(failures > 250);
}

/* Numbers that no text can give, in every field of every policy, in every combination with another. */
static void takes_any_number(void)
{
	static const double odd[] = { NAN, INFINITY, -INFINITY, 0, -0.0, -1, 0.5, 1, 1e-310, 1e308, -1e308, 2097151, 4294967296.0 };
	const size_t n = sizeof(odd) / sizeof(odd[0]);
	struct weir_capabilities caps;
	struct weir_queue_registers registers;
	struct weir_queue_config c, back;
	size_t accepted = 0, refused = 0;

	weir_capabilities_full(&caps);
	REQUIRE(!weir_queue_defaults(WEIR_POLICY_RED, &c));
	double *fields[] = { &c.limit, &c.limit_bytes, &c.limit_packets, &c.reserve, &c.quantum, &c.red.min, &c.red.max,
			     &c.red.probability, &c.red.weight, &c.red.burst, &c.red.avpkt, &c.red.bandwidth,
			     &c.isred.slope, &c.isred.gain, &c.ared.interval, &c.ared.low, &c.ared.high, &c.ared.bottom,
			     &c.ared.top, &c.ared.alpha, &c.ared.beta, &c.dt_ecn.utilisation, &c.dt_ecn.threshold,
			     &c.fn.window, &c.fn.t, &c.fn.qopt, &c.fn.capacity, &c.fn.mean, &c.pie.target, &c.pie.tupdate,
			     &c.pie.alpha, &c.pie.beta, &c.pie.burst, &c.pie.mark_ecnth, &c.pie.bypass, &c.codel.target,
			     &c.codel.interval, &c.codel.maxpacket, &c.codel.ce_threshold, &c.pi2.target, &c.pi2.tupdate,
			     &c.pi2.alpha, &c.pi2.beta, &c.pi2.step_thresh, &c.pi2.coupling_factor, &c.pi2.p_cmax,
			     &c.pi2.coupled };
	/* the fields of each policy beyond the five common ones: begin and end of one or two ranges */
	static const size_t own[9][4] = { { 0 }, { 5, 12 }, { 21, 23 }, { 5, 14 }, { 23, 28 }, { 5, 12, 14, 21 },
					  { 28, 35 }, { 35, 39 }, { 39, 47 } };

	for (int policy = 0; weir_policy_at((size_t)policy); policy++)
		for (size_t a = 0; a < sizeof(fields) / sizeof(fields[0]); a++)
			for (size_t b = 0; b < sizeof(fields) / sizeof(fields[0]); b++)
				for (size_t i = 0; i < n * n; i++) {
					const size_t *o = own[policy];
#define IS_OWN(f) ((f) < 5 || ((f) >= o[0] && (f) < o[1]) || ((f) >= o[2] && (f) < o[3]))

					if (!IS_OWN(a) || !IS_OWN(b))
						break;
					c = red();
					c.policy = policy;
					*fields[a] = odd[i / n];
					*fields[b] = odd[i % n];
					c.unit = (int)(i % 3);
					c.fn.quadratic = (int)(i % 2);
					if (weir_convert_queue(&caps, &c, &registers)) {
						refused++;
						continue;
					}
					accepted++;
					REQUIRE(registers.count <= WEIR_QUEUE_WORDS);
					REQUIRE(!weir_convert_queue_back(&caps, &registers, &back));
				}
	REQUIRE(accepted > 100 && refused > 1000);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < n; j++)
			for (size_t k = 0; k < n; k++) {
				const struct weir_shaper shaper = { odd[i], odd[j], odd[k] };
				struct weir_shaper_registers r;
				double weight;

				if (!weir_convert_shaper(&caps, &shaper, &r))
					REQUIRE(r.cost < UINT64_C(1) << 36);
				(void)weir_weight_from_burst(odd[i], odd[j], &weight);
				(void)weir_from_scaled(weir_to_scaled(odd[k]));
			}
}

/* Whatever is in the registers is read back without a fault. */
static void reads_any_registers(void)
{
	struct memory *m = new_memory();
	struct weir_bus bus = { m, rd, wr };
	struct weir_queue_config config;
	struct weir_shaper shaper;
	struct weir_trace_record record;
	uint32_t words[WEIR_RECORD_WORDS], state = 1;
	struct weir *w;

	REQUIRE(!weir_open_bus(&bus, &w));
	for (int round = 0; round < 20000; round++) {
		for (uint32_t i = 0; i < 0x200 / 4; i++)
			m->words[WEIR_Q_BASE / 4 + i] = m->words[(WEIR_Q_BASE + WEIR_Q_STRIDE) / 4 + i] = state = state * 1664525U + 1013904223U;
		m->words[WEIR_Q_BASE / 4] = (m->words[WEIR_Q_BASE / 4] & ~15U) | (uint32_t)round % 16;
		for (uint32_t i = WEIR_MAX_FRAME / 4; i < 0x60 / 4; i++)
			m->words[i] = state = state * 1664525U + 1013904223U;
		if (!weir_queue_read(w, 0, &config))
			(void)weir_queue_check(w, 0, &config);
		REQUIRE(!weir_shape_read(w, &shaper));
		for (int i = 0; i < WEIR_RECORD_WORDS; i++)
			words[i] = state = state * 1664525U + 1013904223U;
		weir_trace_decode(words, &record);
	}
	weir_close(w);
	free(m);
}

/* Long and odd texts. */
static void parses_any_text(void)
{
	char text[600];
	struct weir_queue_config config = red();
	double value;
	int flag;

	memset(text, '9', sizeof(text));
	for (size_t length = 0; length < sizeof(text); length++) {
		text[length] = '\0';
		(void)weir_parse_size(text, &value);
		(void)weir_parse_rate(text, &value);
		(void)weir_parse_number(text, &value);
		(void)weir_parse_flag(text, &flag);
		(void)weir_queue_set(&config, text, text);
		(void)weir_queue_set(&config, "min", text);
		(void)weir_queue_set(&config, "spread", text);
		(void)weir_policy_by_name(text);
		text[length] = "9.e-kKbB%x\x80 "[length % 13];
	}
	REQUIRE(weir_parse_size(NULL, &value) == WEIR_E_SYNTAX);
	REQUIRE(weir_parse_flag(NULL, &flag) == WEIR_E_SYNTAX);
	REQUIRE(weir_policy_by_name(NULL) == WEIR_E_UNKNOWN);
	REQUIRE(weir_queue_set(&config, NULL, "1") == WEIR_E_UNKNOWN);
	config.policy = 99;
	REQUIRE(weir_queue_set(&config, "min", "1") == WEIR_E_UNKNOWN);
	REQUIRE(weir_queue_defaults(-1, &config) == WEIR_E_UNKNOWN);
}

static void *in_thread(void *handle)
{
	struct weir_queue_config config = red();

	for (int i = 0; i < 300; i++) {
		REQUIRE(!weir_queue_apply(handle, 1, &config));
		REQUIRE(weir_parse_rate("?", &config.red.bandwidth) == WEIR_E_SYNTAX && strstr(weir_error(), "'?' is not a rate"));
	}
	return NULL;
}

static void serves_threads(void)
{
	struct memory *m = new_memory();
	struct weir_bus bus = { m, rd, wr };
	pthread_t threads[4];
	struct weir *w;

	REQUIRE(!weir_open_bus(&bus, &w));
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_create(&threads[i], NULL, in_thread, w));
	for (int i = 0; i < 4; i++)
		REQUIRE(!pthread_join(threads[i], NULL));
	weir_close(w);
	free(m);
}

int main(void)
{
	opens_only_what_is_a_core();
	survives_a_failure_of_every_access();
	takes_any_number();
	reads_any_registers();
	parses_any_text();
	serves_threads();
	puts("6 parts passed");
	return 0;
}
