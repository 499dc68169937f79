"""A training step run by a plan's pipeline, with results on the host.

`mw.jax.pipeline` leaves them on the stages' devices; this is for scripts that want numpy arrays.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from meshwright.document import Plan


class Staged:
    """Called like the function, with ordinary pytrees; the results are numpy arrays in one."""

    def __init__(
        self,
        fn: Callable[..., Any],
        *args: Any,
        plan: Plan,
        stages: str | os.PathLike[str],
        devices: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        """As for `mw.jax.pipeline`."""
        from meshwright.jax import pipeline

        self._pipeline = pipeline(
            fn, *args, plan=plan, stages=stages, devices=devices, kwargs=kwargs
        )
        self.program = self._pipeline.program

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return jax.tree.map(_on_host, self._pipeline(*args, **kwargs))


def _on_host(leaf: Any) -> Any:
    return leaf if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else np.asarray(leaf)
