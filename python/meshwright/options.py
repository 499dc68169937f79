"""The options of the command line, under their names with `_` for `-`, for type checkers.

The library reads them, and `meshwright help plan` explains them. `for` is a word of Python's:
`for_`. Where a text is a quantity ("60GiB", "30s") a number may stand for it, in bytes and seconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypedDict

Path = str | os.PathLike[str]
Paths = Path | Sequence[Path]
Fixes = Mapping[str, Any] | Sequence[str] | str
Mesh = Any  # "2x4", (2, 4), {"x": 2, "y": 4}, a jax.sharding.Mesh


# Written by scripts/python_options.py from the library's tables.


class PlanOptions(TypedDict, total=False):
    """Further options of `plan`."""

    cost_model: str
    deadline: str | float
    fix_file: Paths
    rules: Paths
    threads: int
    seed: int
    output: Path
    emit: Path
    db: Path
    db_environment: int
    micro_batches: str | float
    micro_batch_rng: str
    schedule: str
    layers: int
    data: str | Sequence[str]
    no_recompute: bool
    seq: int
    dtype: Literal["bf16", "fp16", "fp8", "mxfp8", "nvfp4", "f32"]
    top: int
    objective: Literal["time", "gpus", "memory", "cost"]
    tp: Literal["1d", "2d", "seqp", "auto"]
    launchable: bool
    for_: str | Sequence[str]
    framework: Literal[
        "megatron", "nemo", "fsdp", "torchtitan", "deepspeed", "accelerate", "maxtext"
    ]
    release: str
    attention: Literal["auto", "eager", "flash", "flash2", "cudnn"]
    grads: Literal["auto", "f32", "bf16"]
    moments: Literal["auto", "f32", "bf16"]
    loss: Literal["auto", "f32", "fused", "chunked"]
    fused_loss: bool
    mtp: int
    network: str | float
    mtbf: str | float
    checkpoint_bandwidth: str | float
    restart: str | float
    sweep: str
    weak: bool
    csv: Path
    max_cost: float
    max_time: str | float
    tokens: str | float
    steps: int
    pareto: bool
    point: int
    profile: Path
    plot: Path


class EstimateOptions(TypedDict, total=False):
    """Further options of `estimate`."""

    cost_model: str
    deadline: str | float
    fix_file: Paths
    rules: Paths
    threads: int
    seed: int
    output: Path
    emit: Path
    rest: Literal["xla", "least-cost"]


class SweepOptions(TypedDict, total=False):
    """Further options of `sweep`."""

    cost_model: str
    deadline: str | float
    fix: Fixes
    threads: int
    output: Path
    memory: str | float
    seq: int
    dtype: Literal["bf16", "fp16", "fp8", "mxfp8", "nvfp4", "f32"]
    top: int
    objective: Literal["time", "gpus", "memory", "cost"]
    tp: Literal["1d", "2d", "seqp", "auto"]
    launchable: bool
    for_: str | Sequence[str]
    framework: Literal[
        "megatron", "nemo", "fsdp", "torchtitan", "deepspeed", "accelerate", "maxtext"
    ]
    release: str
    attention: Literal["auto", "eager", "flash", "flash2", "cudnn"]
    grads: Literal["auto", "f32", "bf16"]
    moments: Literal["auto", "f32", "bf16"]
    loss: Literal["auto", "f32", "fused", "chunked"]
    fused_loss: bool
    mtp: int
    network: str | float
    mtbf: str | float
    checkpoint_bandwidth: str | float
    restart: str | float
    csv: Path
    plot: Path


class ProfileOptions(TypedDict, total=False):
    """Further options of `profile`."""

    devices: str
    cluster: Path
    cost_model: str
    budget: str | float
    patience: str | float
    retry: bool
    finalists: int
    threads: int
    distributed: bool
    layers_csv: Path
    calibrate: Path


class ExportOptions(TypedDict, total=False):
    """Further options of `Plan.export`."""

    alternative: int
    nodes: str | Sequence[str]
    hostfile: Path
    partition: str
    account: str
    time: str
    image: str
    framework: Path
    data_path: str
    tokenizer: str
    checkpoint: Path
    steps: int
    learning_rate: str | float
    script: Path
    program: Path
    stages: Path


class BlocksOptions(TypedDict, total=False):
    """Further options of `blocks`."""

    emit: Path


class SolveOptions(TypedDict, total=False):
    """Further options of `solve`."""

    deadline: str | float
    threads: int
    seed: int
    output: Path


class DbFilters(TypedDict, total=False):
    """Further options of `db.list`."""

    environment: int
    mesh: Mesh
    kind: str
    failed: bool


class DbExportOptions(TypedDict, total=False):
    """Further options of `db.export`."""

    environment: int
    mesh: Mesh
    kind: str
    failed: bool
    program: str
    format: Literal["json", "csv"]
    output: Path


class DbPruneOptions(TypedDict, total=False):
    """Further options of `db.prune`."""

    environment: int
    mesh: Mesh
    kind: str
    failed: bool
    program: str
    older_than: str


# Options that are lists; one value stands for a list of one.
_LISTS = frozenset({"data", "fix", "fix-file", "nodes", "rules", "why-not"})

# What follows is written by hand.


def as_json(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as the library reads them. None: not given."""
    given: dict[str, Any] = {}
    for python, value in options.items():
        name = python.rstrip("_").replace("_", "-")
        if value is None:
            continue
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if name in _LISTS:
            several = isinstance(value, Iterable) and not isinstance(value, str)
            values = list(value) if several else [value]
            value = [os.fspath(v) if isinstance(v, os.PathLike) else v for v in values]
        elif isinstance(value, list | tuple) and all(isinstance(v, str) for v in value):
            value = ",".join(value)
        given[name] = value
    return given
