/* Messages: one sentence a thread, as errno is one number a thread. */
#include "internal.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

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

	if (value == floor(value) && fabs(value) < 1e15)
		snprintf(text.s, sizeof(text.s), "%.0f", value);
	else
		snprintf(text.s, sizeof(text.s), "%.9g", value);
	return text;
}

struct weir_text weir_show_amount(double value, const char *unit)
{
	struct weir_text text = weir_show_value(value), full;

	snprintf(full.s, sizeof(full.s), "%.28s%s%.16s", text.s, *unit ? " " : "", unit);
	return full;
}

int weir_check_range(const char *name, double value, double min, double max, const char *unit, const char *advice)
{
	if (value >= min && value <= max)
		return WEIR_OK;
	return weir_fail(WEIR_E_RANGE, "%s %s is out of range: allowed is %s to %s; %s", name, weir_show_value(value).s,
			 weir_show_value(min).s, weir_show_amount(max, unit).s, advice);
}
