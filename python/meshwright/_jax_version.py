"""Which versions of JAX this package works with. Importing this module checks the one that is installed."""

from __future__ import annotations

import re

from meshwright import errors

# The oldest that tests pass with; also in pyproject.toml and scripts/test.sh.
OLDEST = (0, 7, 1)


def check(version: str) -> None:
    """Raises UnsupportedError if JAX is too old."""
    found = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
    if found < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise errors.UnsupportedError(
            f"JAX {version} is installed, Meshwright needs {oldest} or newer: "
            f"pip install -U 'jax>={oldest}'"
        )


def _installed() -> str:
    import jax

    return jax.__version__


check(_installed())
