/* A device: register access, its locks, opening. Public calls hold the handle's lock. */
#define _POSIX_C_SOURCE 200809L
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_MAJOR 0U
/* Status reads before a wait is given up: the core needs at most a sweep of its counters and its free list. */
#define MOST_POLLS 200000

static int bus_access(struct weir *w, const struct weir_access *a, uint32_t k)
{
	const uint32_t address = a->address + 4 * k;
	int status;

	if (!a->write) {
		status = w->bus.read(w->bus.ctx, address, &a->values[k]);
		return !status ? WEIR_OK :
				 weir_fail(WEIR_E_BUS, "reading register 0x%04X failed (bus status %d); check that the device is there",
					   (unsigned int)address, status);
	}
	status = w->bus.write(w->bus.ctx, address, a->values[k]);
	return !status ? WEIR_OK :
			 weir_fail(WEIR_E_BUS,
				   "writing 0x%08X to register 0x%04X failed (bus status %d); check that the device is there",
				   (unsigned int)a->values[k], (unsigned int)address, status);
}

int weir_transfer(struct weir *w, const struct weir_access *list, size_t n)
{
	int status = WEIR_OK;

	if (w->transport.transfer)
		return w->transport.transfer(w->transport.ctx, list, n);
	for (size_t i = 0; i < n && !status; i++)
		for (uint32_t k = 0; k < list[i].count && !status; k++)
			status = bus_access(w, &list[i], k);
	return status;
}

int weir_rd(struct weir *w, uint32_t address, uint32_t *value)
{
	const struct weir_access access = { address, 1, value, false };

	return weir_transfer(w, &access, 1);
}

int weir_wr(struct weir *w, uint32_t address, uint32_t value)
{
	const struct weir_access access = { address, 1, &value, true };

	return weir_transfer(w, &access, 1);
}

int weir_rd64(struct weir *w, uint32_t address, uint64_t *value)
{
	uint32_t words[2];
	const struct weir_access access = { address, 2, words, false };
	int status = weir_transfer(w, &access, 1);

	if (!status)
		*value = (uint64_t)words[1] << 32 | words[0];
	return status;
}

int weir_wait_low(struct weir *w, uint32_t mask, const char *what)
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

/* ---- locks --------------------------------------------------------------------------------------------- */

int weir_hold(struct weir *w)
{
	int status = WEIR_OK;

	pthread_mutex_lock(&w->lock);
	if (!w->holds && w->transport.hold)
		status = w->transport.hold(w->transport.ctx, true);
	if (status)
		pthread_mutex_unlock(&w->lock);
	else
		w->holds++;
	return status;
}

void weir_let_go(struct weir *w)
{
	char kept[WEIR_MESSAGE_SIZE];

	if (!--w->holds && w->transport.hold) {
		/* a failure is that of a device that has gone: what the call itself says is nearer to it */
		snprintf(kept, sizeof(kept), "%s", weir_error());
		if (w->transport.hold(w->transport.ctx, false))
			(void)weir_fail(WEIR_OK, "%s", kept);
	}
	pthread_mutex_unlock(&w->lock);
}

int weir_lock(struct weir *w)
{
	return weir_hold(w);
}

static int unlock(struct weir *w)
{
	if (!w->holds)
		return weir_fail(WEIR_E_CONFLICT, "the device is not locked; weir_lock() first");
	weir_let_go(w);
	return WEIR_OK;
}

int weir_unlock(struct weir *w)
{
	LOCKED(w, unlock(w));
}

/* ---- queues' addresses --------------------------------------------------------------------------------- */

uint32_t weir_queue_address(unsigned int queue, uint32_t offset)
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
	uint32_t words[6]; /* FEATURES to CELL_BYTES */
	const struct weir_access access = { WEIR_FEATURES, WEIR_LENGTH(words), words, false };
	int status = weir_transfer(w, &access, 1);

	_Static_assert(WEIR_CELL_BYTES - WEIR_FEATURES == 20, "six registers in a row");
	if (status)
		return status;
	c->features = words[0];
	c->queues = WEIR_TAKE(WEIR_PARAMS_QUEUES, words[1]);
	c->data_width = WEIR_TAKE(WEIR_PARAMS_DATA_WIDTH, words[1]);
	c->cells = words[2];
	c->descriptors = words[3];
	c->clock_hz = words[4];
	c->cell_bytes = words[5];
	c->line_rate = (double)c->data_width * c->clock_hz;
	if (c->queues < 1 || c->queues > WEIR_MOST_QUEUES || c->cells < 2 || c->cell_bytes < 1 || c->descriptors < 1 ||
	    c->line_rate <= 0)
		return weir_fail(WEIR_E_DEVICE,
				 "the core reports %u queues, %u cells of %u bytes, %u descriptors, %u bits at %u Hz: "
				 "allowed are 1 to %d queues and nothing that is 0; check the core's build",
				 (unsigned int)c->queues, (unsigned int)c->cells, (unsigned int)c->cell_bytes,
				 (unsigned int)c->descriptors, (unsigned int)c->data_width, (unsigned int)c->clock_hz,
				 WEIR_MOST_QUEUES);
	status = weir_read_shaper(w, &shaper);
	if (!status)
		weir_learn_link_rate(w, &shaper);
	return status;
}

/* A handle around what `w` says; takes over its transport. */
static int open_handle(const struct weir *like, struct weir **out)
{
	pthread_mutexattr_t recursive;
	struct weir *w = calloc(1, sizeof(*w));
	int status;

	if (!w || pthread_mutexattr_init(&recursive)) {
		free(w);
		if (like->transport.close)
			like->transport.close(like->transport.ctx);
		return weir_fail(WEIR_E_MEMORY, "no memory for a handle of %zu bytes; free some", sizeof(*w));
	}
	w->transport = like->transport;
	w->bus = like->bus;
	pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&w->lock, &recursive);
	pthread_mutexattr_destroy(&recursive);
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

int weir_open_transport(const struct weir_transport *transport, struct weir **out)
{
	const struct weir like = { .transport = *transport };

	return open_handle(&like, out);
}

int weir_open_bus(const struct weir_bus *bus, struct weir **out)
{
	struct weir like = { .holds = 0 };

	*out = NULL;
	if (!bus || !bus->read || !bus->write)
		return weir_fail(WEIR_E_DEVICE, "the bus has no read or no write function; give both");
	like.bus = *bus;
	return open_handle(&like, out);
}

void weir_close(struct weir *w)
{
	if (!w)
		return;
	if (w->transport.close)
		w->transport.close(w->transport.ctx);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static int copy_capabilities(struct weir *w, struct weir_capabilities *caps)
{
	*caps = w->caps;
	return WEIR_OK;
}

int weir_get_capabilities(struct weir *w, struct weir_capabilities *caps)
{
	LOCKED(w, copy_capabilities(w, caps));
}

static int link_counters(struct weir *w, struct weir_link_counters *counters)
{
	memset(counters, 0, sizeof(*counters));
	if (w->transport.counters)
		w->transport.counters(w->transport.ctx, counters);
	return WEIR_OK;
}

int weir_get_link_counters(struct weir *w, struct weir_link_counters *counters)
{
	LOCKED(w, link_counters(w, counters));
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
