/* What belongs to the core as a whole: shaper, classification, random source, reset. */
#include "device.h"

#include <math.h>

int weir_read_shaper(struct weir *w, struct weir_shaper *shaper)
{
	struct weir_shaper_registers r = { 0, 0, 0, 0 };
	uint32_t overhead;
	int status = weir_rd64(w, WEIR_SHAPER_COST_LO, &r.cost);

	if (!status)
		status = weir_rd(w, WEIR_SHAPER_BURST, &r.burst);
	if (!status)
		status = weir_rd(w, WEIR_SHAPER_OVERHEAD, &overhead);
	if (status)
		return status;
	r.overhead = (int16_t)(uint16_t)WEIR_TAKE(WEIR_SHAPER_OVERHEAD_BYTES, overhead);
	r.mpu = WEIR_TAKE(WEIR_SHAPER_OVERHEAD_MPU, overhead);
	weir_convert_shaper_back(&w->caps, &r, shaper);
	return WEIR_OK;
}

void weir_learn_link_rate(struct weir *w, const struct weir_shaper *shaper)
{
	w->caps.link_rate = shaper->rate > 0 ? fmin(shaper->rate, w->caps.line_rate) : w->caps.line_rate;
}

int weir_take_core(struct weir *w)
{
	return weir_write_core(w, 0, NULL, 0);
}

/* Words and CORE_APPLY are one request. */
int weir_write_core(struct weir *w, uint32_t address, const uint32_t *values, uint32_t count)
{
	uint32_t copy[8], one = WEIR_ONE;
	const struct weir_access list[] = {
		{ address, count, copy, true },
		{ WEIR_CORE_APPLY, 1, &one, true },
	};
	int status;

	for (uint32_t i = 0; i < count; i++)
		copy[i] = values[i];
	status = weir_transfer(w, count ? list : list + 1, count ? 2 : 1);
	return status ? status : weir_wait_low(w, WEIR_PLACED(WEIR_STATUS_APPLY_BUSY), "CORE_APPLY");
}

static int shape(struct weir *w, const struct weir_shaper *shaper)
{
	struct weir_shaper_registers r;
	struct weir_shaper written;
	int status = weir_convert_shaper(&w->caps, shaper, &r);

	if (!status) {
		const uint32_t words[] = { (uint32_t)r.cost, (uint32_t)(r.cost >> 32), r.burst,
					   r.mpu << WEIR_SHAPER_OVERHEAD_MPU_SHIFT | (uint16_t)r.overhead };

		_Static_assert(WEIR_SHAPER_OVERHEAD - WEIR_SHAPER_COST_LO == 12, "four registers in a row");
		status = weir_write_core(w, WEIR_SHAPER_COST_LO, words, WEIR_LENGTH(words));
	}
	if (!status) {
		weir_convert_shaper_back(&w->caps, &r, &written);
		weir_learn_link_rate(w, &written);
	}
	return status;
}

int weir_shape(struct weir *w, const struct weir_shaper *shaper)
{
	EXCLUSIVE(w, shape(w, shaper));
}

int weir_shape_read(struct weir *w, struct weir_shaper *shaper)
{
	LOCKED(w, weir_read_shaper(w, shaper));
}

static int set_dscp_map(struct weir *w, const uint8_t map[64])
{
	uint32_t words[8] = { 0 };

	for (unsigned int dscp = 0; dscp < 64; dscp++) {
		if (map[dscp] >= w->caps.queues)
			return weir_fail(WEIR_E_RANGE,
					 "queue %u of DSCP %u is out of range: allowed is 0 to %u; this core has %u", map[dscp],
					 dscp, (unsigned int)w->caps.queues - 1, (unsigned int)w->caps.queues);
		words[dscp / 8] |= (uint32_t)map[dscp] << 4 * (dscp % 8);
	}
	return weir_write_core(w, WEIR_DSCP_MAP0, words, WEIR_LENGTH(words));
}

int weir_set_dscp_map(struct weir *w, const uint8_t map[64])
{
	EXCLUSIVE(w, set_dscp_map(w, map));
}

static int get_dscp_map(struct weir *w, uint8_t map[64])
{
	uint32_t words[8];
	const struct weir_access access = { WEIR_DSCP_MAP0, WEIR_LENGTH(words), words, false };
	int status = weir_transfer(w, &access, 1);

	for (uint32_t dscp = 0; dscp < 64 && !status; dscp++)
		map[dscp] = (uint8_t)(words[dscp / 8] >> 4 * (dscp % 8) & 15);
	return status;
}

int weir_get_dscp_map(struct weir *w, uint8_t map[64])
{
	LOCKED(w, get_dscp_map(w, map));
}

static int set_default_queue(struct weir *w, unsigned int queue)
{
	int status = weir_check_queue(w, queue);

	return status ? status : weir_write_core(w, WEIR_DEFAULT_QUEUE, &queue, 1);
}

int weir_set_default_queue(struct weir *w, unsigned int queue)
{
	EXCLUSIVE(w, set_default_queue(w, queue));
}

int weir_get_default_queue(struct weir *w, unsigned int *queue)
{
	LOCKED(w, weir_rd(w, WEIR_DEFAULT_QUEUE, queue));
}

static int set_max_frame(struct weir *w, unsigned int bytes)
{
	int status = weir_check_range("max_frame", bytes, 64, 9216, "bytes", "9216 is the longest frame of the core");

	return status ? status : weir_write_core(w, WEIR_MAX_FRAME, &bytes, 1);
}

int weir_set_max_frame(struct weir *w, unsigned int bytes)
{
	EXCLUSIVE(w, set_max_frame(w, bytes));
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
	EXCLUSIVE(w, weir_take_core(w));
}

static int set_seed(struct weir *w, uint64_t seed)
{
	uint32_t words[] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
	const struct weir_access access = { WEIR_LFSR_SEED_LO, 2, words, true };

	return weir_transfer(w, &access, 1);
}

int weir_seed(struct weir *w, uint64_t seed)
{
	LOCKED(w, set_seed(w, seed));
}

static int fix_draw(struct weir *w, int32_t draw)
{
	uint32_t value = 0;

	if (draw > (int32_t)WEIR_LFSR_FIXED_VALUE_MASK)
		return weir_fail(WEIR_E_RANGE, "draw %d is out of range: allowed is 0 to %d; it is u * 2^24", (int)draw,
				 (int)WEIR_LFSR_FIXED_VALUE_MASK);
	if (draw >= 0)
		value = (uint32_t)draw << WEIR_LFSR_FIXED_VALUE_SHIFT | WEIR_PLACED(WEIR_LFSR_FIXED_ENABLE);
	return weir_write_core(w, WEIR_LFSR_FIXED, &value, 1);
}

int weir_fix_draw(struct weir *w, int32_t draw)
{
	EXCLUSIVE(w, fix_draw(w, draw));
}

static int reset(struct weir *w)
{
	int status = weir_wr(w, WEIR_CTRL, WEIR_PLACED(WEIR_CTRL_RESET));

	return status ? status : weir_wait_low(w, WEIR_PLACED(WEIR_STATUS_RESETTING), "the reset");
}

int weir_reset(struct weir *w)
{
	EXCLUSIVE(w, reset(w));
}

