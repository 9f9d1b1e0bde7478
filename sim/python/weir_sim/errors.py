"""Errors that `weir-sim` tells in one line."""


class UsageError(Exception):
    """An argument that cannot be; exit code 2."""


class IdentityError(Exception):
    """Packets or bytes do not add up; exit code 3."""
