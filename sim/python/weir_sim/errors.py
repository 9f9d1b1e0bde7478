"""Errors that `weir-sim` tells in one line."""


class UsageError(Exception):
    """An argument that cannot be; exit code 2."""


class IdentityError(Exception):
    """Packets or bytes do not add up; exit code 3."""


def out_of_range(what: str, value: str, allowed: str) -> UsageError:
    """The refusal of a value, which is shown as a person would type it."""
    return UsageError(f"{what} {value} is out of range: allowed is {allowed}")
