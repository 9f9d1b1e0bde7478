/* MRED: packets of a jumbo frame that waits pay for one that comes (docs/modules/transit.md). */
#include "device.h"

#include <math.h>

#define SHARE_ONE 4294967296.0 /* UQ0.32, whose largest value stands for 1 */
#define SLOPE_ONE 131072.0
#define THRESHOLD_ONE 2048.0 /* UQ21.11 */
#define LOW 0.025
#define HIGH 0.5
#define WORDS 4

_Static_assert(WEIR_Q_MRED_LO == WEIR_Q_MRED + 4 && WEIR_Q_MRED_HI == WEIR_Q_MRED + 8 && WEIR_Q_MRED_SLOPE == WEIR_Q_MRED + 12,
	       "registers in a row");

/* Rounded down: the share of a number of packets is rounded up, and must not pass a whole number by itself. */
static uint32_t share_word(double share)
{
	return (uint32_t)fmin(floor(share * SHARE_ONE), SHARE_ONE - 1);
}

static double share_of(uint32_t word)
{
	return word == UINT32_MAX ? 1 : weir_shortest(word / SHARE_ONE, word, share_word);
}

/* From the words of the shares alone, so that what is read back gives the same slope. */
static uint32_t slope_word(uint32_t low, uint32_t high, uint32_t min, uint32_t max)
{
	const double band = (max - (double)min) / THRESHOLD_ONE;

	return band > 0 ? weir_scaled_word((share_of(high) - share_of(low)) / band * SLOPE_ONE) : 0;
}

static bool of_family(int policy)
{
	return policy == WEIR_POLICY_RED || policy == WEIR_POLICY_ISRED || policy == WEIR_POLICY_ARED;
}

static int check(const struct weir_mred *mred)
{
	if (!(mred->low >= 0 && mred->low <= 1))
		return weir_fail(WEIR_E_RANGE, "mred low %s is out of range: allowed is 0 to 1; try %s",
				 weir_show_value(mred->low).s, weir_show_value(LOW).s);
	if (!(mred->high >= mred->low && mred->high <= 1))
		return weir_fail(WEIR_E_RANGE, "mred high %s is out of range: allowed is %s (low) to 1; try %s",
				 weir_show_value(mred->high).s, weir_show_value(mred->low).s,
				 weir_show_value(fmax(mred->low, HIGH)).s);
	return WEIR_OK;
}

static int in_family(struct weir *w, unsigned int queue)
{
	uint32_t word;
	int policy, status = weir_rd(w, weir_queue_address(queue, WEIR_Q_POLICY), &word);

	if (status)
		return status;
	policy = (int)WEIR_TAKE(WEIR_Q_POLICY_POLICY, word);
	if (of_family(policy))
		return WEIR_OK;
	return weir_fail(WEIR_E_UNSUPPORTED, "mred needs red, isred or ared in queue %u, which runs policy %d; replace its policy first", queue,
			 policy);
}

static int set(struct weir *w, unsigned int queue, const struct weir_mred *mred)
{
	uint32_t thresholds[2], one = WEIR_ONE, words[WORDS] = { 0 };
	const struct weir_access read = { weir_queue_address(queue, WEIR_Q_RED_MIN), 2, thresholds, false };
	const struct weir_access list[] = {
		{ weir_queue_address(queue, WEIR_Q_MRED), WORDS, words, true },
		{ weir_queue_address(queue, WEIR_Q_APPLY), 1, &one, true },
	};
	int status = weir_check_queue(w, queue);

	_Static_assert(WEIR_Q_RED_MAX == WEIR_Q_RED_MIN + 4, "two registers in a row");
	if (!status && !weir_splits(w)) {
		if (!mred->enable)
			return WEIR_OK;
		return weir_fail(WEIR_E_UNSUPPORTED, "this core knows no jumbo frames; use a preset that is built with them");
	}
	if (!status && mred->enable) {
		status = check(mred);
		if (!status)
			status = in_family(w, queue);
		if (!status)
			status = weir_transfer(w, &read, 1);
		if (!status) {
			words[0] = WEIR_Q_MRED_ENABLE_MASK << WEIR_Q_MRED_ENABLE_SHIFT;
			words[1] = share_word(mred->low);
			words[2] = share_word(mred->high);
			words[3] = slope_word(words[1], words[2], thresholds[0], thresholds[1]);
		}
	}
	if (!status)
		status = weir_transfer(w, list, WEIR_LENGTH(list));
	return status ? status : weir_wait_low(w, WEIR_PLACED(WEIR_STATUS_APPLY_BUSY), "APPLY");
}

int weir_set_mred(struct weir *w, unsigned int queue, const struct weir_mred *mred)
{
	EXCLUSIVE(w, set(w, queue, mred));
}

int weir_mred_slope(struct weir *w, unsigned int queue, const struct weir_queue_registers *registers, uint32_t *slope, bool *needed)
{
	uint32_t words[3];
	const struct weir_access access = { weir_queue_address(queue, WEIR_Q_MRED), WEIR_LENGTH(words), words, false };
	int status;

	*needed = weir_splits(w) && of_family((int)WEIR_TAKE(WEIR_Q_POLICY_POLICY, weir_take(registers, WEIR_Q_POLICY)));
	if (!*needed)
		return WEIR_OK;
	status = weir_transfer(w, &access, 1);
	if (!status) {
		*needed = WEIR_TAKE(WEIR_Q_MRED_ENABLE, words[0]);
		*slope = slope_word(words[1], words[2], weir_take(registers, WEIR_Q_RED_MIN), weir_take(registers, WEIR_Q_RED_MAX));
	}
	return status;
}

static int get(struct weir *w, unsigned int queue, struct weir_mred *mred)
{
	uint32_t words[WORDS] = { 0 };
	const struct weir_access access = { weir_queue_address(queue, WEIR_Q_MRED), WORDS, words, false };
	int status = weir_check_queue(w, queue);

	if (!status && weir_splits(w))
		status = weir_transfer(w, &access, 1);
	if (status)
		return status;
	mred->enable = (int)WEIR_TAKE(WEIR_Q_MRED_ENABLE, words[0]);
	mred->low = share_of(words[1]);
	mred->high = share_of(words[2]);
	return WEIR_OK;
}

int weir_get_mred(struct weir *w, unsigned int queue, struct weir_mred *mred)
{
	LOCKED(w, get(w, queue, mred));
}
