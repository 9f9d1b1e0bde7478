/* Values as tc writes them (iproute2 tc(8), PARAMETERS): sizes count by 1024, rates by 1000, times are us. */
#define _POSIX_C_SOURCE 200809L
#include "internal.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct suffix {
	const char *name;
	double factor;
};

/* The shortest decimal number that starts `text`, whatever the locale; NULL if there is none. strtod would also
 * read hexadecimal numbers, "inf" and "nan". */
static const char *leading_number(const char *text, double *value)
{
	const char *p = text;
	char digits[64];
	char *end;
	size_t length;
	bool any = false;

	if (*p == '+' || *p == '-')
		p++;
	for (; isdigit((unsigned char)*p); p++)
		any = true;
	if (*p == '.')
		for (p++; isdigit((unsigned char)*p); p++)
			any = true;
	if (!any)
		return NULL;
	if (*p == 'e' || *p == 'E') {
		const char *exponent = p + 1;

		if (*exponent == '+' || *exponent == '-')
			exponent++;
		if (isdigit((unsigned char)*exponent)) {
			while (isdigit((unsigned char)*exponent))
				exponent++;
			p = exponent;
		}
	}
	length = (size_t)(p - text);
	if (length >= sizeof(digits))
		return NULL;
	memcpy(digits, text, length);
	digits[length] = '\0';

	locale_t plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	if (plain == (locale_t)0)
		return NULL;
	locale_t before = uselocale(plain);
	*value = strtod(digits, &end);
	uselocale(before);
	freelocale(plain);
	return *end == '\0' && isfinite(*value) ? p : NULL;
}

/* The number and the suffix of `text`; the suffix is NULL if it has none. */
static int with_suffix(const char *text, const struct suffix *suffixes, double *value, const struct suffix **found)
{
	const char *rest = text ? leading_number(text, value) : NULL;

	*found = NULL;
	if (!rest)
		return WEIR_E_SYNTAX;
	if (!*rest)
		return WEIR_OK;
	for (; suffixes->name; suffixes++) {
		if (!strcasecmp(rest, suffixes->name)) {
			*value *= suffixes->factor;
			*found = suffixes;
			return WEIR_OK;
		}
	}
	return WEIR_E_SYNTAX;
}

#define KI 1024.0
#define MI (KI * KI)
#define GI (MI * KI)

static const struct suffix sizes[] = {
	{ "b", 1 },        { "k", KI },        { "kb", KI },       { "m", MI },
	{ "mb", MI },      { "g", GI },        { "gb", GI },       { "kbit", KI / 8 },
	{ "mbit", MI / 8 }, { "gbit", GI / 8 }, { NULL, 0 },
};

static const struct suffix rates[] = {
	{ "bit", 1 },          { "kbit", 1e3 },       { "mbit", 1e6 },       { "gbit", 1e9 },
	{ "tbit", 1e12 },      { "kibit", KI },       { "mibit", MI },       { "gibit", GI },
	{ "bps", 8 },          { "kbps", 8e3 },       { "mbps", 8e6 },       { "gbps", 8e9 },
	{ "kibps", 8 * KI },   { "mibps", 8 * MI },   { "gibps", 8 * GI },   { NULL, 0 },
};

static const struct suffix times[] = {
	{ "s", 1e6 },   { "sec", 1e6 },  { "secs", 1e6 }, { "ms", 1e3 },   { "msec", 1e3 },  { "msecs", 1e3 }, { "us", 1 },
	{ "usec", 1 },  { "usecs", 1 },  { "ns", 1e-3 },  { "nsec", 1e-3 }, { "nsecs", 1e-3 }, { NULL, 0 },
};

static const struct suffix plain[] = { { "%", 0.01 }, { NULL, 0 } };

static const struct suffix percents[] = { { "%", 1 }, { NULL, 0 } };

/* How texts of a kind are read; the message quotes the text first. */
static const struct form {
	const struct suffix *suffixes;
	const char *refusal;
} forms[] = {
	[WEIR_KIND_FLAG] = { NULL, "is neither on nor off; write on, off, yes, no, true or false" },
	[WEIR_KIND_SIZE] = { sizes, "is not a size; write a number of bytes, or one with k, m or g (x1024), e.g. 30000, "
				    "30KB, 1m" },
	[WEIR_KIND_AMOUNT] = { sizes, "is not a size; write a number of bytes, or one with k, m or g (x1024), e.g. "
				      "30000, 30KB, 1m" },
	[WEIR_KIND_COUNT] = { plain, "is not a number; write e.g. 0.02, 2% or 1e-3" },
	[WEIR_KIND_NUMBER] = { plain, "is not a number; write e.g. 0.02, 2% or 1e-3" },
	[WEIR_KIND_RATE] = { rates, "is not a rate; write bits per second, or a number with kbit, mbit, gbit (x1000) or "
				    "bps, kbps, mbps (bytes), e.g. 64kbit, 1.5mbit, 10Gbit" },
	[WEIR_KIND_TIME] = { times, "is not a time; write a number with s, ms, us or ns, or microseconds, e.g. 15ms, "
				    "500us, 1.5s, 20" },
	[WEIR_KIND_PERCENT] = { percents, "is not a percentage; write 0 to 100, e.g. 50 or 50%" },
};

static bool read_flag(const char *text, double *value)
{
	int state = weir_choice_value("off|on|no|yes|false|true|0|1", text);

	*value = state & 1;
	return state >= 0;
}

static bool read_choice(const char *choices, const char *text, double *value)
{
	*value = weir_choice_value(choices, text);
	return *value >= 0;
}

bool weir_read_text(const struct weir_parameter *p, const char *text, double *value, bool *suffix)
{
	const struct suffix *found;
	double read;

	*suffix = false;
	if (!text)
		return false;
	if (p->kind == WEIR_KIND_FLAG)
		return read_flag(text, value);
	if (p->kind == WEIR_KIND_CHOICE)
		return read_choice(p->choices, text, value);
	if (p->kind == WEIR_KIND_TIME && !strcmp(p->default_text, "off") && !strcasecmp(text, "off")) {
		*value = INFINITY; /* a time that never comes */
		return true;
	}
	if (with_suffix(text, forms[p->kind].suffixes, &read, &found))
		return false;
	*suffix = found != NULL;
	*value = forms[p->kind].suffixes == sizes && *suffix && found->factor > 1 ? floor(read) : read; /* as tc: 30.7k */
	return true;
}

int weir_parse_text(const struct weir_parameter *p, const char *text, double *value, bool *suffix)
{
	if (weir_read_text(p, text, value, suffix))
		return WEIR_OK;
	if (p->kind == WEIR_KIND_CHOICE)
		return weir_fail(WEIR_E_SYNTAX, "'%.30s' is not a choice; choose one of %s", text ? text : "", p->choices);
	return weir_fail(WEIR_E_SYNTAX, "'%.40s' %s", text ? text : "", forms[p->kind].refusal);
}

static int parse(int kind, const char *text, double *value)
{
	const struct weir_parameter any = { .kind = kind, .default_text = "" };
	bool suffix;

	return weir_parse_text(&any, text, value, &suffix);
}

int weir_parse_size(const char *text, double *bytes)
{
	return parse(WEIR_KIND_SIZE, text, bytes);
}

int weir_parse_rate(const char *text, double *bits_per_second)
{
	return parse(WEIR_KIND_RATE, text, bits_per_second);
}

int weir_parse_time(const char *text, double *microseconds)
{
	return parse(WEIR_KIND_TIME, text, microseconds);
}

int weir_parse_number(const char *text, double *value)
{
	return parse(WEIR_KIND_NUMBER, text, value);
}

int weir_parse_flag(const char *text, int *value)
{
	double state;
	int status = parse(WEIR_KIND_FLAG, text, &state);

	if (!status)
		*value = (int)state;
	return status;
}

int weir_parse_either(const char *what, const char *text, const char *zero, const char *one, int *value)
{
	if (strcmp(text, zero) && strcmp(text, one))
		return weir_fail(WEIR_E_UNKNOWN, "%s '%s' is not known; allowed is %s or %s", what, text, zero, one);
	*value = !strcmp(text, one);
	return WEIR_OK;
}
