/* Messages: one sentence a thread, as errno is one number a thread. */
#include "internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char message[WEIR_MESSAGE_SIZE];

const char *weir_error(void)
{
	return message;
}

int weir_fail(int status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	return status;
}

struct weir_text weir_show_value(double value)
{
	struct weir_text text;
	char *plus;

	if (value == floor(value) && fabs(value) < 1e15)
		snprintf(text.s, sizeof(text.s), "%.0f", value);
	else
		snprintf(text.s, sizeof(text.s), "%.9g", value);
	plus = strchr(text.s, '+');
	if (plus) /* 1e20, as it is written by hand */
		memmove(plus, plus + 1, strlen(plus));
	return text;
}

struct weir_text weir_show_amount(double value, const char *unit)
{
	struct weir_text text = weir_show_value(value), full;

	snprintf(full.s, sizeof(full.s), "%.28s%s%.16s", text.s, *unit ? " " : "", unit);
	return full;
}

#define MOST_SCALED 1e12 /* thousandths of the largest unit, above which a value has no unit: ten digits tell no more */
#define PLAIN_BYTES 1e8 /* below, bytes are as short as one with a suffix */

/* Suffixes of values with this unit, the largest first. */
static const struct scale {
	const char *suffix;
	double factor;
} times[] = { { "s", 1e6 }, { "ms", 1e3 }, { "us", 1 }, { "ns", 1e-3 }, { NULL, 0 } },
  rates[] = { { "Gbit", 1e9 }, { "Mbit", 1e6 }, { "kbit", 1e3 }, { "bit", 1 }, { NULL, 0 } },
  sizes[] = { { "GB", 1073741824.0 }, { "MB", 1048576.0 }, { "KB", 1024.0 }, { "b", 1 }, { NULL, 0 } };

static const struct scale *scale_of(const char *unit, double value)
{
	if (!isfinite(value) || value == 0)
		return NULL;
	if (!strcmp(unit, "us"))
		return times;
	if (!strcmp(unit, "bit/s"))
		return rates;
	return !strcmp(unit, "bytes") && fabs(value) >= PLAIN_BYTES ? sizes : NULL;
}

struct weir_text weir_show_bound(double value, const char *unit, double (*inwards)(double))
{
	const struct scale *scale = scale_of(unit, value);
	struct weir_text text;
	double scaled;

	if (!scale)
		return weir_show_value(strcmp(unit, "bytes") ? value : inwards(value));
	while (fabs(value) < scale->factor * (1 - 1e-9) && scale[1].suffix)
		scale++;
	scaled = value / scale->factor * 1e3;
	if (fabs(scaled) >= MOST_SCALED)
		return weir_show_value(value);
	scaled = fabs(scaled - round(scaled)) < 1e-6 ? round(scaled) : inwards(scaled);
	snprintf(text.s, sizeof(text.s), "%.10g%s", scaled / 1e3, scale->suffix);
	return text;
}

int weir_check_range(const char *name, double value, double min, double max, const char *unit, const char *advice)
{
	const bool whole = !strcmp(unit, "bytes"); /* a size is told as it was given */
	struct weir_text low = weir_show_bound(min, unit, ceil), high = weir_show_bound(max, unit, floor);

	if (value >= min && value <= max)
		return WEIR_OK;
	return weir_fail(WEIR_E_RANGE, "%s %s is out of range: allowed is %s to %s%s%s; %s", name,
			 (whole ? weir_show_value(value) : weir_show_bound(value, unit, round)).s, low.s, high.s,
			 scale_of(unit, max) || !*unit ? "" : " ", scale_of(unit, max) ? "" : unit, advice);
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Letters to change, leave out, put in or swap with the next, from one word to another (optimal string alignment). */
static size_t distance(const char *a, const char *b)
{
	size_t d[WEIR_LONGEST_NAME + 1][WEIR_LONGEST_NAME + 1], m = strlen(a), n = strlen(b);

	if (m > WEIR_LONGEST_NAME || n > WEIR_LONGEST_NAME)
		return SIZE_MAX;
	for (size_t i = 0; i <= m; i++)
		for (size_t j = 0; j <= n; j++) {
			if (!i || !j) {
				d[i][j] = i + j;
				continue;
			}
			d[i][j] = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			d[i][j] = least(d[i][j], least(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[m][n];
}

void weir_consider(struct weir_guess *guess, const char *word, const char *name)
{
	size_t found = distance(word, name);

	if (found <= (strlen(word) + 2) / 3 && found < strlen(name) && (!guess->name || found < guess->distance))
		*guess = (struct weir_guess){ name, found };
}

struct weir_text weir_did_you_mean(const struct weir_guess *guess)
{
	struct weir_text text = { "" };

	if (guess->name)
		snprintf(text.s, sizeof(text.s), ", did you mean '%.20s'?", guess->name);
	return text;
}
