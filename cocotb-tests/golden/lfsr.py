"""The random source, bit for bit (docs/modules/lfsr.md)."""

from __future__ import annotations

MASK64 = (1 << 64) - 1
RESET_STATE = 0x9E3779B97F4A7C15
#: state bits whose parity is the new bit
TAPS = 0x9E37803700000000
#: exponents of the polynomial: bit i of TAPS is x^(i+1)
POLYNOMIAL = (64, 61, 60, 59, 58, 54, 53, 51, 50, 49, 48, 38, 37, 35, 34, 33, 0)
STEPS_PER_DRAW = 32
DRAW_BITS = 24


_SHIFTS = tuple(i - 31 for i in range(64) if TAPS >> i & 1)


def step(state: int) -> int:
    """One step of the Fibonacci register, exactly as the page writes it."""
    return (state << 1 | (state & TAPS).bit_count() & 1) & MASK64


def leap(state: int) -> int:
    """32 steps at once: no tap reaches a bit that is newer than 32 steps."""
    new = 0
    for shift in _SHIFTS:
        new ^= state >> shift
    return (state << 32 | new & 0xFFFFFFFF) & MASK64


class Lfsr:
    """The register with its seed and fixed-value ports."""

    def __init__(self, seed: int = RESET_STATE) -> None:
        self.state = RESET_STATE
        self.fixed: int | None = None
        self.seed(seed)

    def seed(self, value: int) -> None:
        """Load a seed of 64 bits; 0 is replaced by the reset value."""
        if not 0 <= value <= MASK64:
            raise ValueError(f"seed={value} must be 0 to 2^64-1")
        self.state = value or RESET_STATE

    def peek(self) -> int:
        """The 24-bit draw that the next `draw` will return."""
        if self.fixed is not None:
            return self.fixed
        return leap(self.state) >> 8 & 0xFFFFFF

    def draw(self) -> int:
        """Take one draw, u = draw / 2^24. The state advances also with a fixed value."""
        self.state = leap(self.state)
        return self.state >> 8 & 0xFFFFFF if self.fixed is None else self.fixed

    def draws(self, n: int) -> list[int]:
        """The next `n` draws."""
        return [self.draw() for _ in range(n)]
