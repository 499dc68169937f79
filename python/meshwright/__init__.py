"""Meshwright plans how to split the training of a large network over many accelerators.

import meshwright as mw

plan = mw.plan(step, state, batch, cluster="8xh100-sxm")   # how to shard it, and what it costs
print(plan)
step = mw.jax.shard(step, state, batch, plan=plan)         # the function, sharded so

plan = mw.plan("llama3-70b", cluster="32x8xh100-sxm", global_batch=512)
plan.export("megatron", "launch")                          # what runs it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from meshwright import _library, clusters, db
from meshwright.answers import Answer
from meshwright.document import Plan
from meshwright.errors import (
    Error,
    InfeasibleError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    UnsupportedError,
)
from meshwright.planning import Sweep, blocks, draft_rules, estimate, model, plan, solve, sweep
from meshwright.profiling import calibrate, profile

if TYPE_CHECKING:
    from meshwright import jax as jax
    from meshwright import torch as torch

__all__ = [
    "Answer",
    "Error",
    "InfeasibleError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "Plan",
    "Sweep",
    "UnsupportedError",
    "blocks",
    "calibrate",
    "calls",
    "clusters",
    "db",
    "devices",
    "draft_rules",
    "estimate",
    "model",
    "models",
    "operators",
    "plan",
    "profile",
    "solve",
    "sweep",
]

__version__ = _library.version()

devices = _library.devices
models = _library.models
operators = _library.operators
calls = _library.calls


def __getattr__(name: str) -> Any:
    if name in ("jax", "torch"):  # loaded when they are used: they may not be there
        import importlib

        return importlib.import_module(f"meshwright.{name}")
    raise AttributeError(f"module 'meshwright' has no attribute {name!r}")
