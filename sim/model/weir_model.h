/* The cycle model of a Weir core: the Verilated RTL behind a C interface.
 *
 * Time. Cycle k begins at floor(k * 32 / 5) ns (6.4 ns a cycle), the value of `now_ns` in that cycle.
 * Every time below is in these nanoseconds; a beat's time is that of the cycle that transferred it.
 *
 * Several cores may live in one process, each in one thread at a time. No function prints.
 * The part between the two marks is read by the Python binding as it stands: plain C only.
 */
#ifndef WEIR_MODEL_H
#define WEIR_MODEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* [cdef] */
typedef struct weir_model weir_model;

/* Status codes. Zero and above is success. */
enum {
  WEIR_MODEL_OK = 0,
  WEIR_MODEL_SLVERR = 1,     /* the register access was answered with an error */
  WEIR_MODEL_TIMEOUT = -1,   /* the core did not answer, or did not become idle, within the bound */
  WEIR_MODEL_ARGUMENT = -2,  /* an argument is out of range; nothing was done */
  WEIR_MODEL_NO_WAVE = -3,   /* this build cannot write waveforms, or the file cannot be written */
  WEIR_MODEL_MEMORY = -4
};

/* Flags of a frame that is sent. */
enum {
  WEIR_MODEL_BAD = 1         /* tuser on the last beat: the MAC found the frame bad */
};

/* Options, set by weir_model_set. The first value is the default. */
enum {
  WEIR_MODEL_LINE = 0,       /* ingress: 0 10GbE spacing, (max(L, 60) + 24) * 0.8 ns a frame; 1 back to back */
  WEIR_MODEL_EGRESS = 1,     /* sink: 0 always ready; 1 paced like a 10GbE MAC; 2 never ready */
  WEIR_MODEL_SKIP = 2,       /* leaving out what changes nothing: 1 idle cycles and edges of idle units' clocks; 0 nothing; 2 edges */
  WEIR_MODEL_LINK = 3,       /* link_up: 1 up; 0 down */
  WEIR_MODEL_KEEP = 4,       /* bit 0 keep frames for recv, bit 1 keep trace records: 3 both; 0 to 3 */
  WEIR_MODEL_OPTIONS = 5
};

/* Numbers, read by weir_model_get. */
enum {
  WEIR_MODEL_NOW_NS = 0,     /* time of the next cycle to run */
  WEIR_MODEL_CYCLES = 1,     /* cycles since creation, skipped ones too */
  WEIR_MODEL_EVALUATED = 2,  /* cycles that were really evaluated */
  WEIR_MODEL_PENDING = 3,    /* frames sent but not yet wholly in the core */
  WEIR_MODEL_FRAMES_IN = 4,  /* frames whose last beat went in */
  WEIR_MODEL_BYTES_IN = 5,
  WEIR_MODEL_FRAMES_OUT = 6, /* frames whose last beat came out */
  WEIR_MODEL_BYTES_OUT = 7,
  WEIR_MODEL_INGRESS_STALLS = 8, /* cycles in which the core refused a beat (must stay 0) */
  WEIR_MODEL_UNDERRUNS = 9,  /* cycles without a beat inside an outgoing frame (must stay 0) */
  WEIR_MODEL_TRACE_RECORDS = 10, /* records seen on the trace port since creation */
  WEIR_MODEL_LINE_FREE_NS = 11,  /* when the ingress line could take a frame after all that were sent */
  WEIR_MODEL_NEXT_NS = 12,   /* until when nothing can happen: NOW_NS if something does, all ones if nothing will */
  WEIR_MODEL_STILL = 13,     /* of a library built with --check, of all its cores: cycles in which a clock stood still */
  WEIR_MODEL_STRAYS = 14     /* of those, in which something would have moved with that clock (must stay 0); stderr says what */
};

/* A core after reset, ready for frames. NULL if there is no memory or the core hangs in reset. */
weir_model *weir_model_create(void);
void weir_model_destroy(weir_model *m);
/* Name of the preset that was built in, for instance "full". */
const char *weir_model_preset(void);
/* SHA-256, in hexadecimal digits, of the Verilog it was built from: that of all .v files of the preset's directory below
 * build/rtl/ (gated/, reduced/ or itself), one behind the other. */
const char *weir_model_rtl(void);
/* Queues of the core: PARAMS.QUEUES, without one. */
unsigned weir_model_queues(void);
/* 1 if this build can write waveforms. */
int weir_model_can_wave(void);

int weir_model_set(weir_model *m, int option, int value);
uint64_t weir_model_get(const weir_model *m, int number);

/* Queues `count` frames on the ingress line, in this order. `bytes` holds them one after the other;
 * frame i has lengths[i] bytes (1 to 65535), its first beat at at_ns[i] or as soon after as the line is
 * free. `flags` may be NULL. A time in the past means now. */
int weir_model_send(weir_model *m, size_t count, const uint8_t *bytes, const uint32_t *lengths,
                    const uint64_t *at_ns, const uint8_t *flags);

/* Runs every cycle that begins before `ns`. */
int weir_model_run_until(weir_model *m, uint64_t ns);
/* Runs until nothing is pending on the line, held in the core or on its way out, at most to `limit_ns`. */
int weir_model_run_idle(weir_model *m, uint64_t limit_ns);
/* Runs `cycles` cycles with everything as it is. */
int weir_model_run_cycles(weir_model *m, uint64_t cycles);

/* What waits to be received: frames and their bytes. */
void weir_model_received(const weir_model *m, size_t *frames, size_t *bytes);
/* Takes all of it. `bytes` as for send; first_ns and last_ns are the times of the first and last beat,
 * tuser that of the last beat. Each array must have room for what weir_model_received tells. */
void weir_model_recv(weir_model *m, uint8_t *bytes, uint32_t *lengths, uint64_t *first_ns,
                     uint64_t *last_ns, uint8_t *tuser);

/* Trace records that wait. */
size_t weir_model_traced(const weir_model *m);
/* Takes the first `count` of them, 12 words each, and the times at which they were on the trace port (at_ns may
 * be NULL). Answers how many it took. */
size_t weir_model_trace(weir_model *m, uint32_t *words, uint64_t *at_ns, size_t count);

/* One AXI4-Lite access. Time passes and traffic goes on while it runs. */
int weir_model_csr_read(weir_model *m, uint32_t address, uint32_t *value);
int weir_model_csr_write(weir_model *m, uint32_t address, uint32_t value);

/* Pulls `rst` for some cycles and runs until the core is ready again. What is on the line stays there. */
int weir_model_reset(weir_model *m);

/* Begins a VCD file, or ends it (path NULL). */
int weir_model_wave(weir_model *m, const char *path);
/* [/cdef] */

#ifdef __cplusplus
}
#endif
#endif
