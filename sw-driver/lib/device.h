/* The handle, register access and its locks; not installed. */
#ifndef WEIR_DEVICE_H
#define WEIR_DEVICE_H

#include "weir_regs.h"
#include "transport.h"

#include <pthread.h>

#define WEIR_PLACED(name) ((uint32_t)name##_MASK << name##_SHIFT)
#define WEIR_ONE 1U /* what triggers are written with */

struct weir {
	struct weir_transport transport; /* its transfer is NULL on a bus of the caller's */
	struct weir_bus bus;
	struct weir_capabilities caps;
	pthread_mutex_t lock; /* recursive */
	unsigned int holds;   /* how often the transport is held */
};

/* A handle for a transport, which it owns, also when it fails. */
int weir_open_transport(const struct weir_transport *transport, struct weir **w);

/* Keeps other threads and, as far as the transport can, other programs out. */
int weir_hold(struct weir *w);
void weir_let_go(struct weir *w);

/* Answers `call` from a public function; the handle's lock is held meanwhile. */
#define LOCKED(w, call)                           \
	do {                                      \
		int locked_status;                \
		pthread_mutex_lock(&(w)->lock);   \
		locked_status = (call);           \
		pthread_mutex_unlock(&(w)->lock); \
		return locked_status;             \
	} while (0)

/* The same for what takes several accesses that belong together. */
#define EXCLUSIVE(w, call)                            \
	do {                                          \
		int exclusive_status = weir_hold(w);  \
		if (exclusive_status)                 \
			return exclusive_status;      \
		exclusive_status = (call);            \
		weir_let_go(w);                       \
		return exclusive_status;              \
	} while (0)

/* Register access; the lock is held. A list is one request, where the transport can; it stops at the first failure. */
int weir_transfer(struct weir *w, const struct weir_access *list, size_t n);
int weir_rd(struct weir *w, uint32_t address, uint32_t *value);
int weir_wr(struct weir *w, uint32_t address, uint32_t value);
int weir_rd64(struct weir *w, uint32_t address, uint64_t *value);
/* Waits until the bits of STATUS are low. */
int weir_wait_low(struct weir *w, uint32_t mask, const char *what);

/* The address of a register of a queue. */
uint32_t weir_queue_address(unsigned int queue, uint32_t offset);
int weir_check_queue(struct weir *w, unsigned int queue);

/* Writes words of the core's shadow, takes all of it over and waits. */
int weir_write_core(struct weir *w, uint32_t address, const uint32_t *values, uint32_t count);
/* Takes over the core registers and waits. */
int weir_take_core(struct weir *w);
int weir_read_shaper(struct weir *w, struct weir_shaper *shaper);
void weir_learn_link_rate(struct weir *w, const struct weir_shaper *shaper);
/* Whether the core can split jumbo frames, and merge packets. */
int weir_splits(const struct weir *w);
int weir_merges(const struct weir *w);
/* MRED_SLOPE for the thresholds of `registers`; not `needed` if the queue's MRED is off, or the policy knows none. */
int weir_mred_slope(struct weir *w, unsigned int queue, const struct weir_queue_registers *registers, uint32_t *slope, bool *needed);

#endif
