"""Which versions of JAX this package works with. Importing this module checks the one that is installed."""

from __future__ import annotations

from meshwright import _versions

# The oldest that tests pass with; also in pyproject.toml and scripts/test.sh.
OLDEST = (0, 7, 1)


def check(version: str) -> None:
    """Raises UnsupportedError if JAX is too old."""
    _versions.check("JAX", "jax", version, OLDEST)


def _installed() -> str:
    import jax

    return jax.__version__


check(_installed())
