"""Which versions of PyTorch this package works with. Importing this module checks the one that is installed."""

from __future__ import annotations

from meshwright import _versions, errors

# The oldest that tests pass with; also in pyproject.toml.
OLDEST = (2, 14)


def check(version: str) -> None:
    """Raises UnsupportedError if PyTorch is too old."""
    _versions.check("PyTorch", "torch", version, OLDEST)


def _installed() -> str:
    try:
        import torch
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise errors.UnsupportedError(
            "meshwright.torch needs PyTorch: pip install 'meshwright[torch]'"
        ) from None
    return torch.__version__


check(_installed())
