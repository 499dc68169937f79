"""Whether a library that is installed is new enough."""

from __future__ import annotations

import re

from meshwright import errors


def check(library: str, package: str, version: str, oldest: tuple[int, ...]) -> None:
    """Raises UnsupportedError if `version` of a library, on PyPI as `package`, is before `oldest`."""
    found = tuple(int(number) for number in re.findall(r"\d+", version)[: len(oldest)])
    if found < oldest:
        wanted = ".".join(map(str, oldest))
        raise errors.UnsupportedError(
            f"{library} {version} is installed, Meshwright needs {wanted} or newer: "
            f"pip install -U '{package}>={wanted}'"
        )
