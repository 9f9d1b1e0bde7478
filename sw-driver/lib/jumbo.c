/* Jumbo frames: what becomes of those that arrive, the form of those that are built. Wire format: docs/jumbo.md. */
#include "device.h"

#include <math.h>
#include <string.h>

#define ETHERTYPE 0x88B5U /* for local experiments, IEEE 802 */
#define ETHERTYPE_LEAST 0x0600U
#define PROTOCOL 253U /* for experiments, RFC 3692 */
#define PROTOCOL_LEAST 146U
#define PROTOCOL_MOST 254U
#define TICK 6U
#define TICK_MOST 16U
#define SPACING_LEAST 0.001
#define SPACING_MOST 1e6
#define SPACING_LIMIT 1000000U /* ns, as of reset */

int weir_splits(const struct weir *w)
{
	return (int)WEIR_TAKE(WEIR_FEATURES_SPLIT, w->caps.features);
}

static int check(const struct weir_jumbo *jumbo)
{
	static const unsigned int taken[] = { 0x0800, 0x86DD, 0x8100, 0x88A8 };

	if (jumbo->mode < WEIR_JUMBO_OPAQUE || jumbo->mode > WEIR_JUMBO_TRANSIT)
		return weir_fail(WEIR_E_RANGE, "jumbo mode %d is out of range: allowed is 0 (opaque), 1 (split) or 2 (transit); try 1",
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
	if (jumbo->spacing != 0 && !(jumbo->spacing >= SPACING_LEAST && jumbo->spacing <= SPACING_MOST))
		return weir_fail(WEIR_E_RANGE, "jumbo spacing %s is out of range: allowed is 1ns to 1s, 0 for none; try 1ms",
				 weir_show_bound(jumbo->spacing, "us", round).s);
	if (jumbo->spacing != 0 && jumbo->mode != WEIR_JUMBO_SPLIT)
		return weir_fail(WEIR_E_RANGE, "jumbo spacing %s: only packets that are split wait for their spacing; set mode split",
				 weir_show_bound(jumbo->spacing, "us", round).s);
	return WEIR_OK;
}

/* Words and CORE_APPLY are one request. */
static int write_jumbo(struct weir *w, uint32_t words[2], uint32_t spacing)
{
	uint32_t one = WEIR_ONE;
	const struct weir_access list[] = {
		{ WEIR_JUMBO, 2, words, true },
		{ WEIR_SPACING, 1, &spacing, true },
		{ WEIR_CORE_APPLY, 1, &one, true },
	};

	int status = weir_transfer(w, list, WEIR_LENGTH(list));

	return status ? status : weir_wait_low(w, WEIR_PLACED(WEIR_STATUS_APPLY_BUSY), "CORE_APPLY");
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
				 "this core cannot split jumbo frames, nor build them; use a preset that is built with them");
	}
	uint32_t words[] = {
		(uint32_t)jumbo.mode << WEIR_JUMBO_MODE_SHIFT | (jumbo.l3 ? 1U : 0U) << WEIR_JUMBO_FORM_SHIFT |
			(uint32_t)jumbo.tick << WEIR_JUMBO_TICK_SHIFT,
		(uint32_t)jumbo.ethertype << WEIR_JUMBO_TYPE_ETHERTYPE_SHIFT |
			(uint32_t)jumbo.protocol << WEIR_JUMBO_TYPE_PROTOCOL_SHIFT,
	};

	const uint32_t spacing = jumbo.spacing != 0 ?
		WEIR_PLACED(WEIR_SPACING_ENABLE) | (uint32_t)lround(jumbo.spacing * 1000) << WEIR_SPACING_LIMIT_SHIFT : SPACING_LIMIT;

	_Static_assert(WEIR_JUMBO_TYPE - WEIR_JUMBO == 4, "two registers in a row");
	return write_jumbo(w, words, spacing);
}

int weir_set_jumbo(struct weir *w, const struct weir_jumbo *jumbo)
{
	EXCLUSIVE(w, set(w, jumbo));
}

static int get(struct weir *w, struct weir_jumbo *jumbo)
{
	uint32_t mode = WEIR_JUMBO_OPAQUE, type = 0, spacing = 0;
	int status = WEIR_OK;

	if (weir_splits(w)) {
		status = weir_rd(w, WEIR_JUMBO, &mode);
		if (!status)
			status = weir_rd(w, WEIR_JUMBO_TYPE, &type);
		if (!status)
			status = weir_rd(w, WEIR_SPACING, &spacing);
	}
	if (status)
		return status;
	jumbo->mode = (int)WEIR_TAKE(WEIR_JUMBO_MODE, mode);
	if (jumbo->mode > WEIR_JUMBO_TRANSIT)
		jumbo->mode = WEIR_JUMBO_OPAQUE;
	jumbo->ethertype = WEIR_TAKE(WEIR_JUMBO_TYPE_ETHERTYPE, type);
	jumbo->protocol = WEIR_TAKE(WEIR_JUMBO_TYPE_PROTOCOL, type);
	jumbo->l3 = (int)WEIR_TAKE(WEIR_JUMBO_FORM, mode);
	jumbo->tick = WEIR_TAKE(WEIR_JUMBO_TICK, mode);
	jumbo->spacing = jumbo->mode == WEIR_JUMBO_SPLIT && WEIR_TAKE(WEIR_SPACING_ENABLE, spacing) ? WEIR_TAKE(WEIR_SPACING_LIMIT, spacing) / 1000.0 : 0;
	return WEIR_OK;
}

int weir_get_jumbo(struct weir *w, struct weir_jumbo *jumbo)
{
	LOCKED(w, get(w, jumbo));
}

int weir_parse_jumbo_mode(const char *text, int *mode)
{
	static const char *const names[] = { "opaque", "split", "transit" };

	for (size_t i = 0; i < WEIR_LENGTH(names); i++)
		if (!strcmp(text, names[i])) {
			*mode = (int)i;
			return WEIR_OK;
		}
	return weir_fail(WEIR_E_UNKNOWN, "jumbo mode '%s' is not known; allowed is opaque, split or transit", text);
}
