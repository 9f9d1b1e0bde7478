// The RTL of a bridge and its cores behind a pseudo-terminal: whatever opens the terminal speaks to the pins of the UART.
//
//     line CLOCK_HZ BAUD
//
// Prints the terminal's name, runs until its standard input ends, then prints `cycles N` and, for what went over the line,
// `bytes IN OUT`. Time stands still while nothing has moved for a while.
#include "Vline.h"
#include "verilated.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

namespace {

constexpr uint64_t rest_cycles = 20000;   // after the last bit, for what the cores do by themselves
constexpr uint64_t look_every = 512;      // cycles between looks at the terminal

struct Line {
	VerilatedContext context;
	Vline top{ &context };
	double bit;   // cycles
	int terminal;
	uint64_t cycle = 0, moved = 0, bytes_in = 0, bytes_out = 0;

	// towards the bridge: bits to come, lowest first, the one on the line included
	unsigned int sending = 0;
	double next = 0;
	// from the bridge: bits that have come, 0 none
	int heard = 0;
	unsigned int hearing = 0;
	double middle = 0;

	Line(double cycles, int descriptor) : bit(cycles), terminal(descriptor)
	{
		top.uart_rxd = 1;
		top.bypass = 0;
		top.rx_0_valid = top.rx_1_valid = 0;
		top.tx_0_ready = top.tx_1_ready = 1;
		top.rst = 1;
		for (int i = 0; i < 10; i++)
			tick();
		top.rst = 0;
	}

	~Line() { top.final(); }

	void tick()
	{
		top.clk = 0;
		top.eval();
		top.clk = 1;
		top.eval();
		cycle++;
	}

	void send(unsigned char byte)
	{
		sending = 1U << 10 | 1U << 9 | unsigned(byte) << 1;
		next = double(cycle) + bit;
		top.uart_rxd = 0;
		bytes_in++;
	}

	void drive()
	{
		if (sending <= 1 || double(cycle) < next)
			return;
		sending >>= 1;
		next += bit;
		if (sending > 1)
			top.uart_rxd = sending & 1;
		moved = cycle;
	}

	void listen()
	{
		if (!heard) {
			if (top.uart_txd)
				return;
			heard = 1;
			hearing = 0;
			middle = double(cycle) + 1.5 * bit;
		} else if (double(cycle) >= middle) {
			if (heard == 9) {
				const auto byte = static_cast<unsigned char>(hearing);

				if (top.uart_txd && write(terminal, &byte, 1) == 1)
					bytes_out++;
				heard = 0;
			} else {
				hearing |= unsigned(top.uart_txd) << (heard - 1);
				heard++;
				middle += bit;
			}
		}
		moved = cycle;
	}

	// Until `end` of the standard input.
	void run()
	{
		for (;;) {
			const bool quiet = sending <= 1 && cycle - moved > rest_cycles;

			if (sending <= 1 && (quiet || cycle % look_every == 0 || cycle - moved < 4)) {
				pollfd waits[2] = { { 0, POLLIN, 0 }, { terminal, POLLIN, 0 } };
				unsigned char byte;

				poll(waits, 2, quiet ? 20 : 0);
				if (waits[0].revents)
					return;
				if (waits[1].revents & POLLIN && read(terminal, &byte, 1) == 1)
					send(byte);
				else if (quiet)
					continue;
			}
			tick();
			drive();
			listen();
		}
	}
};

int open_terminal()
{
	const int descriptor = posix_openpt(O_RDWR | O_NOCTTY);
	termios t;

	if (descriptor < 0 || grantpt(descriptor) || unlockpt(descriptor) || tcgetattr(descriptor, &t))
		return -1;
	cfmakeraw(&t);
	return tcsetattr(descriptor, TCSANOW, &t) ? -1 : descriptor;
}

} // namespace

int main(int argc, char **argv)
{
	const double clock = argc == 3 ? std::atof(argv[1]) : 0, baud = argc == 3 ? std::atof(argv[2]) : 0;
	const int terminal = open_terminal();

	if (clock <= 0 || baud <= 0 || terminal < 0) {
		std::fprintf(stderr, "usage: line CLOCK_HZ BAUD, with pseudo-terminals\n");
		return 2;
	}
	// kept open, so that the terminal stays when a client leaves
	const int other = open(ptsname(terminal), O_RDWR | O_NOCTTY);
	const auto line = std::make_unique<Line>(clock / baud, terminal);

	std::printf("%s\n", ptsname(terminal));
	std::fflush(stdout);
	line->run();
	std::printf("cycles %llu\nbytes %llu %llu\n", static_cast<unsigned long long>(line->cycle),
		    static_cast<unsigned long long>(line->bytes_in), static_cast<unsigned long long>(line->bytes_out));
	close(other);
	return 0;
}
