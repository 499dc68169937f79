"""What can go wrong, by kind. Messages say what was found, where, and what would be valid."""

from __future__ import annotations


class Error(Exception):
    """Anything that Meshwright reports."""


class InvalidArgumentError(Error, ValueError):
    """Something about the input is wrong."""


class NotFoundError(Error, FileNotFoundError):
    """A file or a device type is not there."""


class UnsupportedError(Error, NotImplementedError):
    """Input that cannot be handled."""


class InfeasibleError(Error):
    """Nothing fits into memory; the message says what would."""


class InternalError(Error):
    """A bug of Meshwright's, or no memory left."""


# By the names that include/meshwright.h gives the kinds.
BY_NAME: dict[str, type[Error]] = {
    "invalid argument": InvalidArgumentError,
    "not found": NotFoundError,
    "unsupported": UnsupportedError,
    "infeasible": InfeasibleError,
    "internal": InternalError,
}
