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

_LONGEST_LINE = 300


def one_line(error: BaseException) -> str:
    """What a library's error is, for a message of one line: its type and the first line it has.

    Compilers go on with listings and stack traces, which say nothing to those who plan.
    """
    lines = (" ".join(line.split()) for line in str(error).splitlines())
    first = next((line for line in lines if line), "")
    text = f"{type(error).__name__}: {first}" if first else type(error).__name__
    shown = "".join(character for character in text if character.isprintable()).rstrip(" :")
    if len(shown) <= _LONGEST_LINE:
        return shown
    return shown[: _LONGEST_LINE - 3] + "..."
