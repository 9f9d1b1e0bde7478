/* The client of the register protocol, between its two files: link.c makes requests, exchange.c carries them. Not
 * installed. */
#ifndef WEIR_LINK_H
#define WEIR_LINK_H

#include "transport.h"
#include "wire.h"

#define WEIR_LINK_PARTS 64U

/* A piece of an access that goes into one request. */
struct part {
	struct weir_access access;
	enum weir_wire_op op;
};

struct link {
	struct weir_line line;
	struct weir_wire_in in;
	struct weir_link_counters counters;
	size_t longest; /* request that the server takes */
	uint8_t number;
	uint8_t status; /* of the last answer */
	uint32_t done;  /* words that its request moved */
	struct part parts[WEIR_LINK_PARTS];
	size_t part_count, request_bytes, words;
};

/* A failure of the line. */
int weir_line_failed(const struct link *l, const char *what);
int64_t weir_now_ms(void);
/* Sends the request that has been collected, as often as it takes; l->status and l->done are the answer's then. */
int weir_exchange(struct link *l);

#endif
