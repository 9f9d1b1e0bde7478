/* Shared by the files of libweir; not installed. */
#ifndef WEIR_INTERNAL_H
#define WEIR_INTERNAL_H

#include "weir.h"

#include <stdbool.h>

/* Longest message, with its end. */
#define WEIR_MESSAGE_SIZE 400

/* Keeps the sentence for weir_error() and answers `status`. */
__attribute__((format(printf, 2, 3))) int weir_fail(int status, const char *format, ...);

/* A value as people write it: no digits beyond what a double holds, whole numbers without exponent. */
struct weir_text {
	char s[48];
};
struct weir_text weir_show_value(double value);
struct weir_text weir_show_amount(double value, const char *unit);
/* The same in its unit's usual words ("4s", "64kbit", "4.999GB"); `inwards` rounds thousandths: floor, ceil or round. */
struct weir_text weir_show_bound(double value, const char *unit, double (*inwards)(double));

/* The name that is most like a word; name NULL: none is. */
#define WEIR_LONGEST_NAME 40
struct weir_guess {
	const char *name;
	size_t distance;
};
void weir_consider(struct weir_guess *guess, const char *word, const char *name);
/* ", did you mean '…'?", or nothing. */
struct weir_text weir_did_you_mean(const struct weir_guess *guess);

/* ---- parameters ---------------------------------------------------------------------------------------- */

/* Bits of weir_queue_config.in_bytes, of which those of policies follow, and of .named. */
enum weir_in_bytes { WEIR_IN_BYTES_RESERVE = 1 };
enum weir_named { WEIR_NAMED_WEIGHT = 1, WEIR_NAMED_THRESHOLD = 2 };

/* What narrows a range on a device. */
enum weir_span { WEIR_SPAN_ANY, WEIR_SPAN_BUFFER, WEIR_SPAN_DESCRIPTORS, WEIR_SPAN_CELLS, WEIR_SPAN_QUEUES, WEIR_SPAN_LINE };

/* A parameter and where weir_queue_config keeps it: an int for flags and choices, a double for the rest. */
struct weir_row {
	struct weir_parameter parameter;
	size_t offset;
	int span;           /* enum weir_span */
	uint32_t in_bytes;  /* the bit of an amount in weir_queue_config.in_bytes */
	bool whole;         /* a whole number */
	bool optional;      /* may stay unset */
	const char *advice; /* ends the message when the value is out of range; none: the size of the buffer does */
};

#define WEIR_AT(field) offsetof(struct weir_queue_config, field)

/* A flag; its help, source and default come first. */
#define WEIR_FLAG_ROW(name_, field_, default_, source_, help_)                                            \
	{                                                                                                 \
		.parameter = { name_, "", WEIR_KIND_FLAG, 0, 1, default_, NULL, source_, help_ },         \
		.offset = WEIR_AT(field_), .advice = "choose off or on"                                   \
	}

struct weir_register_name {
	const char *name;
	uint32_t offset;
};

struct weir;

/* What a policy computes. Every function may be missing. */
struct weir_policy_ops {
	/* a parameter has been set by name: what this means for others */
	void (*named)(struct weir_queue_config *config, const char *name);
	/* derives what is still unset when the defaults of the table have been filled in */
	int (*complete)(const struct weir_capabilities *caps, struct weir_queue_config *config);
	/* checks between parameters; each has passed its own range */
	int (*check)(const struct weir_capabilities *caps, const struct weir_queue_config *config);
	/* a complete and checked configuration to its words */
	void (*convert)(const struct weir_queue_config *config, struct weir_queue_registers *registers);
	void (*convert_back)(const struct weir_capabilities *caps, const struct weir_queue_registers *registers,
			     struct weir_queue_config *config);
	/* checks or changes words by what the device's other queues do; the device's lock is held */
	int (*place)(struct weir *w, unsigned int queue, struct weir_queue_registers *registers);
};

#define WEIR_LENGTH(list) (sizeof(list) / sizeof((list)[0]))
#define WEIR_ROWS(list) .rows = (list), .row_count = WEIR_LENGTH(list)
#define WEIR_WORDS(list) .words = (list), .word_count = WEIR_LENGTH(list)

/* A policy. Parameters and registers of `base` belong to it too, and the functions of `base` come first. */
struct weir_policy_entry {
	struct weir_policy_info info;
	const struct weir_policy_entry *base;
	const struct weir_row *rows;
	size_t row_count;
	const struct weir_register_name *words;
	size_t word_count;
	const struct weir_policy_ops *ops;
	const struct weir_trace_field *state; /* of its ticks */
	size_t state_count;
};

/* Every policy in order of number, and the fields of trace records: weir_policies.c, generated from their declarations in Scala. */
extern const struct weir_policy_entry weir_policies[];
extern const size_t weir_policy_count;
extern const struct weir_trace_field weir_trace_fields[];
extern const size_t weir_trace_field_count;

/* The policy of that number; NULL if there is none, weir_no_policy() is the message then. */
const struct weir_policy_entry *weir_policy_of(int policy);
int weir_no_policy(int policy);

/* Row i of a policy: common ones, then those of its base, then its own; NULL after the last. */
const struct weir_row *weir_row_at(int policy, size_t i);
/* The row of that name ('-' and '_' are the same), or NULL. */
const struct weir_row *weir_row_of(int policy, const char *name);
const struct weir_row *weir_shaper_row_of(const char *name);

bool weir_is_choice(const struct weir_row *row);
/* A parameter's value; NaN if it is unset. */
double weir_row_value(const struct weir_queue_config *config, const struct weir_row *row);
void weir_set_row(struct weir_queue_config *config, const struct weir_row *row, double value);

/* The position of a name among "a|b|c", or -1. */
int weir_choice_value(const char *choices, const char *name);
const char *weir_unit_name(int unit);
/* The limit in the queue's unit. */
double weir_unit_limit(const struct weir_queue_config *config);

/* Refuses a value outside [min, max], NaN too. */
int weir_check_range(const char *name, double value, double min, double max, const char *unit, const char *advice);
/* One parameter of a configuration against its range. */
int weir_check_parameter(const struct weir_capabilities *caps, const struct weir_queue_config *config, const char *name);
/* What every policy has. */
int weir_check_common(const struct weir_capabilities *caps, const struct weir_queue_config *config);

void weir_fill(double *value, double otherwise);
void weir_fill_choice(int *value, int otherwise);

/* ---- values -------------------------------------------------------------------------------------------- */

/* The value of a text, without a message if it is none. `suffix`: a size had one, which says bytes. */
bool weir_read_text(const struct weir_parameter *parameter, const char *text, double *value, bool *suffix);
/* The same with a message. */
/* 0 for `zero`, 1 for `one`; WEIR_E_UNKNOWN names both for another text. */
int weir_parse_either(const char *what, const char *text, const char *zero, const char *one, int *value);
int weir_parse_text(const struct weir_parameter *parameter, const char *text, double *value, bool *suffix);

/* ---- fixed point --------------------------------------------------------------------------------------- */

/* The words of a policy, all 0 but the policy. */
void weir_registers_of(const struct weir_policy_entry *entry, struct weir_queue_registers *registers);
/* A word that the policy has. */
void weir_put(struct weir_queue_registers *registers, uint32_t offset, uint32_t value);
/* A word; 0 if the policy has no such. */
uint32_t weir_take(const struct weir_queue_registers *registers, uint32_t offset);

/* A threshold as the hardware will have it, and its word. */
double weir_round_threshold(double value);
uint32_t weir_threshold_word(double value);
double weir_from_threshold(uint32_t word);
/* UQ0.32, 1 as all ones. */
uint32_t weir_probability_word(double probability);
double weir_from_probability(uint32_t word);
/* Microseconds as ns. */
uint32_t weir_time_word(double microseconds);
double weir_from_time(uint32_t word);
/* MANTISSA and EXPONENT of a register: value is MANTISSA * 2^-EXPONENT. */
uint32_t weir_scaled_word(double value);
double weir_from_scaled_word(uint32_t word);
/* The same for numbers that are large: value is MANTISSA * 2^(EXPONENT - bias). */
uint32_t weir_wide_word(double value, int bias);
double weir_from_wide_word(uint32_t word, int bias);
/* A controller's gain, from 1/s to 2^40 a ns; the shortest number that has this word. */
uint32_t weir_gain_word(double per_second);
double weir_from_gain_word(uint32_t word);
/* An end of the range, for a value that only rounding took over it. */
double weir_settle(double value, double min, double max);
/* The shortest decimal number near `value` that `to_word` makes `word` of; `value` if there is none. */
double weir_shortest(double value, uint32_t word, uint32_t (*to_word)(double value));
/* The same for whatever `fits` says of a number and what is known of it; `value` if nothing shorter fits. */
double weir_shortest_that(double value, bool (*fits)(double value, const void *known), const void *known);

/* MANTISSA and EXPONENT stand in every register that has them where RED_SLOPE has them. */
#define WEIR_SCALED_MANTISSA_SHIFT WEIR_Q_RED_SLOPE_MANTISSA_SHIFT
#define WEIR_SCALED_MANTISSA_MASK WEIR_Q_RED_SLOPE_MANTISSA_MASK
#define WEIR_SCALED_EXPONENT_SHIFT WEIR_Q_RED_SLOPE_EXPONENT_SHIFT
#define WEIR_SCALED_EXPONENT_MASK WEIR_Q_RED_SLOPE_EXPONENT_MASK

#define WEIR_FIELD(name, value) ((uint32_t)(value) << name##_SHIFT)
#define WEIR_TAKE(name, word) ((word) >> name##_SHIFT & name##_MASK)

#endif
