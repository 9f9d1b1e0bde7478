/* Frames of the register protocol (docs/register-protocol.md): stuffing, CRC, packed words. Not installed. */
#ifndef WEIR_WIRE_H
#define WEIR_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEIR_WIRE_FLAG 0x7EU
#define WEIR_WIRE_ESCAPE 0x7DU
#define WEIR_WIRE_TURN 0x20U /* an escaped byte is sent with this bit turned */
#define WEIR_WIRE_CRC_BYTES 4U
#define WEIR_WIRE_VERSION 1U
#define WEIR_WIRE_MAGIC 0x57U           /* bits 31:24 of the answer to HELLO */
#define WEIR_WIRE_LEAST_REQUEST 64U     /* bytes every server takes, without stuffing, with CRC */
#define WEIR_WIRE_MOST_REQUEST 256U     /* bytes this library sends */
#define WEIR_WIRE_MOST_WORDS 1024U      /* words a request may move */
#define WEIR_WIRE_CORE_SHIFT 4U         /* of an operation's byte: core above, operation below */
#define WEIR_WIRE_MOST_ANSWER (4U * WEIR_WIRE_MOST_WORDS + 320U)

enum weir_wire_kind { WEIR_WIRE_REQUEST = 0x51, WEIR_WIRE_REPEAT = 0x52, WEIR_WIRE_ANSWER = 0x41 };
enum weir_wire_op { WEIR_WIRE_HELLO, WEIR_WIRE_READ, WEIR_WIRE_WRITE, WEIR_WIRE_READ_PACKED, WEIR_WIRE_HOLD };
enum weir_wire_status { WEIR_WIRE_OK, WEIR_WIRE_SLVERR, WEIR_WIRE_MALFORMED, WEIR_WIRE_SILENT, WEIR_WIRE_BUSY, WEIR_WIRE_LAPSED };

/* CRC-32 of IEEE 802.3, byte by byte: begins with all ones, ends inverted. */
uint32_t weir_wire_crc(uint32_t crc, uint8_t byte);

struct weir_wire_out {
	uint8_t *bytes;
	size_t size, used;
	uint32_t crc;
};

/* A frame into `bytes`; room for 2 * payload + 12 bytes is always enough, what does not fit is left out. */
void weir_wire_begin(struct weir_wire_out *out, uint8_t *bytes, size_t size);
void weir_wire_put(struct weir_wire_out *out, uint8_t byte);
void weir_wire_put16(struct weir_wire_out *out, uint32_t value);
void weir_wire_put32(struct weir_wire_out *out, uint32_t value);
/* The number of bytes to send. */
size_t weir_wire_end(struct weir_wire_out *out);

struct weir_wire_in {
	uint8_t bytes[WEIR_WIRE_MOST_ANSWER + WEIR_WIRE_CRC_BYTES];
	size_t used;
	bool escaped, broken, inside;
};

/* One byte of the line. The length of a frame's payload (in `bytes`) when it has ended well, 0 when there is none yet,
 * -1 when a frame has ended that is not one: wrong CRC, too short or long, a flag after an escape. */
int weir_wire_take(struct weir_wire_in *in, uint8_t byte);

/* Unpacks `count` words; the bytes that were used, or -1 when `length` does not hold them. */
long weir_wire_unpack(const uint8_t *bytes, size_t length, uint32_t *values, size_t count);

#endif
