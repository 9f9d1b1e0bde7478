/* Devices by URI. What each scheme opens is in open_<scheme>.c. */
#include "device.h"

#include <stdlib.h>
#include <string.h>

#define CORE_KEY "?core="

static const struct weir_opener openers[] = {
	{ "unix", weir_open_unix },
	{ "uart", weir_open_uart },
	{ "pci", weir_open_pci },
	{ "sim", weir_open_sim },
};

#define FORMS "write unix:PATH, uart:/dev/ttyUSB0@1000000, pci:0000:01:00.0 or sim:full"

int weir_parse_core(const char *scheme, const char *rest, const char *query, unsigned int *core)
{
	const char *number = query + strlen(CORE_KEY);
	char *end;
	unsigned long value;

	if (strncmp(query, CORE_KEY, strlen(CORE_KEY)))
		return weir_fail(WEIR_E_SYNTAX, "%s:%.100s: '%.40s' is not known; write " CORE_KEY "0 to %u", scheme, rest, query,
				 WEIR_MOST_CORES - 1);
	value = strtoul(number, &end, 10);
	if (*number < '0' || *number > '9' || *end || value >= WEIR_MOST_CORES)
		return weir_fail(WEIR_E_SYNTAX, "%s:%.100s: core '%.20s' is out of range: allowed is 0 to %u", scheme, rest, number,
				 WEIR_MOST_CORES - 1);
	*core = (unsigned int)value;
	return WEIR_OK;
}

int weir_refused(const struct weir_access *access, uint32_t done, const char *what)
{
	const unsigned int address = access->address + 4 * done;

	if (access->write)
		return weir_fail(WEIR_E_BUS, "writing 0x%08X to register 0x%04X: %s; this core has no such register, or not that value",
				 (unsigned int)access->values[done], address, what);
	return weir_fail(WEIR_E_BUS, "reading register 0x%04X: %s; this core has no such register", address, what);
}

int weir_open(const char *uri, struct weir **w)
{
	struct weir_transport transport;
	size_t length;

	*w = NULL;
	if (!uri || !*uri)
		return weir_fail(WEIR_E_SYNTAX, "no device is named; " FORMS);
	length = strcspn(uri, ":");
	if (!uri[length])
		return weir_fail(WEIR_E_SYNTAX, "device '%.100s' has no scheme; " FORMS, uri);
	for (size_t i = 0; i < WEIR_LENGTH(openers); i++)
		if (strlen(openers[i].scheme) == length && !strncmp(uri, openers[i].scheme, length)) {
			int status = openers[i].open(uri + length + 1, &transport);

			return status ? status : weir_open_transport(&transport, w);
		}
	return weir_fail(WEIR_E_SYNTAX, "scheme '%.*s' of device '%.100s' is not known; " FORMS, (int)(length < 20 ? length : 20),
			 uri, uri);
}
