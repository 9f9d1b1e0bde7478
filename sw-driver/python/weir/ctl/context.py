"""What the verbs work with: the options, the device that is opened when it is first needed, and standard output."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import weir

from .errors import Refusal
from .words import Options, whole

#: Where a clone has its cycle models.
MODELS = Path(__file__).resolve().parents[4] / "build" / "model"


class Context:
    """One run of weirctl."""

    def __init__(self, options: Options, device: weir.Device | None = None) -> None:
        self.options = options
        self._device = device
        self._given = device is not None

    @property
    def uri(self) -> str:
        """The device's URI."""
        if self._given and not self.options.device:
            return "device"
        if not self.options.device:
            raise Refusal("no device is named; give -d URI or set WEIR_DEVICE, e.g. unix:/tmp/weir, uart:/dev/ttyUSB0, "
                          "pci:0000:01:00.0 or sim:full")  # fmt: skip
        return self.options.device

    @property
    def device(self) -> weir.Device:
        """The device, opened."""
        if self._device is None:
            if "WEIR_MODEL_DIR" not in os.environ and MODELS.is_dir():
                os.environ["WEIR_MODEL_DIR"] = str(MODELS)
            self._device = weir.Device(self.uri)
        return self._device

    def queue(self, text: str) -> int:
        """The number of a queue that the device has."""
        queues = self.device.capabilities.queues
        return whole(text, "queue", 0, queues - 1, f"; this core has {queues}")

    def say(self, text: str) -> None:
        """A line, or several, to standard output."""
        print(text, flush=True)

    def json(self, value: Any) -> None:
        """A value as JSON."""
        self.say(json.dumps(value, indent=2, allow_nan=False, default=str))

    def close(self) -> None:
        """Lets the device go; it is opened again when it is needed again."""
        if self._device is not None and not self._given:
            self._device.close()
            self._device = None
