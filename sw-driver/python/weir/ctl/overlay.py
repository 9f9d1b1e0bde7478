"""A copy of a device's registers, on which calls are tried."""

from __future__ import annotations

import weir

_STATUS = 0x024


class Overlay:
    """Registers of a device as they would be: what is written stays here."""

    def __init__(self, device: weir.Device) -> None:
        self._device = device
        self._written: dict[int, int] = {}
        self._read: dict[int, int] = {}
        self.writes: list[tuple[int, int]] = []

    def csr_read(self, address: int, /) -> int:
        """The register; never busy."""
        if address == _STATUS:
            return 0
        if address in self._written:
            return self._written[address]
        if address not in self._read:
            self._read[address] = self._device.register_read(address)
        return self._read[address]

    def csr_write(self, address: int, value: int, /) -> None:
        """Keeps it."""
        self.writes.append((address, value))
        self._written[address] = value
