/* Queues of a device: checks against its other queues, application in one request, reading back. */
#include "device.h"

#include <math.h>

/* The cells that remain to be shared when `queue` reserves `reserve`. */
static int shared_cells(struct weir *w, unsigned int queue, double reserve, uint32_t *shared)
{
	double others = 0, left;
	struct weir_access list[WEIR_MOST_QUEUES];
	uint32_t cells[WEIR_MOST_QUEUES];
	int status;

	for (unsigned int i = 0; i < w->caps.queues; i++)
		list[i] = (struct weir_access){ weir_queue_address(i, WEIR_Q_RESERVE_CELLS), 1, &cells[i], false };
	status = weir_transfer(w, list, w->caps.queues);
	if (status)
		return status;
	for (unsigned int i = 0; i < w->caps.queues; i++)
		others += i == queue ? 0 : cells[i];
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
	const struct weir_policy_entry *entry = weir_policy_of(config->policy);
	int status = weir_check_queue(w, queue);

	if (!status)
		status = weir_convert_queue(&w->caps, config, registers);
	if (!status && entry->ops->place)
		status = entry->ops->place(w, queue, registers);
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
	EXCLUSIVE(w, queue_check(w, queue, config));
}

/* The words of a queue as accesses, those in a row together; how many there are. */
static size_t runs(unsigned int queue, struct weir_queue_registers *registers, uint32_t *values, bool write,
		   struct weir_access list[WEIR_QUEUE_WORDS + 1])
{
	size_t n = 0;

	for (uint32_t i = 0; i < registers->count; i++) {
		const struct weir_word *word = &registers->words[i];

		values[i] = word->value;
		if (i && word->offset == word[-1].offset + 4)
			list[n - 1].count++;
		else
			list[n++] = (struct weir_access){ weir_queue_address(queue, word->offset), 1, &values[i], write };
	}
	return n;
}

/* All words and APPLY are one request: what other programs write does not come between. With `shared` the cells that are
 * shared from then on are taken over in the access before: CORE_APPLY acts at once.
 */
static int write_queue(struct weir *w, unsigned int queue, struct weir_queue_registers *registers, uint32_t *shared)
{
	struct weir_access list[WEIR_QUEUE_WORDS + 4];
	uint32_t values[WEIR_QUEUE_WORDS], slope, one = WEIR_ONE;
	size_t n = runs(queue, registers, values, true, list);
	bool needed;
	int status = weir_mred_slope(w, queue, registers, &slope, &needed);

	if (status)
		return status;
	if (needed)
		list[n++] = (struct weir_access){ weir_queue_address(queue, WEIR_Q_MRED_SLOPE), 1, &slope, true };
	if (shared) {
		list[n++] = (struct weir_access){ WEIR_SHARED_CELLS, 1, shared, true };
		list[n++] = (struct weir_access){ WEIR_CORE_APPLY, 1, &one, true };
	}
	list[n++] = (struct weir_access){ weir_queue_address(queue, WEIR_Q_APPLY), 1, &one, true };
	status = weir_transfer(w, list, n);
	return status ? status : weir_wait_low(w, WEIR_PLACED(WEIR_STATUS_APPLY_BUSY), "APPLY");
}

static int queue_apply(struct weir *w, unsigned int queue, const struct weir_queue_config *config)
{
	struct weir_queue_registers registers;
	uint32_t shared, shared_now;
	int status = prepare(w, queue, config, &registers, &shared);

	if (!status)
		status = weir_rd(w, WEIR_SHARED_CELLS, &shared_now);
	/* cells are never promised twice: the share shrinks before a reserve grows, and grows after it shrank */
	if (!status)
		status = write_queue(w, queue, &registers, shared < shared_now ? &shared : NULL);
	if (!status && shared > shared_now)
		status = weir_write_core(w, WEIR_SHARED_CELLS, &shared, 1);
	return status;
}

int weir_queue_apply(struct weir *w, unsigned int queue, const struct weir_queue_config *config)
{
	EXCLUSIVE(w, queue_apply(w, queue, config));
}

static int queue_read(struct weir *w, unsigned int queue, struct weir_queue_config *config)
{
	const struct weir_policy_entry *entry;
	struct weir_access list[WEIR_QUEUE_WORDS + 1];
	uint32_t word, values[WEIR_QUEUE_WORDS];
	struct weir_queue_registers r;
	int policy, status = weir_check_queue(w, queue);
	size_t n;

	if (!status)
		status = weir_rd(w, weir_queue_address(queue, WEIR_Q_POLICY), &word);
	if (status)
		return status;
	policy = (int)WEIR_TAKE(WEIR_Q_POLICY_POLICY, word);
	entry = weir_policy_of(policy);
	if (!entry)
		return weir_no_policy(policy);
	weir_registers_of(entry, &r);
	n = runs(queue, &r, values, false, list);
	status = weir_transfer(w, list, n);
	for (uint32_t i = 0; i < r.count; i++)
		r.words[i].value = values[i];
	return status ? status : weir_convert_queue_back(&w->caps, &r, config);
}

int weir_queue_read(struct weir *w, unsigned int queue, struct weir_queue_config *config)
{
	EXCLUSIVE(w, queue_read(w, queue, config));
}
