/* unix:PATH, a stream socket whose server speaks the register protocol. */
#define _GNU_SOURCE
#include "transport.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define WAIT_MS 2000 /* a cycle model takes its time */

static int refuse(const char *path, int error)
{
	const char *advice = "check the path";

	if (error == ECONNREFUSED || error == ENOENT)
		advice = "start the server, for instance `weir-sim serve --socket PATH`";
	else if (error == EACCES || error == EPERM)
		advice = "ask its owner for access, or run as a user who has it";
	return weir_fail(WEIR_E_OPEN, "unix:%.100s: %s; %s", path, strerror(error), advice);
}

int weir_open_unix(const char *rest, struct weir_transport *transport)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct weir_line line = { .shared = true, .wait_ms = WAIT_MS, .advice = "check that its server is running" };

	if (!*rest || strlen(rest) >= sizeof(address.sun_path))
		return weir_fail(WEIR_E_SYNTAX, "unix:%.100s: the path has %zu bytes, allowed is 1 to %zu; write unix:PATH", rest,
				 strlen(rest), sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, rest, strlen(rest) + 1);
	line.descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (line.descriptor < 0)
		return refuse(rest, errno);
	if (connect(line.descriptor, (const struct sockaddr *)&address, sizeof(address)) ||
	    fcntl(line.descriptor, F_SETFL, O_NONBLOCK)) {
		int error = errno;

		close(line.descriptor);
		return refuse(rest, error);
	}
	snprintf(line.name, sizeof(line.name), "unix:%s", rest);
	return weir_open_link(&line, transport);
}
