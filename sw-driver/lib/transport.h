/* What a URI opens: register access with its own error messages, and the line below the register protocol. Not
 * installed. */
#ifndef WEIR_TRANSPORT_H
#define WEIR_TRANSPORT_H

#include "internal.h"

/* Consecutive registers, written or read in this order. */
struct weir_access {
	uint32_t address;
	uint32_t count;
	uint32_t *values;
	bool write;
};

/* A way to registers. Every function answers 0, or a negative enum weir_status after weir_fail(). */
struct weir_transport {
	void *ctx;
	int (*transfer)(void *ctx, const struct weir_access *list, size_t n);
	/* Keeps other users of the device out (on) until it is let go (off); none: there are no others. */
	int (*hold)(void *ctx, bool on);
	void (*counters)(void *ctx, struct weir_link_counters *counters);
	void (*close)(void *ctx);
};

struct weir_opener {
	const char *scheme;
	int (*open)(const char *rest, struct weir_transport *transport);
};

int weir_open_unix(const char *rest, struct weir_transport *transport);
int weir_open_uart(const char *rest, struct weir_transport *transport);
int weir_open_pci(const char *rest, struct weir_transport *transport);
int weir_open_sim(const char *rest, struct weir_transport *transport);

#define WEIR_MOST_CORES 16U /* behind one device */

/* What follows the question mark of a URI: one core of several behind the device. */
int weir_parse_core(const char *scheme, const char *rest, const char *query, unsigned int *core);

/* An access that the core answered with an error. */
int weir_refused(const struct weir_access *access, uint32_t done, const char *what);

/* A line of bytes, both ways. Its descriptor does not block. */
struct weir_line {
	int descriptor;
	bool shared;            /* the server has other clients: hold before what takes several requests */
	unsigned int core;      /* of those behind the line */
	double baud;            /* 0: as fast as it goes */
	int wait_ms;            /* for an answer, beyond the time its bytes take */
	char name[160];         /* the URI, for messages */
	const char *advice;     /* ends the message when nobody answers */
};

/* Speaks the protocol on a line and owns it, its descriptor too, also when it fails. */
int weir_open_link(const struct weir_line *line, struct weir_transport *transport);

#endif
