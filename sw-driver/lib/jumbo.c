/* Jumbo frames: what becomes of those that arrive, which packets are merged. Wire format: docs/jumbo.md. */
#include "device.h"
#include "weir_regs.h"

#include <string.h>

#define ETHERTYPE 0x88B5U /* for local experiments, IEEE 802 */
#define ETHERTYPE_LEAST 0x0600U
#define PROTOCOL 253U /* for experiments, RFC 3692 */
#define PROTOCOL_LEAST 146U
#define PROTOCOL_MOST 254U
#define TICK 6U
#define TICK_MOST 16U
#define MAX_BYTES 9216U
#define MAX_SUM 8960U
#define MAX_COUNT 448U

int weir_splits(const struct weir *w)
{
	return (int)WEIR_TAKE(WEIR_FEATURES_SPLIT, w->caps.features);
}

int weir_merges(const struct weir *w)
{
	return (int)WEIR_TAKE(WEIR_FEATURES_MERGE, w->caps.features);
}

static int check(const struct weir_jumbo *jumbo)
{
	static const unsigned int taken[] = { 0x0800, 0x86DD, 0x8100, 0x88A8 };

	if (jumbo->mode != WEIR_JUMBO_OPAQUE && jumbo->mode != WEIR_JUMBO_SPLIT)
		return weir_fail(WEIR_E_RANGE, "jumbo mode %d is out of range: allowed is 0 (opaque) or 1 (split); try 1",
				 jumbo->mode);
	if (jumbo->ethertype < ETHERTYPE_LEAST || jumbo->ethertype > 0xFFFF)
		return weir_fail(WEIR_E_RANGE, "jumbo ethertype 0x%04X is out of range: allowed is 0x%04X to 0xFFFF; try 0x%04X",
				 jumbo->ethertype, ETHERTYPE_LEAST, ETHERTYPE);
	for (size_t i = 0; i < WEIR_LENGTH(taken); i++)
		if (jumbo->ethertype == taken[i])
			return weir_fail(WEIR_E_RANGE,
					 "jumbo ethertype 0x%04X belongs to IP or to VLAN tags: allowed is any other; try 0x%04X",
					 jumbo->ethertype, ETHERTYPE);
	if (jumbo->protocol < PROTOCOL_LEAST || jumbo->protocol > PROTOCOL_MOST)
		return weir_fail(WEIR_E_RANGE,
				 "jumbo protocol %u is out of range: allowed is %u to %u, which no other protocol has; try %u",
				 jumbo->protocol, PROTOCOL_LEAST, PROTOCOL_MOST, PROTOCOL);
	if (jumbo->tick < 1 || jumbo->tick > TICK_MOST)
		return weir_fail(WEIR_E_RANGE, "jumbo tick %u is out of range: allowed is 1 to %u (log2 of ns); try %u",
				 jumbo->tick, TICK_MOST, TICK);
	return WEIR_OK;
}

static int set(struct weir *w, const struct weir_jumbo *wanted)
{
	struct weir_jumbo jumbo = *wanted;
	int status;

	if (!jumbo.ethertype)
		jumbo.ethertype = ETHERTYPE;
	if (!jumbo.protocol)
		jumbo.protocol = PROTOCOL;
	if (!jumbo.tick)
		jumbo.tick = TICK;
	status = check(&jumbo);
	if (status)
		return status;
	if (!weir_splits(w)) {
		if (jumbo.mode == WEIR_JUMBO_OPAQUE && !jumbo.l3)
			return WEIR_OK;
		return weir_fail(WEIR_E_UNSUPPORTED,
				 "this core knows no jumbo frames, and can neither split nor build them; use a preset that does");
	}
	status = weir_wr(w, WEIR_JUMBO_TYPE,
			 (uint32_t)jumbo.ethertype << WEIR_JUMBO_TYPE_ETHERTYPE_SHIFT |
				 (uint32_t)jumbo.protocol << WEIR_JUMBO_TYPE_PROTOCOL_SHIFT);
	if (!status)
		status = weir_wr(w, WEIR_JUMBO,
				 (uint32_t)jumbo.mode << WEIR_JUMBO_MODE_SHIFT | (jumbo.l3 ? 1U : 0U) << WEIR_JUMBO_FORM_SHIFT |
					 (uint32_t)jumbo.tick << WEIR_JUMBO_TICK_SHIFT);
	return status ? status : weir_take_core(w);
}

int weir_set_jumbo(struct weir *w, const struct weir_jumbo *jumbo)
{
	LOCKED(w, set(w, jumbo));
}

static int get(struct weir *w, struct weir_jumbo *jumbo)
{
	uint32_t mode = WEIR_JUMBO_OPAQUE, type = 0;
	int status = WEIR_OK;

	if (weir_splits(w)) {
		status = weir_rd(w, WEIR_JUMBO, &mode);
		if (!status)
			status = weir_rd(w, WEIR_JUMBO_TYPE, &type);
	}
	if (status)
		return status;
	jumbo->mode = WEIR_TAKE(WEIR_JUMBO_MODE, mode) == WEIR_JUMBO_SPLIT ? WEIR_JUMBO_SPLIT : WEIR_JUMBO_OPAQUE;
	jumbo->ethertype = WEIR_TAKE(WEIR_JUMBO_TYPE_ETHERTYPE, type);
	jumbo->protocol = WEIR_TAKE(WEIR_JUMBO_TYPE_PROTOCOL, type);
	jumbo->l3 = (int)WEIR_TAKE(WEIR_JUMBO_FORM, mode);
	jumbo->tick = WEIR_TAKE(WEIR_JUMBO_TICK, mode);
	return WEIR_OK;
}

int weir_get_jumbo(struct weir *w, struct weir_jumbo *jumbo)
{
	LOCKED(w, get(w, jumbo));
}

int weir_parse_jumbo_mode(const char *text, int *mode)
{
	static const char *const names[] = { "opaque", "split" };

	for (size_t i = 0; i < WEIR_LENGTH(names); i++)
		if (!strcmp(text, names[i])) {
			*mode = (int)i;
			return WEIR_OK;
		}
	return weir_fail(WEIR_E_UNKNOWN, "jumbo mode '%s' is not known; allowed is opaque or split", text);
}

static int check_limit(const char *name, unsigned int value, unsigned int least, unsigned int most)
{
	if (value >= least && value <= most)
		return WEIR_OK;
	return weir_fail(WEIR_E_RANGE, "merge %s %u is out of range: allowed is %u to %u; try %u", name, value, least, most, most);
}

static int set_merge(struct weir *w, unsigned int queue, const struct weir_merge *wanted)
{
	struct weir_merge merge = *wanted;
	int status = weir_check_queue(w, queue);

	if (!merge.max_bytes)
		merge.max_bytes = MAX_BYTES;
	if (!merge.max_sum)
		merge.max_sum = MAX_SUM;
	if (!merge.max_count)
		merge.max_count = MAX_COUNT;
	if (!status && merge.mode != WEIR_MERGE_OFF && merge.mode != WEIR_MERGE_FLOW)
		status = weir_fail(WEIR_E_RANGE, "merge mode %d is out of range: allowed is 0 (off) or 1 (flow); try 1", merge.mode);
	if (!status)
		status = check_limit("max_bytes", merge.max_bytes, 64, MAX_BYTES);
	if (!status)
		status = check_limit("max_sum", merge.max_sum, 40, MAX_SUM);
	if (!status)
		status = check_limit("max_count", merge.max_count, 2, MAX_COUNT);
	if (status)
		return status;
	if (!weir_merges(w)) {
		if (merge.mode == WEIR_MERGE_OFF)
			return WEIR_OK;
		return weir_fail(WEIR_E_UNSUPPORTED, "this core cannot merge packets; use a preset that is built with jumbo frames");
	}
	status = weir_wr_queue(w, queue, WEIR_Q_MERGE_MAX_BYTES, merge.max_bytes);
	if (!status)
		status = weir_wr_queue(w, queue, WEIR_Q_MERGE_MAX_SUM, merge.max_sum);
	if (!status)
		status = weir_wr_queue(w, queue, WEIR_Q_MERGE_MAX_COUNT, merge.max_count);
	if (!status)
		status = weir_wr_queue(w, queue, WEIR_Q_MERGE, (uint32_t)merge.mode << WEIR_Q_MERGE_MODE_SHIFT);
	return status ? status : weir_take_queue(w, queue);
}

int weir_set_merge(struct weir *w, unsigned int queue, const struct weir_merge *merge)
{
	LOCKED(w, set_merge(w, queue, merge));
}

static int get_merge(struct weir *w, unsigned int queue, struct weir_merge *merge)
{
	uint32_t mode = WEIR_MERGE_OFF, bytes = 0, sum = 0, count = 0;
	int status = weir_check_queue(w, queue);

	if (!status && weir_merges(w)) {
		status = weir_rd_queue(w, queue, WEIR_Q_MERGE, &mode);
		if (!status)
			status = weir_rd_queue(w, queue, WEIR_Q_MERGE_MAX_BYTES, &bytes);
		if (!status)
			status = weir_rd_queue(w, queue, WEIR_Q_MERGE_MAX_SUM, &sum);
		if (!status)
			status = weir_rd_queue(w, queue, WEIR_Q_MERGE_MAX_COUNT, &count);
	}
	if (status)
		return status;
	merge->mode = WEIR_TAKE(WEIR_Q_MERGE_MODE, mode) == WEIR_MERGE_FLOW ? WEIR_MERGE_FLOW : WEIR_MERGE_OFF;
	merge->max_bytes = bytes;
	merge->max_sum = sum;
	merge->max_count = count;
	return WEIR_OK;
}

int weir_get_merge(struct weir *w, unsigned int queue, struct weir_merge *merge)
{
	LOCKED(w, get_merge(w, queue, merge));
}

int weir_parse_merge_mode(const char *text, int *mode)
{
	static const char *const names[] = { "off", "flow" };

	for (size_t i = 0; i < WEIR_LENGTH(names); i++)
		if (!strcmp(text, names[i])) {
			*mode = (int)i;
			return WEIR_OK;
		}
	return weir_fail(WEIR_E_UNKNOWN, "merge mode '%s' is not known; allowed is off or flow", text);
}
