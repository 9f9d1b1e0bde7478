/* libweir: natural-unit configuration, counters and trace of a Weir core.
 *
 * Every call answers 0 or a positive count when it worked, and a negative enum weir_status when it did not; then
 * weir_error() gives one sentence that names the value, what is allowed and what to do. A call that refuses a
 * value has written nothing to the device. A handle may be used from several threads.
 *
 * The conversions, their error bounds and all defaults are documented in docs/libweir.md.
 */
#ifndef WEIR_H
#define WEIR_H

#include <stddef.h>
#include <stdint.h>

#include "weir_policies.h" /* enum weir_policy, and a struct of the parameters of each; generated */
#include "weir_trace.h"    /* struct weir_trace_record; generated */

#ifdef __cplusplus
extern "C" {
#endif

enum weir_status {
	WEIR_OK = 0,
	WEIR_E_RANGE = -1,       /* a value is outside its range */
	WEIR_E_SYNTAX = -2,      /* a text is not a value of its kind */
	WEIR_E_UNKNOWN = -3,     /* no such parameter or policy */
	WEIR_E_UNSUPPORTED = -4, /* known, but not built into this core */
	WEIR_E_CONFLICT = -5,    /* values that exclude each other */
	WEIR_E_DEVICE = -6,      /* not a Weir core, or one that this library does not know */
	WEIR_E_BUS = -7,         /* a register access failed */
	WEIR_E_TIMEOUT = -8,     /* the core did not finish in time */
	WEIR_E_MEMORY = -9,      /* no memory */
	WEIR_E_OPEN = -10,       /* the device is not there, or may not be used */
	WEIR_E_BUSY = -11        /* another program uses the device */
};

/* The sentence for the last call of this thread that failed; "" if none did. Valid until the next failure. */
const char *weir_error(void);

/* ---- what is built ------------------------------------------------------------------------------------- */

struct weir_capabilities {
	uint32_t version;      /* major 31:16, minor 15:8, patch 7:0 */
	uint32_t features;     /* bit n: policy n is built; bit 16: there is a trace */
	uint32_t queues;
	uint32_t data_width;   /* bits */
	uint32_t cells;
	uint32_t cell_bytes;
	uint32_t descriptors;  /* packets the buffer can hold */
	uint32_t clock_hz;
	double line_rate;      /* bit/s: data_width * clock_hz */
	double link_rate;      /* bit/s: the shaper's rate, or line_rate when it is off; default of `bandwidth` */
};

/* The capabilities of preset `full`, for conversions without a device. */
void weir_capabilities_full(struct weir_capabilities *caps);

/* Bytes that the cells of the buffer hold: the largest limit. */
double weir_buffer_bytes(const struct weir_capabilities *caps);

/* ---- policies and parameters --------------------------------------------------------------------------- */

enum weir_unit { WEIR_UNIT_BYTES = 0, WEIR_UNIT_PACKETS = 1, WEIR_UNIT_FRAMES = 2 };
enum weir_spread { WEIR_SPREAD_GEOMETRIC = 0, WEIR_SPREAD_UNIFORM = 1, WEIR_SPREAD_UNIFORM_WAIT = 2 };
enum weir_byte_mode { WEIR_BYTE_MODE_OFF = 0, WEIR_BYTE_MODE_AFTER = 1, WEIR_BYTE_MODE_BEFORE = 2 };
enum weir_edrop { WEIR_EDROP_CERTAIN = 0, WEIR_EDROP_CHANCE = 1, WEIR_EDROP_GAIN = 2 };
enum weir_rate_source { WEIR_RATE_OF_AVERAGE = 0, WEIR_RATE_OF_QUEUE = 1 };

struct weir_policy_info {
	int id;           /* enum weir_policy */
	const char *name;
	const char *help;
	const char *source;
	const char *plot; /* what a picture shows beside the queue: "queue" (nothing), "average", "p", "sojourn" */
};

/* Policy i of those the library knows, in order of their numbers; NULL after the last. */
const struct weir_policy_info *weir_policy_at(size_t i);

/* The number of a policy by its name, or WEIR_E_UNKNOWN. Of an alias ("drop-front") it is the number of the policy
 * that is meant; weir_queue_defaults_of() also sets what the alias implies. */
int weir_policy_by_name(const char *name);

enum weir_kind {
	WEIR_KIND_FLAG,   /* on or off */
	WEIR_KIND_CHOICE, /* one of `choices` */
	WEIR_KIND_SIZE,   /* bytes, tc's suffixes (x1024) */
	WEIR_KIND_AMOUNT, /* a quantity of queue: in the queue's unit, or with a size suffix in bytes */
	WEIR_KIND_COUNT,  /* a whole number */
	WEIR_KIND_NUMBER, /* a number */
	WEIR_KIND_RATE,   /* bit/s, tc's suffixes (x1000) */
	WEIR_KIND_TIME,   /* microseconds, tc's suffixes */
	WEIR_KIND_PERCENT /* 0 to 100, with or without % */
};

/* One parameter. The ranges that are checked, printed in messages and listed by tools are all taken from here;
 * `max` is the largest any build has, weir_parameter_range() narrows it to a device. */
struct weir_parameter {
	const char *name;
	const char *unit;          /* "bytes", "packets", "bit/s", "us", "", or "queue unit" */
	int kind;                  /* enum weir_kind */
	double min, max;
	const char *default_text;  /* a value of its kind, or how it is derived */
	const char *choices;       /* "a|b|c", position = value; NULL unless kind is CHOICE */
	const char *source;        /* where name and meaning come from */
	const char *help;
};

/* Parameter i of a policy: first those that every policy has; NULL after the last. */
const struct weir_parameter *weir_parameter_at(int policy, size_t i);
/* The name of the parameter of a policy that papers or other tools call `word` ("thresh_" is min, "mu" capacity): a word of
 * its source, whatever its case and with or without a last underscore. NULL if there is none. */
const char *weir_parameter_called(int policy, const char *word);
/* Parameter i of the shaper; NULL after the last. */
const struct weir_parameter *weir_shaper_parameter_at(size_t i);

/* The range on a device of a parameter that one of the two calls above gave. */
void weir_parameter_range(const struct weir_capabilities *caps, const struct weir_parameter *parameter,
			  double *min, double *max);

/* ---- parsing, as tc writes values ---------------------------------------------------------------------- */

/* "30000", "30k", "30KB", "1.5mb", "1g", "64kbit" (bits, / 8): bytes; k, m, g are powers of 1024. */
int weir_parse_size(const char *text, double *bytes);
/* "64kbit", "1.5mbit", "10Gbit", "1mbps" (bytes), "1mibit", "1000": bit/s; k, m, g, t are powers of 1000. */
int weir_parse_rate(const char *text, double *bits_per_second);
/* "15ms", "500us", "1.5s", "64ns", "20" (us, as tc has it): microseconds. */
int weir_parse_time(const char *text, double *microseconds);
/* A decimal number; "2%" is 0.02. */
int weir_parse_number(const char *text, double *value);
/* on/off, yes/no, true/false, 1/0. */
int weir_parse_flag(const char *text, int *value);

/* ---- queue configuration in natural units -------------------------------------------------------------- */

#define WEIR_UNSET (-1) /* a flag or choice that is not given; numbers that are not given are NaN */

/* Parameters of policies are in structs of their own (weir_policies.h), by the names under which weir_queue_set() knows
 * them: flags and choices are ints, all others doubles. Times are in microseconds, what is measured like the queue in
 * the queue's unit. `adaptive` of red is by name only: it makes the policy ARED, or RED, and stays unset. */
struct weir_queue_config {
	int policy;           /* enum weir_policy */
	int unit;             /* enum weir_unit: in what the policy measures the queue */
	int strict;           /* served before all that are not strict; of strict ones the lower number first */
	int front;            /* over its limit the queue drops from its head */
	double limit;         /* in the queue's unit; becomes limit_bytes or limit_packets */
	double limit_bytes;
	double limit_packets;
	double reserve;       /* cells kept for this queue */
	double quantum;       /* bytes a DWRR round */
	WEIR_POLICY_MEMBERS   /* struct weir_red red; and so on: of red, isred and ared `red` */
	uint32_t in_bytes;    /* amounts that were given with a size suffix; weir_queue_set() keeps it */
	uint32_t named;       /* values that were given by name; weir_queue_set() keeps it */
};

/* Everything unset but the policy. */
int weir_queue_defaults(int policy, struct weir_queue_config *config);
/* The same by name or alias: "drop-front" is drop-tail with `front` on. */
int weir_queue_defaults_of(const char *policy, struct weir_queue_config *config);

/* One parameter by name and text, e.g. "min", "30KB"; a flag may come without text (NULL). Changes nothing when it
 * fails. `adaptive` changes the policy between RED and ARED: give it before the parameters of ARED. */
int weir_queue_set(struct weir_queue_config *config, const char *name, const char *text);

/* A parameter's value by name; flags and choices as their numbers. 1 if it is set, 0 if not. */
int weir_queue_get(const struct weir_queue_config *config, const char *name, double *value);

/* Fills in what is unset. */
int weir_config_complete(const struct weir_capabilities *caps, struct weir_queue_config *config);

/* Checks a complete configuration against all ranges. */
int weir_config_check(const struct weir_capabilities *caps, const struct weir_queue_config *config);

/* ---- conversion to the hardware's fixed point ---------------------------------------------------------- */

struct weir_scaled { /* mantissa * 2^-exponent */
	uint32_t mantissa; /* 18 bits, normalised */
	uint32_t exponent; /* 6 bits */
};

#define WEIR_QUEUE_WORDS 32 /* room for the words of any policy */

struct weir_word {
	const char *name;
	uint32_t offset; /* in the queue's block */
	uint32_t value;
};

/* The words of a queue in the order in which they are written: those that every queue has and those of its
 * policy. POLICY is the first. */
struct weir_queue_registers {
	uint32_t count;
	struct weir_word words[WEIR_QUEUE_WORDS];
};

/* Completes, checks and converts. An FN window begins at entry 0; on a device it gets a place of its own. */
int weir_convert_queue(const struct weir_capabilities *caps, const struct weir_queue_config *config,
		       struct weir_queue_registers *registers);

/* The natural values of register contents; `burst`, `limit` and `utilisation` are left unset. */
int weir_convert_queue_back(const struct weir_capabilities *caps, const struct weir_queue_registers *registers,
			    struct weir_queue_config *config);

/* A frame of L bytes without FCS is charged max(L, mpu) + overhead. */
struct weir_shaper {
	double rate;     /* bit/s; 0 is off */
	double burst;    /* bytes; NaN for the default */
	double overhead; /* bytes a frame, signed; NaN for the default */
	double mpu;      /* least length in bytes, 0 for none; NaN for the default */
};

struct weir_shaper_registers {
	uint64_t cost;     /* ns a byte, UQ17.19 */
	uint32_t burst;    /* ns */
	int32_t overhead;
	uint32_t mpu;
};

int weir_convert_shaper(const struct weir_capabilities *caps, const struct weir_shaper *shaper,
			struct weir_shaper_registers *registers);
void weir_convert_shaper_back(const struct weir_capabilities *caps, const struct weir_shaper_registers *registers,
			      struct weir_shaper *shaper);

/* The weight that tc takes: the largest of 1/2, 1/4 ... 2^-16 with (1-(1-w)^burst)/w >= burst + 1 - qmin, qmin = min/avpkt
 * in packets. */
int weir_weight_from_burst(double burst, double qmin, double *weight);

/* The building blocks, for models and tests. */
struct weir_scaled weir_to_scaled(double value);
double weir_from_scaled(struct weir_scaled scaled);
uint64_t weir_to_weight(double weight);
uint64_t weir_to_decay(uint64_t weight);

/* ---- a device ------------------------------------------------------------------------------------------ */

/* Register access. Both answer 0, or anything else when the access failed (SLVERR, device gone). */
struct weir_bus {
	void *ctx;
	int (*read)(void *ctx, uint32_t address, uint32_t *value);
	int (*write)(void *ctx, uint32_t address, uint32_t value);
};

struct weir;

/* Opens a device by its URI; checks magic and version, reads what is built. `*w` is NULL when it fails.
 *   unix:PATH                 a socket, for instance of `weir-sim serve`
 *   uart:/dev/ttyUSB0[@BAUD][?core=N]  a serial line to a board, 8N1, 1000000 baud by default; a core of several, 0 by default
 *   pci:0000:01:00.0[/BAR][?core=N]    a PCI function, BAR 0 by default, through sysfs; pci:/PATH for a UIO device or another file
 *   sim:[PRESET | /PATH.so]   a cycle model of its own, in this process; WEIR_MODEL_DIR is where presets are built
 * unix: and uart: speak the protocol of docs/register-protocol.md. */
int weir_open(const char *uri, struct weir **w);
/* The same for a bus of the caller's. */
int weir_open_bus(const struct weir_bus *bus, struct weir **w);
void weir_close(struct weir *w);
int weir_get_capabilities(struct weir *w, struct weir_capabilities *caps);

/* Keeps others, threads and as far as the transport can other programs, from the device until weir_unlock(): for
 * changes that need several calls. Calls of this thread go through; it may be nested. */
int weir_lock(struct weir *w);
int weir_unlock(struct weir *w);

/* What the line below unix: and uart: has carried; all 0 for others. */
struct weir_link_counters {
	uint64_t requests, repeated; /* repeated: sent once more, because no good answer came */
	uint64_t corrupted;          /* frames that came with a wrong checksum or cut */
	uint64_t bytes_out, bytes_in;
};
int weir_get_link_counters(struct weir *w, struct weir_link_counters *counters);

int weir_queue_check(struct weir *w, unsigned int queue, const struct weir_queue_config *config);
/* Checks everything, then writes the shadow registers and takes them over at once. Cells that are reserved come
 * out of those the queues share. */
int weir_queue_apply(struct weir *w, unsigned int queue, const struct weir_queue_config *config);
int weir_queue_read(struct weir *w, unsigned int queue, struct weir_queue_config *config);

/* `bandwidth` and `capacity` of queues stay as they were set. */
int weir_shape(struct weir *w, const struct weir_shaper *shaper);
int weir_shape_read(struct weir *w, struct weir_shaper *shaper);

int weir_set_dscp_map(struct weir *w, const uint8_t map[64]);
int weir_get_dscp_map(struct weir *w, uint8_t map[64]);
int weir_set_default_queue(struct weir *w, unsigned int queue);
int weir_get_default_queue(struct weir *w, unsigned int *queue);
int weir_set_max_frame(struct weir *w, unsigned int bytes);
int weir_get_max_frame(struct weir *w, unsigned int *bytes);
int weir_get_shared_cells(struct weir *w, unsigned int *cells);

/* Jumbo frames (docs/jumbo.md): what becomes of those that arrive, and the form of those that are built. */
enum weir_jumbo_mode {
	WEIR_JUMBO_OPAQUE, /* frames like any other */
	WEIR_JUMBO_SPLIT,  /* each packet arrives by itself */
	WEIR_JUMBO_TRANSIT /* its packets stay together: one arrival, sent as a jumbo frame again */
};

struct weir_jumbo {
	int mode;               /* enum weir_jumbo_mode */
	unsigned int ethertype; /* of the L2 form, 0x0600 to 0xFFFF, not one of IP or of VLAN tags; 0 for 0x88B5 */
	unsigned int protocol;  /* of the L3 form, 146 to 254 (no other has them); 0 for 253 */
	int l3;                 /* build the L3 form, of IPv4 packets only, instead of the L2 form */
	unsigned int tick;      /* log2 of the spacing's unit in ns, 1 to 16; 0 for 6 */
	double spacing;         /* packets that are split wait for their spacing, so long at most, in us: 0.001 to 1e6; 0: they do not */
};

int weir_set_jumbo(struct weir *w, const struct weir_jumbo *jumbo);
/* Opaque, and 0, from a core that does not know jumbo frames. */
int weir_get_jumbo(struct weir *w, struct weir_jumbo *jumbo);
/* "opaque", "split", "transit"; WEIR_E_UNKNOWN for others. */
int weir_parse_jumbo_mode(const char *text, int *mode);

/* Which packets of a queue are merged into jumbo frames. */
enum weir_merge_mode {
	WEIR_MERGE_OFF,
	WEIR_MERGE_FLOW, /* those of one flow, whatever waits (JFEPM) */
	WEIR_MERGE_CLASS /* those of one class of the match table, for a time (JumboGen) */
};

struct weir_merge {
	int mode;               /* enum weir_merge_mode */
	unsigned int max_bytes; /* of the jumbo frame without FCS, 64 to 9216; 0 for 9216 */
	unsigned int max_sum;   /* of its IP packets, 40 to 8960; 0 for 8960 */
	unsigned int max_count; /* packets, 2 to 448; 0 for 448 */
	double jfet;            /* by class: microseconds from a group's first packet to its close, 0.001 to 1e6; 0 for 100 */
};

/* A change closes the groups that wait in the queue. */
int weir_set_merge(struct weir *w, unsigned int queue, const struct weir_merge *merge);
/* Off, and 0, from a core that cannot merge. */
int weir_get_merge(struct weir *w, unsigned int queue, struct weir_merge *merge);
/* "off", "flow", "class"; WEIR_E_UNKNOWN for others. */
int weir_parse_merge_mode(const char *text, int *mode);

/* The match table: the first rule that matches a packet's destination says its class, or that it is left alone. */
#define WEIR_MATCH_RULES 16
#define WEIR_MATCH_BYPASS (-1) /* instead of a class: never merged, by flow or by class */

struct weir_match {
	int family; /* 4 or 6; 0: the rule is not used */
	/* In network order, IPv4 in the first 4 bytes; bits outside of the mask do not count. Of IPv6 the first 64 bits may be told. */
	uint8_t address[16], mask[16];
	int group_class; /* 0 to 15, or WEIR_MATCH_BYPASS */
};

struct weir_match_table {
	struct weir_match rules[WEIR_MATCH_RULES];
	int unmatched; /* class of packets that no rule matches, or WEIR_MATCH_BYPASS */
};

/* A change closes all groups; while it is made, a few microseconds, nothing is merged. */
int weir_set_matches(struct weir *w, const struct weir_match_table *table);
/* No rules, and class 0, from a core that cannot merge. */
int weir_get_matches(struct weir *w, struct weir_match_table *table);
/* "10.1.0.0/16", "10.0.2.0&255.0.255.0", "2001:db8:1::/48": family, address and mask. */
int weir_parse_match(const char *text, struct weir_match *rule);
/* MRED with DDF, of queues that run red, isred or ared: a jumbo frame in transit that is selected is spared, and a share of the packets of
 * the jumbo frame nearest the head is dropped, or marked. */
struct weir_mred {
	int enable;
	double low;  /* share of the packets while the average is at min or below, 0 to 1 */
	double high; /* share at max and above, low to 1; between them it grows evenly */
};

/* min and max are those that the queue has; when they change, the slope between the shares follows. */
int weir_set_mred(struct weir *w, unsigned int queue, const struct weir_mred *mred);
/* Off, and 0, from a core that does not know jumbo frames. */
int weir_get_mred(struct weir *w, unsigned int queue, struct weir_mred *mred);

/* Takes over all core registers as they stand in the shadow. */
int weir_core_apply(struct weir *w);

int weir_seed(struct weir *w, uint64_t seed);
/* draw 0 to 2^24-1: every draw of the LFSR answers it; negative: random again. */
int weir_fix_draw(struct weir *w, int32_t draw);

/* Datapath, queues and counters start anew; the configuration stays. */
int weir_reset(struct weir *w);

/* ---- counters ------------------------------------------------------------------------------------------ */

struct weir_count {
	uint64_t packets, bytes;
};

struct weir_counters {
	struct weir_count in_not_ect, in_ect1, in_ect0, in_ce;
	struct weir_count early, forced, overflow;
	struct weir_count marked, already_ce;      /* at arrival */
	struct weir_count nodrop;                  /* Not-ECT, selected at arrival and accepted: nodrop, dt-ecn */
	struct weir_count out, link_down;          /* out: everything that was sent */
	struct weir_count front;                   /* dropped from the head of a queue over its limits */
	struct weir_count head_dropped;            /* by the policy at departure */
	struct weir_count head_marked;             /* by the policy at departure; part of out */
	struct weir_count head_already_ce;         /* selected by it, but CE already; part of out */
	struct weir_count partial;                 /* dropped out of jumbo frames that wait (MRED) */
	uint64_t sojourn[32]; /* packets that left after 2^b to 2^(b+1) ns */
};

struct weir_core_counters {
	struct weir_count rx, tx, bad, runt, oversize, ingress_overflow; /* packets of split jumbo frames each by itself */
	struct weir_count malformed;       /* jumbo frames that do not say the truth */
	struct weir_count jumbo_in;        /* jumbo frames that were split or kept together, as they came */
	struct weir_count split_discarded; /* packets of them: Not-ECT, and the jumbo frame was marked CE */
	struct weir_count rx_wire;         /* frames as they came */
	struct weir_count jumbo_out;       /* jumbo frames that were built or kept together, as they left */
	struct weir_count merged;          /* of tx, what left in them */
	struct weir_count tx_wire;         /* frames as they left */
	uint64_t evicted;                  /* groups that were closed because another flow needed their place */
	uint64_t hurried;                  /* packets that went before they were due: places or cells were short, or spacing was switched off */
	uint64_t trace_lost;   /* records */
	uint64_t throttled_ns; /* with a backlog held by the shaper */
	uint64_t uptime;       /* clock cycles since reset */
	uint64_t queued;       /* packets in all queues at the snapshot, arrivals that are being decided among them */
	uint64_t spaced;       /* packets that waited for their spacing at the snapshot: no arrivals yet */
};

struct weir_live {
	uint32_t bytes, packets, frames, cells;
	double average; /* in the queue's unit; fn: arrival rate in bytes per 2^20 ns; 0 where a policy has none */
	uint32_t peak_bytes, peak_packets; /* between the last two snapshots */
};

struct weir_core_live {
	uint64_t now_ns;
	uint32_t free_cells, free_cells_min, held_packets, generation; /* free_cells_min: between the last two snapshots */
	int link_up, resetting, snapshot_busy, apply_busy;
	int quiet; /* nothing but register accesses has moved for 32 cycles, and no deadline is near */
};

/* Copies all counters at one instant; the two calls below read the copy. */
int weir_snapshot(struct weir *w);
int weir_counters(struct weir *w, unsigned int queue, struct weir_counters *counters);
int weir_core_counters(struct weir *w, struct weir_core_counters *counters);
int weir_live(struct weir *w, unsigned int queue, struct weir_live *live);
int weir_core_live(struct weir *w, struct weir_core_live *live);

#define WEIR_MOST_QUEUES 8

/* Everything that is counted, and the peaks, of one instant; the other live values are of just after it. */
struct weir_state {
	uint32_t queues;
	struct weir_core_live core_live;
	struct weir_core_counters core;
	struct weir_live live[WEIR_MOST_QUEUES];
	struct weir_counters queue[WEIR_MOST_QUEUES];
};

/* A snapshot and all of it, in two requests where the transport can; histograms = 0 leaves out the sojourn times
 * (they are 0 then). */
int weir_snapshot_all(struct weir *w, struct weir_state *state, int histograms);

/* ---- trace --------------------------------------------------------------------------------------------- */

/* Where a field is: bits `high` to `low` of a word, the lowest part first. */
struct weir_trace_part {
	uint32_t word, high, low;
};

struct weir_trace_field {
	const char *name;
	uint32_t kinds;      /* bit n: records of kind n have it */
	uint32_t part_count;
	struct weir_trace_part parts[2];
	uint32_t fraction;   /* bits behind the binary point */
	const char *choices; /* "a|b|c", position = value; NULL for numbers */
	const char *help;
};

/* Field i of trace records; NULL after the last. */
const struct weir_trace_field *weir_trace_field_at(size_t i);
/* Field i of what a policy's ticks tell besides; NULL after the last. */
const struct weir_trace_field *weir_state_field_at(int policy, size_t i);

enum weir_trace_kinds { WEIR_TRACE_ARRIVALS = 1, WEIR_TRACE_DEPARTURES = 2, WEIR_TRACE_TICKS = 4 };

/* A core without a trace answers WEIR_E_UNSUPPORTED.
 * queues: bit n for queue n; kinds: enum weir_trace_kinds together. enable = 0 turns the trace off. */
int weir_trace_control(struct weir *w, int enable, uint32_t queues, uint32_t kinds);
int weir_trace_level(struct weir *w, unsigned int *records);
/* The next record: 1, or 0 when none waits. */
int weir_trace_read(struct weir *w, struct weir_trace_record *record);
/* Up to `most` records that wait: how many, or 0. */
int weir_trace_read_some(struct weir *w, struct weir_trace_record *records, size_t most);
void weir_trace_decode(const uint32_t words[WEIR_RECORD_WORDS], struct weir_trace_record *record);

/* ---- registers ----------------------------------------------------------------------------------------- */

int weir_register_read(struct weir *w, uint32_t address, uint32_t *value);
int weir_register_write(struct weir *w, uint32_t address, uint32_t value);

#ifdef __cplusplus
}
#endif
#endif
