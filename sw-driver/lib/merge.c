/* Which packets of a queue are merged into jumbo frames (docs/modules/merge.md). */
#include "device.h"

#include <math.h>
#include <string.h>

#define MAX_BYTES 9216U
#define MAX_SUM 8960U
#define MAX_COUNT 448U
#define JFET 100.0 /* microseconds */
#define JFET_LEAST 0.001
#define JFET_MOST 1e6
#define WORDS 4

_Static_assert(WEIR_Q_MERGE_MAX_BYTES == WEIR_Q_MERGE + 4 && WEIR_Q_MERGE_MAX_SUM == WEIR_Q_MERGE + 8 &&
		       WEIR_Q_MERGE_MAX_COUNT == WEIR_Q_MERGE + 12,
	       "registers in a row");

int weir_merges(const struct weir *w)
{
	return (int)WEIR_TAKE(WEIR_FEATURES_MERGE, w->caps.features);
}

/* Words and APPLY are one request. */
static int write_merge(struct weir *w, unsigned int queue, const uint32_t *values, uint32_t jfet)
{
	uint32_t words[WORDS], one = WEIR_ONE;
	const struct weir_access list[] = {
		{ weir_queue_address(queue, WEIR_Q_MERGE_JFET), 1, &jfet, true },
		{ weir_queue_address(queue, WEIR_Q_MERGE), WORDS, words, true },
		{ weir_queue_address(queue, WEIR_Q_APPLY), 1, &one, true },
	};
	int status;

	memcpy(words, values, sizeof(words));
	status = weir_transfer(w, list, WEIR_LENGTH(list));
	return status ? status : weir_wait_low(w, WEIR_PLACED(WEIR_STATUS_APPLY_BUSY), "APPLY");
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
	if (merge.jfet == 0)
		merge.jfet = JFET;
	if (!status && (merge.mode < WEIR_MERGE_OFF || merge.mode > WEIR_MERGE_CLASS))
		status = weir_fail(WEIR_E_RANGE, "merge mode %d is out of range: allowed is 0 (off), 1 (flow) or 2 (class); try 1",
				   merge.mode);
	if (!status)
		status = check_limit("max_bytes", merge.max_bytes, 64, MAX_BYTES);
	if (!status)
		status = check_limit("max_sum", merge.max_sum, 40, MAX_SUM);
	if (!status)
		status = check_limit("max_count", merge.max_count, 2, MAX_COUNT);
	if (!status && !(merge.jfet >= JFET_LEAST && merge.jfet <= JFET_MOST))
		status = weir_fail(WEIR_E_RANGE, "merge jfet %s is out of range: allowed is 1ns to 1s; try 100us",
				   weir_show_bound(merge.jfet, "us", round).s);
	if (status)
		return status;
	if (!weir_merges(w)) {
		if (merge.mode == WEIR_MERGE_OFF)
			return WEIR_OK;
		return weir_fail(WEIR_E_UNSUPPORTED, "this core cannot merge packets; use a preset that is built with jumbo frames");
	}
	const uint32_t words[] = { (uint32_t)merge.mode << WEIR_Q_MERGE_MODE_SHIFT, merge.max_bytes, merge.max_sum, merge.max_count };

	return write_merge(w, queue, words, (uint32_t)lround(merge.jfet * 1000));
}

int weir_set_merge(struct weir *w, unsigned int queue, const struct weir_merge *merge)
{
	EXCLUSIVE(w, set_merge(w, queue, merge));
}

static int get_merge(struct weir *w, unsigned int queue, struct weir_merge *merge)
{
	uint32_t words[WORDS] = { 0 }, jfet = 0;
	const struct weir_access list[] = {
		{ weir_queue_address(queue, WEIR_Q_MERGE), WORDS, words, false },
		{ weir_queue_address(queue, WEIR_Q_MERGE_JFET), 1, &jfet, false },
	};
	int status = weir_check_queue(w, queue);

	if (!status && weir_merges(w))
		status = weir_transfer(w, list, WEIR_LENGTH(list));
	if (status)
		return status;
	merge->mode = (int)WEIR_TAKE(WEIR_Q_MERGE_MODE, words[0]);
	if (merge->mode > WEIR_MERGE_CLASS)
		merge->mode = WEIR_MERGE_OFF;
	merge->max_bytes = words[1];
	merge->max_sum = words[2];
	merge->max_count = words[3];
	merge->jfet = jfet / 1000.0;
	return WEIR_OK;
}

int weir_get_merge(struct weir *w, unsigned int queue, struct weir_merge *merge)
{
	LOCKED(w, get_merge(w, queue, merge));
}

int weir_parse_merge_mode(const char *text, int *mode)
{
	static const char *const names[] = { "off", "flow", "class" };

	for (size_t i = 0; i < WEIR_LENGTH(names); i++)
		if (!strcmp(text, names[i])) {
			*mode = (int)i;
			return WEIR_OK;
		}
	return weir_fail(WEIR_E_UNKNOWN, "merge mode '%s' is not known; allowed is off, flow or class", text);
}
