/* Frames of the register protocol (docs/register-protocol.md). Knows no registers and no line. */
#include "wire.h"

#include <string.h>

#define CRC_POLYNOMIAL 0xEDB88320U
#define CRC_RESIDUE 0xDEBB20E3U /* what a payload with its own CRC leaves */
#define LEAST_PAYLOAD 2U

uint32_t weir_wire_crc(uint32_t crc, uint8_t byte)
{
	crc ^= byte;
	for (int bit = 0; bit < 8; bit++)
		crc = crc >> 1 ^ (crc & 1 ? CRC_POLYNOMIAL : 0);
	return crc;
}

static void append(struct weir_wire_out *out, uint32_t byte)
{
	if (out->used < out->size)
		out->bytes[out->used++] = (uint8_t)byte;
}

static void stuff(struct weir_wire_out *out, uint8_t byte)
{
	if (byte == WEIR_WIRE_FLAG || byte == WEIR_WIRE_ESCAPE) {
		append(out, WEIR_WIRE_ESCAPE);
		append(out, byte ^ WEIR_WIRE_TURN);
	} else {
		append(out, byte);
	}
}

void weir_wire_begin(struct weir_wire_out *out, uint8_t *bytes, size_t size)
{
	*out = (struct weir_wire_out){ bytes, size, 0, UINT32_MAX };
	append(out, WEIR_WIRE_FLAG); /* ends whatever noise the line has had */
}

void weir_wire_put(struct weir_wire_out *out, uint8_t byte)
{
	out->crc = weir_wire_crc(out->crc, byte);
	stuff(out, byte);
}

void weir_wire_put16(struct weir_wire_out *out, uint32_t value)
{
	weir_wire_put(out, (uint8_t)value);
	weir_wire_put(out, (uint8_t)(value >> 8));
}

void weir_wire_put32(struct weir_wire_out *out, uint32_t value)
{
	weir_wire_put16(out, value & 0xFFFF);
	weir_wire_put16(out, value >> 16);
}

size_t weir_wire_end(struct weir_wire_out *out)
{
	const uint32_t crc = ~out->crc;

	for (unsigned int i = 0; i < WEIR_WIRE_CRC_BYTES; i++)
		stuff(out, (uint8_t)(crc >> 8 * i));
	append(out, WEIR_WIRE_FLAG);
	return out->used;
}

/* The flag at the end of a frame: its payload's length, or -1. */
static int ended(const struct weir_wire_in *in)
{
	uint32_t crc = UINT32_MAX;

	if (in->broken || in->escaped || in->used < LEAST_PAYLOAD + WEIR_WIRE_CRC_BYTES)
		return -1;
	for (size_t i = 0; i < in->used; i++)
		crc = weir_wire_crc(crc, in->bytes[i]);
	return crc == CRC_RESIDUE ? (int)(in->used - WEIR_WIRE_CRC_BYTES) : -1;
}

int weir_wire_take(struct weir_wire_in *in, uint8_t byte)
{
	if (byte == WEIR_WIRE_FLAG) {
		int length = in->inside ? ended(in) : 0; /* two flags in a row: no frame between them */

		in->used = 0;
		in->escaped = in->broken = in->inside = false;
		return length;
	}
	in->inside = true;
	if (in->escaped) {
		byte ^= WEIR_WIRE_TURN;
		in->escaped = false;
	} else if (byte == WEIR_WIRE_ESCAPE) {
		in->escaped = true;
		return 0;
	}
	if (in->used < sizeof(in->bytes))
		in->bytes[in->used++] = byte;
	else
		in->broken = true;
	return 0;
}

/* Four words have one byte in front, two bits a word, lowest first: 0, 1, 2 or 4 bytes follow, low byte first. */
long weir_wire_unpack(const uint8_t *bytes, size_t length, uint32_t *values, size_t count)
{
	static const size_t sizes[] = { 0, 1, 2, 4 };
	size_t at = 0;

	for (size_t i = 0; i < count;) {
		uint8_t codes;

		if (at >= length)
			return -1;
		for (codes = bytes[at++]; i < count; codes >>= 2) {
			size_t size = sizes[codes & 3];

			if (size > length - at)
				return -1;
			values[i] = 0;
			for (size_t b = 0; b < size; b++)
				values[i] |= (uint32_t)bytes[at++] << 8 * b;
			if (!(++i % 4))
				break;
		}
	}
	return (long)at;
}
