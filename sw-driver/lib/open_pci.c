/* pci:0000:01:00.0[/BAR][?core=N] through the resource file in sysfs; pci:/PATH[?core=N] for a UIO device or another file. */
#define _GNU_SOURCE
#include "transport.h"
#include "weir_regs.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SPACE 0x10000U /* addresses of a core: 16 bits; core n of several is at n times that */
#define LEAST (WEIR_Q_BASE + WEIR_Q_STRIDE)
#define BUSY_STEPS 500
#define BUSY_STEP_NS 10000000L
#define ALL_ONES UINT32_MAX /* what a PCI read gives when nobody answers */

struct pci {
	void *mapping; /* from the BAR's beginning: of a UIO device an offset would choose another BAR */
	size_t mapped;
	volatile uint32_t *words; /* of the core */
	size_t bytes;
	unsigned int core;
	int descriptor;
	bool whole; /* a file that has a size, which has to stay */
	char name[160];
};

static int gone(const struct pci *p)
{
	return weir_fail(WEIR_E_BUS, "%s: the device has gone; check that it is powered and configured", p->name);
}

/* Hexadecimal digits, then `end`; NULL if it is not so. */
static const char *field(const char *text, size_t digits, char end)
{
	return strspn(text, "0123456789abcdefABCDEF") == digits && text[digits] == end ? text + digits + 1 : NULL;
}

/* The file of the BAR; what is named ends at `stop`. */
static int path_of(const char *rest, const char *stop, char *path, size_t size)
{
	const char *p = field(rest, 4, ':');
	size_t length = (size_t)(stop - rest);

	if (*rest == '/' && length < size) {
		memcpy(path, rest, length);
		path[length] = '\0';
		return WEIR_OK;
	}
	p = p ? field(p, 2, ':') : NULL;
	p = p ? field(p, 2, '.') : NULL;
	if (p && *p >= '0' && *p <= '7' && (p + 1 == stop || (p[1] == '/' && p[2] >= '0' && p[2] <= '5' && p + 3 == stop))) {
		snprintf(path, size, "/sys/bus/pci/devices/%.12s/resource%c", rest, p[1] == '/' ? p[2] : '0');
		return WEIR_OK;
	}
	return weir_fail(WEIR_E_SYNTAX, "pci:%.60s: not a PCI function; write domain:bus:device.function as lspci -D shows it, e.g. "
			 "pci:0000:01:00.0, with /1 for BAR 1", rest);
}

static int transfer(void *ctx, const struct weir_access *list, size_t n)
{
	struct pci *p = ctx;
	struct stat file;

	/* a mapping beyond the end of its file, or of a device that was taken out, would be a SIGBUS */
	if (p->whole && (fstat(p->descriptor, &file) || (size_t)file.st_size < p->mapped || !file.st_nlink))
		return gone(p);
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < list[i].count; k++) {
			const uint32_t address = list[i].address + 4 * k;

			if (address % 4 || address >= p->bytes)
				return weir_refused(&list[i], k, "the address is misaligned or beyond the BAR");
			if (list[i].write)
				p->words[address / 4] = htole32(list[i].values[k]);
			else
				list[i].values[k] = le32toh(p->words[address / 4]);
			if (!list[i].write && list[i].values[k] == ALL_ONES && le32toh(p->words[0]) == ALL_ONES)
				return gone(p);
		}
	return WEIR_OK;
}

static int hold(void *ctx, bool on)
{
	const struct timespec step = { 0, BUSY_STEP_NS };
	struct pci *p = ctx;

	if (!on)
		return flock(p->descriptor, LOCK_UN) ? gone(p) : WEIR_OK;
	for (int i = 0; i < BUSY_STEPS; i++) {
		if (!flock(p->descriptor, LOCK_EX | LOCK_NB))
			return WEIR_OK;
		if (errno != EWOULDBLOCK && errno != EINTR)
			return gone(p);
		nanosleep(&step, NULL);
	}
	return weir_fail(WEIR_E_BUSY, "%s: another program has held the device for 5 s; try again", p->name);
}

static void close_pci(void *ctx)
{
	struct pci *p = ctx;

	munmap(p->mapping, p->mapped);
	close(p->descriptor);
	free(p);
}

static int refuse(const char *rest, int error)
{
	const char *advice = "check the address with lspci -D";

	if (error == EACCES || error == EPERM)
		advice = "run as root, or give your user access to the resource file; a kernel in lockdown allows nobody";
	return weir_fail(WEIR_E_OPEN, "pci:%.100s: %s; %s", rest, strerror(error), advice);
}

static int map(struct pci *p, const char *rest, const char *path)
{
	const size_t place = (size_t)p->core * SPACE;
	struct stat file;

	p->descriptor = open(path, O_RDWR | O_SYNC | O_CLOEXEC);
	if (p->descriptor < 0)
		return refuse(rest, errno);
	if (fstat(p->descriptor, &file))
		return refuse(rest, errno);
	p->whole = S_ISREG(file.st_mode);
	p->mapped = p->whole && (size_t)file.st_size < place + SPACE ? (size_t)file.st_size : place + SPACE;
	if (p->mapped < place + LEAST)
		return weir_fail(WEIR_E_OPEN, "pci:%.100s: the BAR has %zu bytes, a Weir core has at least %u from %zu on; name its BAR, "
				 "e.g. pci:0000:01:00.0/1, and one of its cores", rest, p->mapped, (unsigned int)LEAST, place);
	p->bytes = p->mapped - place;
	p->mapping = mmap(NULL, p->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, p->descriptor, 0);
	if (p->mapping == MAP_FAILED)
		return refuse(rest, errno);
	p->words = (volatile uint32_t *)((char *)p->mapping + place);
	if (le32toh(p->words[0]) != ALL_ONES)
		return WEIR_OK;
	munmap(p->mapping, p->mapped);
	return weir_fail(WEIR_E_OPEN, "pci:%.100s: nobody answers (all ones); write 1 to `enable` beside the resource file, or check "
			 "that the FPGA is configured and has this core", rest);
}

int weir_open_pci(const char *rest, struct weir_transport *transport)
{
	const char *query = strchr(rest, '?');
	unsigned int core = 0;
	struct pci *p;
	char path[160];
	int status = path_of(rest, query ? query : rest + strlen(rest), path, sizeof(path));

	if (!status && query)
		status = weir_parse_core("pci", rest, query, &core);
	if (status)
		return status;
	p = calloc(1, sizeof(*p));
	if (!p)
		return weir_fail(WEIR_E_MEMORY, "no memory for a device of %zu bytes; free some", sizeof(*p));
	p->core = core;
	snprintf(p->name, sizeof(p->name), "pci:%.150s", rest);
	status = map(p, rest, path);
	if (status) {
		if (p->descriptor >= 0)
			close(p->descriptor);
		free(p);
		return status;
	}
	*transport = (struct weir_transport){ p, transfer, hold, NULL, close_pci };
	return WEIR_OK;
}
