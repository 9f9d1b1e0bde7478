/* The handle and register access under its lock; shared by device.c and trace.c, not installed. */
#ifndef WEIR_DEVICE_H
#define WEIR_DEVICE_H

#include "internal.h"

#include <pthread.h>

#define WEIR_QUEUES_KNOWN 8U

struct weir {
	struct weir_bus bus;
	struct weir_capabilities caps;
	pthread_mutex_t lock;
};

/* Answers `call` from a public function; the handle's lock is held meanwhile. */
#define LOCKED(w, call)                           \
	do {                                      \
		int locked_status;                \
		pthread_mutex_lock(&(w)->lock);   \
		locked_status = (call);           \
		pthread_mutex_unlock(&(w)->lock); \
		return locked_status;             \
	} while (0)

/* Register access; the lock is held. */
int weir_rd(struct weir *w, uint32_t address, uint32_t *value);
int weir_wr(struct weir *w, uint32_t address, uint32_t value);
/* Takes over the core registers and waits; the lock is held. */
int weir_take_core(struct weir *w);
/* A register of a queue, and its APPLY; the lock is held. The queue has been checked. */
int weir_check_queue(struct weir *w, unsigned int queue);
int weir_rd_queue(struct weir *w, unsigned int queue, uint32_t offset, uint32_t *value);
int weir_wr_queue(struct weir *w, unsigned int queue, uint32_t offset, uint32_t value);
int weir_take_queue(struct weir *w, unsigned int queue);
/* Whether the core can split jumbo frames, and merge packets. */
int weir_splits(const struct weir *w);
int weir_merges(const struct weir *w);

#endif
