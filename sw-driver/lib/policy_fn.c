/* FN, Fast Congestion Notification: a probability from the rate over the last packets and the queue's distance from
 * its target. */
#include "device.h"
#include "weir_regs.h"

#include <math.h>

#define POOL 4096U    /* entries of all queues' windows together */
#define T_BIAS 32       /* of the exponent of FN_T; FN_HALF_T2 has none */
#define MEAN_ONE 1048576.0 /* 2^20 */
#define ROOM_ONE 16.0      /* of bytes with 4 fraction bits */
#define BIT_NS_PER_BYTE 8e9 /* bit/s * ns a byte */
#define NS_PER_US 1e3
#define LEAST_CAPACITY 1e3
#define MOST_CAPACITY 100e9
#define DEFAULT_QOPT (1.0 / 16) /* of the limit, as in the paper */

static uint32_t t_word(double microseconds)
{
	return weir_wide_word(microseconds * NS_PER_US, T_BIAS);
}

/* mu*T in bytes, of T as it was rounded. */
static double drained(double capacity, uint32_t t)
{
	return capacity * weir_from_wide_word(t, T_BIAS) / BIT_NS_PER_BYTE;
}

static uint64_t drained_word(double capacity, uint32_t t)
{
	return (uint64_t)round(drained(capacity, t) * ROOM_ONE);
}

static uint32_t qopt_word(double bytes)
{
	return (uint32_t)round(bytes * ROOM_ONE);
}

static int complete(const struct weir_capabilities *caps, struct weir_queue_config *config)
{
	weir_fill(&config->fn.qopt, floor(config->limit_bytes * DEFAULT_QOPT));
	weir_fill(&config->fn.capacity, caps->link_rate);
	return WEIR_OK;
}

static int check(const struct weir_capabilities *caps, const struct weir_queue_config *config)
{
	(void)caps;
	return weir_check_range("qopt", config->fn.qopt, 0, config->limit_bytes, "bytes",
				"it may not pass the limit; lower it or raise limit_bytes");
}

static void convert(const struct weir_queue_config *config, struct weir_queue_registers *r)
{
	const struct weir_fn *own = &config->fn;
	const uint32_t t = t_word(own->t);
	const double t_ns = weir_from_wide_word(t, T_BIAS);
	const uint64_t room = drained_word(own->capacity, t) + qopt_word(own->qopt);

	weir_put(r, WEIR_Q_FN_CTRL, WEIR_FIELD(WEIR_Q_FN_CTRL_QUADRATIC, own->quadratic) |
					    WEIR_FIELD(WEIR_Q_FN_CTRL_UNIFORM, own->spread == WEIR_SPREAD_UNIFORM) |
					    WEIR_FIELD(WEIR_Q_FN_CTRL_BYTE_MODE, own->bytemode) |
					    WEIR_FIELD(WEIR_Q_FN_CTRL_ECN, own->ecn));
	weir_put(r, WEIR_Q_FN_WINDOW, WEIR_FIELD(WEIR_Q_FN_WINDOW_SIZE, own->window));
	weir_put(r, WEIR_Q_FN_T, t);
	weir_put(r, WEIR_Q_FN_ROOM_LO, (uint32_t)room);
	weir_put(r, WEIR_Q_FN_ROOM_HI, (uint32_t)(room >> 32));
	weir_put(r, WEIR_Q_FN_MEAN, weir_scaled_word(MEAN_ONE / own->mean));
	weir_put(r, WEIR_Q_FN_HALF_T2, weir_wide_word(t_ns * t_ns / 2, 0));
	weir_put(r, WEIR_Q_FN_QOPT, qopt_word(own->qopt));
}

/* What a queue drains in T, and T, as registers have them. */
struct wanted_drain {
	uint64_t word;
	uint32_t t;
};

static bool drains(double capacity, const void *known)
{
	const struct wanted_drain *wanted = known;

	return capacity >= LEAST_CAPACITY && capacity <= MOST_CAPACITY &&
	       drained_word(capacity, wanted->t) == wanted->word;
}

/* Divides mu*T + Qopt again. Another program may have written registers of which no legal mu comes: then mu is the
 * nearest that is legal (without a T the link's rate), and Qopt what remains. */
static void part_room(const struct weir_capabilities *caps, uint32_t t, uint64_t room, uint32_t aim, double limit,
		      struct weir_fn *own)
{
	const double t_ns = weir_from_wide_word(t, T_BIAS), qopt = weir_shortest(aim / ROOM_ONE, aim, qopt_word);
	const struct wanted_drain rest = { room > aim ? room - aim : 0, t };
	const double capacity = t_ns > 0 ? (double)rest.word / ROOM_ONE * BIT_NS_PER_BYTE / t_ns : caps->link_rate;

	own->qopt = fmin(qopt, limit);
	own->capacity = weir_shortest_that(fmin(fmax(capacity, LEAST_CAPACITY), MOST_CAPACITY), drains, &rest);
	if (!drains(own->capacity, &rest) || qopt > limit)
		own->qopt = fmin(fmax((double)room / ROOM_ONE - drained(own->capacity, t), 0), limit);
}

static void convert_back(const struct weir_capabilities *caps, const struct weir_queue_registers *r,
			 struct weir_queue_config *config)
{
	struct weir_fn *own = &config->fn;
	const uint32_t ctrl = weir_take(r, WEIR_Q_FN_CTRL), mean = weir_take(r, WEIR_Q_FN_MEAN);
	const uint32_t t = weir_take(r, WEIR_Q_FN_T);
	const uint64_t room = (uint64_t)(weir_take(r, WEIR_Q_FN_ROOM_HI) & 0xFF) << 32 | weir_take(r, WEIR_Q_FN_ROOM_LO);

	own->quadratic = (int)WEIR_TAKE(WEIR_Q_FN_CTRL_QUADRATIC, ctrl);
	own->spread = WEIR_TAKE(WEIR_Q_FN_CTRL_UNIFORM, ctrl) ? WEIR_SPREAD_UNIFORM : WEIR_SPREAD_GEOMETRIC;
	own->bytemode = (int)WEIR_TAKE(WEIR_Q_FN_CTRL_BYTE_MODE, ctrl);
	own->ecn = (int)WEIR_TAKE(WEIR_Q_FN_CTRL_ECN, ctrl);
	own->window = WEIR_TAKE(WEIR_Q_FN_WINDOW_SIZE, weir_take(r, WEIR_Q_FN_WINDOW));
	own->t = weir_shortest(weir_from_wide_word(t, T_BIAS) / NS_PER_US, t, t_word);
	if (WEIR_TAKE(WEIR_SCALED_MANTISSA, mean))
		own->mean = round(MEAN_ONE / weir_from_scaled_word(mean)); /* whole, so this is exact */
	part_room(caps, t, room, weir_take(r, WEIR_Q_FN_QOPT), config->limit_bytes, own);
}

/* ---- the windows' places in the pool ------------------------------------------------------------------- */

struct part {
	uint32_t base, size;
};

static bool overlap(struct part a, struct part b)
{
	return a.base < b.base + b.size && b.base < a.base + a.size;
}

static bool is_free(const struct part *taken, size_t count, struct part wanted)
{
	if (wanted.base + wanted.size > POOL)
		return false;
	for (size_t i = 0; i < count; i++)
		if (overlap(taken[i], wanted))
			return false;
	return true;
}

/* The lowest free place of that size, which begins at 0 or where another window ends; POOL if there is none. */
static uint32_t first_fit(const struct part *taken, size_t count, uint32_t size)
{
	uint32_t best = POOL;

	if (is_free(taken, count, (struct part){ 0, size }))
		return 0;
	for (size_t i = 0; i < count; i++) {
		const uint32_t base = taken[i].base + taken[i].size;

		if (base < best && is_free(taken, count, (struct part){ base, size }))
			best = base;
	}
	return best;
}

static int read_part(struct weir *w, unsigned int queue, struct part *part)
{
	const uint32_t block = WEIR_Q_BASE + queue * WEIR_Q_STRIDE;
	uint32_t policy, window;
	int status = weir_rd(w, block + WEIR_Q_POLICY, &policy);

	*part = (struct part){ 0, 0 };
	if (status || WEIR_TAKE(WEIR_Q_POLICY_POLICY, policy) != WEIR_POLICY_FN)
		return status;
	status = weir_rd(w, block + WEIR_Q_FN_WINDOW, &window);
	if (!status)
		*part = (struct part){ WEIR_TAKE(WEIR_Q_FN_WINDOW_BASE, window), WEIR_TAKE(WEIR_Q_FN_WINDOW_SIZE, window) };
	return status;
}

/* Windows may not overlap: the queue keeps its place if the new window fits there, else it gets the lowest that
 * fits. Other queues are never moved. */
static int place(struct weir *w, unsigned int queue, struct weir_queue_registers *r)
{
	const uint32_t size = WEIR_TAKE(WEIR_Q_FN_WINDOW_SIZE, weir_take(r, WEIR_Q_FN_WINDOW));
	struct part taken[WEIR_MOST_QUEUES], own = { 0, 0 };
	uint32_t base, largest = size, others = 0;
	size_t count = 0;

	for (unsigned int i = 0; i < w->caps.queues; i++) {
		struct part part;
		int status = read_part(w, i, &part);

		if (status)
			return status;
		if (i == queue) {
			own = part;
		} else if (part.size) {
			taken[count++] = part;
			others += part.size;
		}
	}
	base = own.size && is_free(taken, count, (struct part){ own.base, size }) ? own.base :
										     first_fit(taken, count, size);
	if (base == POOL) {
		while (largest && first_fit(taken, count, largest) == POOL)
			largest--;
		return weir_fail(WEIR_E_RANGE,
				 "window %u is out of range: allowed is %s%u packets, because the windows of the other queues "
				 "hold %u of %u; make one of them smaller first",
				 (unsigned int)size, largest ? "1 to " : "", (unsigned int)largest, (unsigned int)others, POOL);
	}
	weir_put(r, WEIR_Q_FN_WINDOW,
		 WEIR_FIELD(WEIR_Q_FN_WINDOW_SIZE, size) | WEIR_FIELD(WEIR_Q_FN_WINDOW_BASE, base));
	return WEIR_OK;
}

const struct weir_policy_ops weir_policy_fn = {
	.complete = complete,
	.check = check,
	.convert = convert,
	.convert_back = convert_back,
	.place = place,
};
