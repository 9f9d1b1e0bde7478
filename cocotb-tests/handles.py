"""Shortcuts through cocotb's handles: most of a bench's time goes into reading and driving a few ports in every cycle.

What is read, written and refused is what it is without them; scripts/tests/test_harness.py compares. A value that is not a plain number,
a write that is no deposit and what is not known to be 0 or 1 take cocotb's own way.
"""

from __future__ import annotations

from typing import Any

import cocotb
from cocotb import handle
from cocotb.clock import Clock
from cocotb.handle import HierarchyObject, LogicObject, _LogicArrayObjectBase
from cocotb.types import Logic, LogicArray, Range

import ports

_DEPOSIT = handle._GPISetAction.DEPOSIT
_LOGICS = {digit: Logic(digit) for digit in "UX01ZWLH-"}
_DIGITS = {0: "0", 1: "1"}
_WORD = (1 << 32) - 1
_RANGES: dict[int, Range] = {}

_set_logic = LogicObject._set_value
_set_array = _LogicArrayObjectBase._set_value
_child = HierarchyObject.__getattr__
_start = Clock.start
_equal = Logic.__eq__
_to_int = LogicArray.__int__


def quicken() -> None:
    """Installs the shortcuts; Verilator applies a write at once, which this relies on."""
    assert handle._trust_inertial
    HierarchyObject.__getattr__ = _get_child  # type: ignore[method-assign]
    Clock.start = _start_clock  # type: ignore[method-assign]
    LogicObject._set_value = _drive_logic  # type: ignore[method-assign]
    LogicObject.get = _read_logic  # type: ignore[method-assign]
    _LogicArrayObjectBase._set_value = _drive_array  # type: ignore[method-assign]
    _LogicArrayObjectBase.get = _read_array  # type: ignore[method-assign]
    LogicArray.__int__ = _array_to_int  # type: ignore[method-assign]
    Logic.__eq__ = _logic_equals  # type: ignore[method-assign]


def _get_child(self: HierarchyObject, name: str) -> Any:
    """The object is found here once and then as an attribute."""
    child = _child(self, name)
    self.__dict__[name] = child
    if self is cocotb.top:
        ports.watch(child)
    return child


def _start_clock(self: Clock, start_high: bool = True) -> Any:
    ports.moves(self.signal)
    return _start(self, start_high)


def _drive_logic(self: LogicObject, value: Any, action: Any) -> None:
    if isinstance(value, int) and action is _DEPOSIT and (digit := _DIGITS.get(value)) is not None:
        self._handle.set_signal_val_binstr(0, digit)
    else:
        _set_logic(self, value, action)


def _read_logic(self: LogicObject) -> Logic:
    return _LOGICS[self._handle.get_signal_val_binstr()]


def _drive_array(self: _LogicArrayObjectBase[Any], value: Any, action: Any) -> None:
    if isinstance(value, int) and action is _DEPOSIT and 0 <= value <= (most := self._max_val):
        if most <= _WORD:
            self._handle.set_signal_val_int(0, value)
        else:
            self._handle.set_signal_val_binstr(0, f"{value:0{most.bit_length()}b}")
    else:
        _set_array(self, value, action)


def _read_array(self: _LogicArrayObjectBase[Any]) -> LogicArray:
    """With its number, if it is one, and a range that arrays of the same length share."""
    digits = self._handle.get_signal_val_binstr()
    array = LogicArray.__new__(LogicArray)
    array._value_as_array = None
    array._value_as_str = digits
    try:
        array._value_as_int = int(digits, 2)
    except ValueError:
        array._value_as_int = None
    length = len(digits)
    if length not in _RANGES:
        _RANGES[length] = Range(length - 1, "downto", 0)
    array._range = _RANGES[length]
    array._warn_indexing = False
    return array


def _array_to_int(self: LogicArray) -> int:
    known = self._value_as_int
    return _to_int(self) if known is None else known


def _logic_equals(self: Logic, other: object) -> bool:
    if other.__class__ is int:
        return self is _LOGICS["1"] if other == 1 else self is _LOGICS["0"] if other == 0 else False
    return _equal(self, other)
