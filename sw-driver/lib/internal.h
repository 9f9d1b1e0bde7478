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

enum weir_in_bytes { WEIR_IN_BYTES_MIN = 1, WEIR_IN_BYTES_MAX = 2, WEIR_IN_BYTES_RESERVE = 4 };
enum weir_named { WEIR_NAMED_WEIGHT = 1 };

/* The parameter of that scope and name ('-' and '_' are the same), or NULL. */
const struct weir_parameter *weir_find_parameter(int scope, const char *name);
/* Where weir_queue_config keeps a parameter of the queue scope. */
double *weir_number_field(struct weir_queue_config *config, const struct weir_parameter *parameter);
int *weir_choice_field(struct weir_queue_config *config, const struct weir_parameter *parameter);

/* The value's name among "a|b|c", or "?". */
struct weir_text weir_choice_name(const char *choices, int value);
/* The position of a name among "a|b|c", or -1. */
int weir_choice_value(const char *choices, const char *name);
const char *weir_unit_name(int unit);

/* Refuses a value outside [min, max], NaN too. */
int weir_check_range(const char *name, double value, double min, double max, const char *unit, const char *advice);

/* A threshold as the hardware will have it. */
double weir_round_threshold(double value);

/* A size, and whether it had a suffix that says bytes. */
int weir_parse_amount(const char *text, double *value, bool *suffix);

#endif
