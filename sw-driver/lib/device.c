/* A device behind a register bus: opening, configuration, counters. Public calls hold the handle's lock. */
#define _POSIX_C_SOURCE 200809L
#include "device.h"
#include "registers_policies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_MAJOR 0U
/* Status reads before a wait is given up: the core needs at most a sweep of its counters and its free list. */
#define MOST_POLLS 200000
#define WRITE_ONE 1U

#define PLACED(name) ((uint32_t)name##_MASK << name##_SHIFT)

int weir_rd(struct weir *w, uint32_t address, uint32_t *value)
{
	int status = w->bus.read(w->bus.ctx, address, value);

	if (status)
		return weir_fail(WEIR_E_BUS, "reading register 0x%04X failed (bus status %d); check that the device is there",
				 (unsigned int)address, status);
	return WEIR_OK;
}

int weir_wr(struct weir *w, uint32_t address, uint32_t value)
{
	int status = w->bus.write(w->bus.ctx, address, value);

	if (status)
		return weir_fail(WEIR_E_BUS,
				 "writing 0x%08X to register 0x%04X failed (bus status %d); check that the device is there",
				 (unsigned int)value, (unsigned int)address, status);
	return WEIR_OK;
}

static int rd64(struct weir *w, uint32_t address, uint64_t *value)
{
	uint32_t low, high;
	int status = weir_rd(w, address, &low);

	if (!status)
		status = weir_rd(w, address + 4, &high);
	if (!status)
		*value = (uint64_t)high << 32 | low;
	return status;
}

static int wr64(struct weir *w, uint32_t address, uint64_t value)
{
	int status = weir_wr(w, address, (uint32_t)value);

	return status ? status : weir_wr(w, address + 4, (uint32_t)(value >> 32));
}

static int wait_low(struct weir *w, uint32_t mask, const char *what)
{
	uint32_t word;

	for (int i = 0; i < MOST_POLLS; i++) {
		int status = weir_rd(w, WEIR_STATUS, &word);

		if (status)
			return status;
		if (!(word & mask))
			return WEIR_OK;
	}
	return weir_fail(WEIR_E_TIMEOUT, "the core did not finish %s within %d status reads (STATUS 0x%08X); check its clock",
			 what, MOST_POLLS, (unsigned int)word);
}

static uint32_t queue_address(unsigned int queue, uint32_t offset)
{
	return WEIR_Q_BASE + queue * WEIR_Q_STRIDE + offset;
}

int weir_check_queue(struct weir *w, unsigned int queue)
{
	if (queue < w->caps.queues)
		return WEIR_OK;
	return weir_fail(WEIR_E_RANGE, "queue %u is out of range: allowed is 0 to %u; this core has %u", queue,
			 (unsigned int)w->caps.queues - 1, (unsigned int)w->caps.queues);
}

/* ---- opening ------------------------------------------------------------------------------------------- */

static int shape_read(struct weir *w, struct weir_shaper *shaper)
{
	struct weir_shaper_registers r = { 0, 0, 0 };
	uint32_t overhead;
	int status = rd64(w, WEIR_SHAPER_COST_LO, &r.cost);

	if (!status)
		status = weir_rd(w, WEIR_SHAPER_BURST, &r.burst);
	if (!status)
		status = weir_rd(w, WEIR_SHAPER_OVERHEAD, &overhead);
	if (status)
		return status;
	r.overhead = (int16_t)(uint16_t)overhead;
	weir_convert_shaper_back(&w->caps, &r, shaper);
	return WEIR_OK;
}

static void learn_link_rate(struct weir *w, const struct weir_shaper *shaper)
{
	w->caps.link_rate = shaper->rate > 0 ? fmin(shaper->rate, w->caps.line_rate) : w->caps.line_rate;
}

static int identify(struct weir *w)
{
	uint32_t magic;
	int status = weir_rd(w, WEIR_MAGIC, &magic);

	if (status)
		return status;
	if (magic != WEIR_MAGIC_VALUE)
		return weir_fail(WEIR_E_DEVICE,
				 "register 0 reads 0x%08X, a Weir core has 0x%08X (\"WEIR\"); check the address of the device",
				 (unsigned int)magic, (unsigned int)WEIR_MAGIC_VALUE);
	status = weir_rd(w, WEIR_VERSION, &w->caps.version);
	if (status)
		return status;
	if (WEIR_TAKE(WEIR_VERSION_MAJOR, w->caps.version) != KNOWN_MAJOR)
		return weir_fail(WEIR_E_DEVICE,
				 "the core's register map has version %u.%u.%u, this library knows %u.x; use a libweir of "
				 "the core's version",
				 (unsigned int)WEIR_TAKE(WEIR_VERSION_MAJOR, w->caps.version),
				 (unsigned int)WEIR_TAKE(WEIR_VERSION_MINOR, w->caps.version),
				 (unsigned int)WEIR_TAKE(WEIR_VERSION_PATCH, w->caps.version), KNOWN_MAJOR);
	return WEIR_OK;
}

static int read_capabilities(struct weir *w)
{
	struct weir_capabilities *c = &w->caps;
	struct weir_shaper shaper;
	uint32_t params;
	int status = weir_rd(w, WEIR_FEATURES, &c->features);

	if (!status)
		status = weir_rd(w, WEIR_PARAMS, &params);
	if (!status)
		status = weir_rd(w, WEIR_CELLS, &c->cells);
	if (!status)
		status = weir_rd(w, WEIR_DESCRIPTORS, &c->descriptors);
	if (!status)
		status = weir_rd(w, WEIR_CLOCK_HZ, &c->clock_hz);
	if (!status)
		status = weir_rd(w, WEIR_CELL_BYTES, &c->cell_bytes);
	if (status)
		return status;
	c->queues = WEIR_TAKE(WEIR_PARAMS_QUEUES, params);
	c->data_width = WEIR_TAKE(WEIR_PARAMS_DATA_WIDTH, params);
	c->line_rate = (double)c->data_width * c->clock_hz;
	if (c->queues < 1 || c->queues > WEIR_QUEUES_KNOWN || c->cells < 2 || c->cell_bytes < 1 || c->descriptors < 1 ||
	    c->line_rate <= 0)
		return weir_fail(WEIR_E_DEVICE,
				 "the core reports %u queues, %u cells of %u bytes, %u descriptors, %u bits at %u Hz: "
				 "allowed are 1 to %u queues and nothing that is 0; check the core's build",
				 (unsigned int)c->queues, (unsigned int)c->cells, (unsigned int)c->cell_bytes,
				 (unsigned int)c->descriptors, (unsigned int)c->data_width, (unsigned int)c->clock_hz,
				 WEIR_QUEUES_KNOWN);
	status = shape_read(w, &shaper);
	if (!status)
		learn_link_rate(w, &shaper);
	return status;
}

int weir_open_bus(const struct weir_bus *bus, struct weir **out)
{
	struct weir *w;
	int status;

	*out = NULL;
	if (!bus || !bus->read || !bus->write)
		return weir_fail(WEIR_E_DEVICE, "the bus has no read or no write function; give both");
	w = calloc(1, sizeof(*w));
	if (!w)
		return weir_fail(WEIR_E_MEMORY, "no memory for a handle of %zu bytes; free some", sizeof(*w));
	w->bus = *bus;
	if (pthread_mutex_init(&w->lock, NULL)) {
		free(w);
		return weir_fail(WEIR_E_MEMORY, "no memory for a handle's lock; free some");
	}
	status = identify(w);
	if (!status)
		status = read_capabilities(w);
	if (status) {
		weir_close(w);
		return status;
	}
	*out = w;
	return WEIR_OK;
}

void weir_close(struct weir *w)
{
	if (!w)
		return;
	pthread_mutex_destroy(&w->lock);
	free(w);
}

/* Runs `call`, an expression of type int, under the handle's lock and answers its status. */
static int copy_capabilities(struct weir *w, struct weir_capabilities *caps)
{
	*caps = w->caps;
	return WEIR_OK;
}

int weir_get_capabilities(struct weir *w, struct weir_capabilities *caps)
{
	LOCKED(w, copy_capabilities(w, caps));
}

void weir_capabilities_full(struct weir_capabilities *caps)
{
	*caps = (struct weir_capabilities){
		.features = 1U << 16,
		.queues = 4,
		.data_width = 64,
		.cells = 16384,
		.cell_bytes = 64,
		.descriptors = 16384,
		.clock_hz = 156250000,
		.line_rate = 10e9,
		.link_rate = 10e9,
	};
	const struct weir_policy_info *info;

	for (size_t i = 0; (info = weir_policy_at(i)); i++)
		caps->features |= 1U << info->id;
}

/* ---- queues -------------------------------------------------------------------------------------------- */

/* The cells that remain to be shared when `queue` reserves `reserve`. */
static int shared_cells(struct weir *w, unsigned int queue, double reserve, uint32_t *shared)
{
	double others = 0, left;
	uint32_t cells;

	for (unsigned int i = 0; i < w->caps.queues; i++) {
		int status;

		if (i == queue)
			continue;
		status = weir_rd(w, queue_address(i, WEIR_Q_RESERVE_CELLS), &cells);
		if (status)
			return status;
		others += cells;
	}
	left = (double)w->caps.cells - 1 - others;
	if (reserve > left)
		return weir_fail(WEIR_E_RANGE,
				 "reserve %s is out of range: allowed is 0 to %s cells, because the other queues reserve %s "
				 "of %s; lower one of them first",
				 weir_show_value(reserve).s, weir_show_value(fmax(left, 0)).s, weir_show_value(others).s,
				 weir_show_value((double)w->caps.cells - 1).s);
	*shared = (uint32_t)(left - reserve);
	return WEIR_OK;
}

static int prepare(struct weir *w, unsigned int queue, const struct weir_queue_config *config,
		   struct weir_queue_registers *registers, uint32_t *shared)
{
	const struct weir_policy_ops *ops = weir_policy_of(config->policy);
	int status = weir_check_queue(w, queue);

	if (!status)
		status = weir_convert_queue(&w->caps, config, registers);
	if (!status && ops->place)
		status = ops->place(w, queue, registers);
	return status ? status : shared_cells(w, queue, weir_take(registers, WEIR_Q_RESERVE_CELLS), shared);
}

static int queue_check(struct weir *w, unsigned int queue, const struct weir_queue_config *config)
{
	struct weir_queue_registers registers;
	uint32_t shared;

	return prepare(w, queue, config, &registers, &shared);
}

int weir_queue_check(struct weir *w, unsigned int queue, const struct weir_queue_config *config)
{
	LOCKED(w, queue_check(w, queue, config));
}

int weir_take_core(struct weir *w)
{
	int status = weir_wr(w, WEIR_CORE_APPLY, WRITE_ONE);

	return status ? status : wait_low(w, PLACED(WEIR_STATUS_APPLY_BUSY), "CORE_APPLY");
}

static int share_cells(struct weir *w, uint32_t shared)
{
	int status = weir_wr(w, WEIR_SHARED_CELLS, shared);

	return status ? status : weir_take_core(w);
}

int weir_rd_queue(struct weir *w, unsigned int queue, uint32_t offset, uint32_t *value)
{
	return weir_rd(w, queue_address(queue, offset), value);
}

int weir_wr_queue(struct weir *w, unsigned int queue, uint32_t offset, uint32_t value)
{
	return weir_wr(w, queue_address(queue, offset), value);
}

int weir_take_queue(struct weir *w, unsigned int queue)
{
	int status = weir_wr_queue(w, queue, WEIR_Q_APPLY, WRITE_ONE);

	return status ? status : wait_low(w, PLACED(WEIR_STATUS_APPLY_BUSY), "APPLY");
}

static int write_queue(struct weir *w, unsigned int queue, const struct weir_queue_registers *registers)
{
	int status = WEIR_OK;

	for (uint32_t i = 0; i < registers->count && !status; i++)
		status = weir_wr(w, queue_address(queue, registers->words[i].offset), registers->words[i].value);
	return status ? status : weir_take_queue(w, queue);
}

static int queue_apply(struct weir *w, unsigned int queue, const struct weir_queue_config *config)
{
	struct weir_queue_registers registers;
	uint32_t shared, shared_now;
	int status = prepare(w, queue, config, &registers, &shared);

	if (!status)
		status = weir_rd(w, WEIR_SHARED_CELLS, &shared_now);
	/* cells are never promised twice: the share shrinks before a reserve grows, and grows after it shrank */
	if (!status && shared < shared_now)
		status = share_cells(w, shared);
	if (!status)
		status = write_queue(w, queue, &registers);
	if (!status && shared > shared_now)
		status = share_cells(w, shared);
	return status;
}

int weir_queue_apply(struct weir *w, unsigned int queue, const struct weir_queue_config *config)
{
	LOCKED(w, queue_apply(w, queue, config));
}

static int queue_read(struct weir *w, unsigned int queue, struct weir_queue_config *config)
{
	const struct weir_policy_ops *ops;
	struct weir_queue_registers r;
	uint32_t word;
	int policy, status = weir_check_queue(w, queue);

	if (!status)
		status = weir_rd(w, queue_address(queue, WEIR_Q_POLICY), &word);
	if (status)
		return status;
	policy = (int)WEIR_TAKE(WEIR_Q_POLICY_POLICY, word);
	ops = weir_policy_of(policy);
	if (!ops)
		return weir_no_policy(policy);
	weir_registers_of(ops, &r);
	r.words[0].value = word;
	for (uint32_t i = 1; i < r.count && !status; i++)
		status = weir_rd(w, queue_address(queue, r.words[i].offset), &r.words[i].value);
	return status ? status : weir_convert_queue_back(&w->caps, &r, config);
}

int weir_queue_read(struct weir *w, unsigned int queue, struct weir_queue_config *config)
{
	LOCKED(w, queue_read(w, queue, config));
}

/* ---- core ---------------------------------------------------------------------------------------------- */

static int shape(struct weir *w, const struct weir_shaper *shaper)
{
	struct weir_shaper_registers r;
	struct weir_shaper written;
	int status = weir_convert_shaper(&w->caps, shaper, &r);

	if (!status)
		status = wr64(w, WEIR_SHAPER_COST_LO, r.cost);
	if (!status)
		status = weir_wr(w, WEIR_SHAPER_BURST, r.burst);
	if (!status)
		status = weir_wr(w, WEIR_SHAPER_OVERHEAD, (uint16_t)r.overhead);
	if (!status)
		status = weir_take_core(w);
	if (!status) {
		weir_convert_shaper_back(&w->caps, &r, &written);
		learn_link_rate(w, &written);
	}
	return status;
}

int weir_shape(struct weir *w, const struct weir_shaper *shaper)
{
	LOCKED(w, shape(w, shaper));
}

int weir_shape_read(struct weir *w, struct weir_shaper *shaper)
{
	LOCKED(w, shape_read(w, shaper));
}

static int set_dscp_map(struct weir *w, const uint8_t map[64])
{
	int status = WEIR_OK;

	for (unsigned int dscp = 0; dscp < 64; dscp++)
		if (map[dscp] >= w->caps.queues)
			return weir_fail(WEIR_E_RANGE,
					 "queue %u of DSCP %u is out of range: allowed is 0 to %u; this core has %u", map[dscp],
					 dscp, (unsigned int)w->caps.queues - 1, (unsigned int)w->caps.queues);
	for (uint32_t word = 0; word < 8 && !status; word++) {
		uint32_t value = 0;

		for (uint32_t k = 0; k < 8; k++)
			value |= (uint32_t)map[8 * word + k] << 4 * k;
		status = weir_wr(w, WEIR_DSCP_MAP0 + 4 * word, value);
	}
	return status ? status : weir_take_core(w);
}

int weir_set_dscp_map(struct weir *w, const uint8_t map[64])
{
	LOCKED(w, set_dscp_map(w, map));
}

static int get_dscp_map(struct weir *w, uint8_t map[64])
{
	uint32_t value;

	for (uint32_t word = 0; word < 8; word++) {
		int status = weir_rd(w, WEIR_DSCP_MAP0 + 4 * word, &value);

		if (status)
			return status;
		for (uint32_t k = 0; k < 8; k++)
			map[8 * word + k] = (uint8_t)(value >> 4 * k & 15);
	}
	return WEIR_OK;
}

int weir_get_dscp_map(struct weir *w, uint8_t map[64])
{
	LOCKED(w, get_dscp_map(w, map));
}

static int write_core(struct weir *w, uint32_t address, uint32_t value)
{
	int status = weir_wr(w, address, value);

	return status ? status : weir_take_core(w);
}

static int set_default_queue(struct weir *w, unsigned int queue)
{
	int status = weir_check_queue(w, queue);

	return status ? status : write_core(w, WEIR_DEFAULT_QUEUE, queue);
}

int weir_set_default_queue(struct weir *w, unsigned int queue)
{
	LOCKED(w, set_default_queue(w, queue));
}

int weir_get_default_queue(struct weir *w, unsigned int *queue)
{
	LOCKED(w, weir_rd(w, WEIR_DEFAULT_QUEUE, queue));
}

static int set_max_frame(struct weir *w, unsigned int bytes)
{
	int status = weir_check_range("max_frame", bytes, 64, 9216, "bytes", "9216 is the longest frame of the core");

	return status ? status : write_core(w, WEIR_MAX_FRAME, bytes);
}

int weir_set_max_frame(struct weir *w, unsigned int bytes)
{
	LOCKED(w, set_max_frame(w, bytes));
}

int weir_get_max_frame(struct weir *w, unsigned int *bytes)
{
	LOCKED(w, weir_rd(w, WEIR_MAX_FRAME, bytes));
}

int weir_get_shared_cells(struct weir *w, unsigned int *cells)
{
	LOCKED(w, weir_rd(w, WEIR_SHARED_CELLS, cells));
}

int weir_core_apply(struct weir *w)
{
	LOCKED(w, weir_take_core(w));
}

int weir_seed(struct weir *w, uint64_t seed)
{
	LOCKED(w, wr64(w, WEIR_LFSR_SEED_LO, seed));
}

static int fix_draw(struct weir *w, int32_t draw)
{
	uint32_t value = 0;

	if (draw > (int32_t)WEIR_LFSR_FIXED_VALUE_MASK)
		return weir_fail(WEIR_E_RANGE, "draw %d is out of range: allowed is 0 to %d; it is u * 2^24", (int)draw,
				 (int)WEIR_LFSR_FIXED_VALUE_MASK);
	if (draw >= 0)
		value = (uint32_t)draw << WEIR_LFSR_FIXED_VALUE_SHIFT | PLACED(WEIR_LFSR_FIXED_ENABLE);
	return write_core(w, WEIR_LFSR_FIXED, value);
}

int weir_fix_draw(struct weir *w, int32_t draw)
{
	LOCKED(w, fix_draw(w, draw));
}

static int reset(struct weir *w)
{
	int status = weir_wr(w, WEIR_CTRL, PLACED(WEIR_CTRL_RESET));

	return status ? status : wait_low(w, PLACED(WEIR_STATUS_RESETTING), "the reset");
}

int weir_reset(struct weir *w)
{
	LOCKED(w, reset(w));
}

/* ---- counters ------------------------------------------------------------------------------------------ */

static int snapshot(struct weir *w)
{
	int status = weir_wr(w, WEIR_SNAPSHOT, WRITE_ONE);

	return status ? status : wait_low(w, PLACED(WEIR_STATUS_SNAPSHOT_BUSY), "the snapshot");
}

int weir_snapshot(struct weir *w)
{
	LOCKED(w, snapshot(w));
}

struct count_at {
	uint32_t address; /* of packets; bytes are 8 above */
	size_t offset;    /* in the structure */
};

static int read_counts(struct weir *w, uint32_t base, const struct count_at *list, size_t n, void *counters)
{
	for (size_t i = 0; i < n; i++) {
		struct weir_count *count = (struct weir_count *)(void *)((char *)counters + list[i].offset);
		int status = rd64(w, base + list[i].address, &count->packets);

		if (!status)
			status = rd64(w, base + list[i].address + 8, &count->bytes);
		if (status)
			return status;
	}
	return WEIR_OK;
}

#define COUNT(name, field) { WEIR_Q_##name##_PACKETS_LO, offsetof(struct weir_counters, field) }
#define CORE_COUNT(name, field) { WEIR_##name##_PACKETS_LO, offsetof(struct weir_core_counters, field) }

static int read_counters(struct weir *w, unsigned int queue, struct weir_counters *counters)
{
	static const struct count_at list[] = {
		COUNT(IN_NOT_ECT, in_not_ect), COUNT(IN_ECT1, in_ect1), COUNT(IN_ECT0, in_ect0),
		COUNT(IN_CE, in_ce),           COUNT(EARLY, early),     COUNT(FORCED, forced),
		COUNT(OVERFLOW, overflow),     COUNT(MARKED, marked),   COUNT(ALREADY_CE, already_ce),
		COUNT(OUT, out),               COUNT(LINK_DOWN, link_down), COUNT(FRONT, front),
		COUNT(HEAD_DROPPED, head_dropped), COUNT(HEAD_MARKED, head_marked),
	};
	int status = weir_check_queue(w, queue);

	if (!status)
		status = read_counts(w, queue_address(queue, 0), list, WEIR_LENGTH(list), counters);
	if (!status) { /* OUT leaves out what HEAD_MARKED counts */
		counters->out.packets += counters->head_marked.packets;
		counters->out.bytes += counters->head_marked.bytes;
	}
	for (uint32_t bin = 0; bin < 32 && !status; bin++)
		status = rd64(w, queue_address(queue, WEIR_Q_SOJOURN0_LO + 8 * bin), &counters->sojourn[bin]);
	return status;
}

int weir_counters(struct weir *w, unsigned int queue, struct weir_counters *counters)
{
	LOCKED(w, read_counters(w, queue, counters));
}

static int read_core_counters(struct weir *w, struct weir_core_counters *counters)
{
	static const struct count_at list[] = {
		CORE_COUNT(RX, rx),     CORE_COUNT(TX, tx),
		CORE_COUNT(BAD, bad),   CORE_COUNT(RUNT, runt),
		CORE_COUNT(OVERSIZE, oversize), CORE_COUNT(INGRESS_OVERFLOW, ingress_overflow),
	};
	static const struct count_at jumbo[] = {
		CORE_COUNT(MALFORMED, malformed), CORE_COUNT(JUMBO_IN, jumbo_in),
		CORE_COUNT(SPLIT_DISCARDED, split_discarded), CORE_COUNT(RX_WIRE, rx_wire),
	};
	static const struct count_at built[] = {
		CORE_COUNT(JUMBO_OUT, jumbo_out), CORE_COUNT(MERGED, merged),
	};
	int status;

	memset(counters, 0, sizeof(*counters));
	status = read_counts(w, 0, list, WEIR_LENGTH(list), counters);
	if (!status && weir_splits(w))
		status = read_counts(w, 0, jumbo, WEIR_LENGTH(jumbo), counters);
	else
		counters->rx_wire = counters->rx;
	if (!status && weir_merges(w))
		status = read_counts(w, 0, built, WEIR_LENGTH(built), counters);
	if (!status && weir_merges(w))
		status = rd64(w, WEIR_EVICTED_PACKETS_LO, &counters->evicted);
	counters->tx_wire.packets = counters->tx.packets - counters->merged.packets + counters->jumbo_out.packets;
	counters->tx_wire.bytes = counters->tx.bytes - counters->merged.bytes + counters->jumbo_out.bytes;
	if (!status)
		status = rd64(w, WEIR_TRACE_LOST_PACKETS_LO, &counters->trace_lost);
	if (!status)
		status = rd64(w, WEIR_THROTTLED_LO, &counters->throttled_ns);
	if (!status)
		status = rd64(w, WEIR_UPTIME_LO, &counters->uptime);
	return status;
}

int weir_core_counters(struct weir *w, struct weir_core_counters *counters)
{
	LOCKED(w, read_core_counters(w, counters));
}

static int read_live(struct weir *w, unsigned int queue, struct weir_live *live)
{
	uint32_t average;
	int status = weir_check_queue(w, queue);

	if (!status)
		status = weir_rd(w, queue_address(queue, WEIR_Q_LIVE_BYTES), &live->bytes);
	if (!status)
		status = weir_rd(w, queue_address(queue, WEIR_Q_LIVE_PACKETS), &live->packets);
	if (!status)
		status = weir_rd(w, queue_address(queue, WEIR_Q_LIVE_FRAMES), &live->frames);
	if (!status)
		status = weir_rd(w, queue_address(queue, WEIR_Q_LIVE_CELLS), &live->cells);
	if (!status)
		status = weir_rd(w, queue_address(queue, WEIR_Q_LIVE_AVERAGE), &average);
	if (!status)
		status = weir_rd(w, queue_address(queue, WEIR_Q_PEAK_BYTES), &live->peak_bytes);
	if (!status)
		status = weir_rd(w, queue_address(queue, WEIR_Q_PEAK_PACKETS), &live->peak_packets);
	if (!status)
		live->average = ldexp(average, -11);
	return status;
}

int weir_live(struct weir *w, unsigned int queue, struct weir_live *live)
{
	LOCKED(w, read_live(w, queue, live));
}

static int read_core_live(struct weir *w, struct weir_core_live *live)
{
	uint32_t word;
	int status = rd64(w, WEIR_NOW_LO, &live->now_ns);

	if (!status)
		status = weir_rd(w, WEIR_FREE_CELLS, &live->free_cells);
	if (!status)
		status = weir_rd(w, WEIR_FREE_CELLS_MIN, &live->free_cells_min);
	if (!status)
		status = weir_rd(w, WEIR_HELD_PACKETS, &live->held_packets);
	if (!status)
		status = weir_rd(w, WEIR_GENERATION, &live->generation);
	if (!status)
		status = weir_rd(w, WEIR_STATUS, &word);
	if (status)
		return status;
	live->link_up = (int)WEIR_TAKE(WEIR_STATUS_LINK_UP, word);
	live->resetting = (int)WEIR_TAKE(WEIR_STATUS_RESETTING, word);
	live->quiet = (int)WEIR_TAKE(WEIR_STATUS_QUIET, word);
	live->snapshot_busy = (int)WEIR_TAKE(WEIR_STATUS_SNAPSHOT_BUSY, word);
	live->apply_busy = (int)WEIR_TAKE(WEIR_STATUS_APPLY_BUSY, word);
	return WEIR_OK;
}

int weir_core_live(struct weir *w, struct weir_core_live *live)
{
	LOCKED(w, read_core_live(w, live));
}

/* ---- registers ----------------------------------------------------------------------------------------- */

int weir_register_read(struct weir *w, uint32_t address, uint32_t *value)
{
	LOCKED(w, weir_rd(w, address, value));
}

int weir_register_write(struct weir *w, uint32_t address, uint32_t value)
{
	LOCKED(w, weir_wr(w, address, value));
}
