/* uart:/dev/tty…[@BAUD][?core=N], a serial line to a board whose bridge speaks the register protocol. 8N1, no flow
 * control. */
#define _GNU_SOURCE
#include "transport.h"
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define DEFAULT_BAUD 1000000
#define WAIT_MS 200 /* USB adapters hand over what they have every 16 ms */

static const struct {
	long baud;
	speed_t speed;
} speeds[] = {
	{ 9600, B9600 },       { 19200, B19200 },     { 38400, B38400 },     { 57600, B57600 },     { 115200, B115200 },
	{ 230400, B230400 },   { 460800, B460800 },   { 500000, B500000 },   { 576000, B576000 },   { 921600, B921600 },
	{ 1000000, B1000000 }, { 1500000, B1500000 }, { 2000000, B2000000 }, { 3000000, B3000000 }, { 4000000, B4000000 },
};

/* Takes "/dev/ttyUSB0@1000000" apart; it ends at `stop`. */
static int parse(const char *rest, const char *stop, char *path, size_t size, long *baud, speed_t *speed)
{
	const char *at = memrchr(rest, '@', (size_t)(stop - rest));
	size_t length = (size_t)((at ? at : stop) - rest);
	char *end = NULL;

	*baud = at ? strtol(at + 1, &end, 10) : DEFAULT_BAUD;
	if (!length || length >= size)
		return weir_fail(WEIR_E_SYNTAX, "uart:%.100s: the path has %zu bytes, allowed is 1 to %zu; write uart:/dev/ttyUSB0",
				 rest, length, size - 1);
	memcpy(path, rest, length);
	path[length] = '\0';
	if (!at || (at[1] >= '0' && at[1] <= '9' && end == stop))
		for (size_t i = 0; i < WEIR_LENGTH(speeds); i++)
			if (speeds[i].baud == *baud) {
				*speed = speeds[i].speed;
				return WEIR_OK;
			}
	return weir_fail(WEIR_E_SYNTAX, "uart:%.100s: '%.*s' is not a speed; allowed are 9600, 19200, 38400, 57600, 115200, 230400, "
			 "460800, 500000, 576000, 921600, 1000000, 1500000, 2000000, 3000000 and 4000000", rest,
			 at ? (int)(stop - at - 1 < 20 ? stop - at - 1 : 20) : 0, at ? at + 1 : rest);
}

static int refuse(const char *path, int error)
{
	const char *advice = "check the path and the cable";

	if (error == EACCES || error == EPERM)
		advice = "join the group of serial lines (dialout), or run as root";
	else if (error == ENOTTY || error == EINVAL)
		return weir_fail(WEIR_E_OPEN, "uart:%.100s: not a serial line; name a tty", path);
	return weir_fail(WEIR_E_OPEN, "uart:%.100s: %s; %s", path, strerror(error), advice);
}

static int set_up(int descriptor, speed_t speed)
{
	struct termios t;

	if (tcgetattr(descriptor, &t))
		return -1;
	cfmakeraw(&t);
	t.c_cflag |= CLOCAL | CREAD;
	t.c_cflag &= ~(tcflag_t)(CRTSCTS | CSTOPB | PARENB);
	t.c_cc[VMIN] = 0;
	t.c_cc[VTIME] = 0;
	if (cfsetispeed(&t, speed) || cfsetospeed(&t, speed) || tcsetattr(descriptor, TCSANOW, &t))
		return -1;
	return tcflush(descriptor, TCIOFLUSH);
}

int weir_open_uart(const char *rest, struct weir_transport *transport)
{
	struct weir_line line = { .wait_ms = WAIT_MS, .advice = "check the cable, the speed and that the board is configured" };
	const char *query = strchr(rest, '?');
	char path[128];
	speed_t speed = B1000000;
	long baud;
	int status = parse(rest, query ? query : rest + strlen(rest), path, sizeof(path), &baud, &speed);

	if (!status && query)
		status = weir_parse_core("uart", rest, query, &line.core);
	if (status)
		return status;
	line.descriptor = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (line.descriptor < 0)
		return refuse(path, errno);
	if (flock(line.descriptor, LOCK_EX | LOCK_NB)) {
		close(line.descriptor);
		return weir_fail(WEIR_E_BUSY, "uart:%.100s: another program uses this line; end it first", path);
	}
	if (set_up(line.descriptor, speed)) {
		int error = errno;

		close(line.descriptor);
		return refuse(path, error);
	}
	line.baud = (double)baud;
	snprintf(line.name, sizeof(line.name), "uart:%.120s@%ld%.9s", path, baud, query ? query : "");
	return weir_open_link(&line, transport);
}
