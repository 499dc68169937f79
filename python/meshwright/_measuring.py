"""Compiles the programs of a profile and measures them. Loads JAX; see profile_worker for the rest.

A job is a JSON object:

  kind      "program": `proto`, a path to an annotated HloModuleProto, or "reshard": the identity
  mesh      [["x", 2], ["y", 2]]
  inputs    [{"dtype": "bf16", "shape": [8, 64], "spec": [["x"], []], "below": 50257}]; `below`
            (integers only) bounds the values, "positive": true keeps others above 0
  outputs   the same
  state     [[input, output], ...]: the output replaces the donated input in the next execution
  wait      true: every execution is waited for before the next, which takes its launch overhead
"""

from __future__ import annotations

import dataclasses
import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from meshwright._lowering import _module_function, numpy_dtype
from meshwright._shardy import from_hlo
from meshwright.verify import collectives

Job = Mapping[str, Any]

# Executions without a pause between them, so that the host's part of starting one hides behind the
# one before: about so many seconds a sample, at most so many executions.
_SAMPLE_SECONDS = 0.05
_MOST_EXECUTIONS = 20
_SAMPLES = 7
_WARM_UP = 2
# Devices lower their clocks within the first second of full load. A training run sees what they are
# then, so measuring begins after as long a time of it.
_LOAD_SECONDS = 0.4
_LOAD_SECONDS_OF_STEP = 2.0
_MOST_LOAD_EXECUTIONS = 2000


@dataclasses.dataclass
class Compiled:
    job: Job
    function: Any
    inputs: list[NamedSharding]
    seconds: float


@functools.cache
def _mesh(axes: tuple[tuple[str, int], ...]) -> Mesh:
    shape = tuple(size for _, size in axes)
    devices = np.array(jax.devices()[: math.prod(shape)]).reshape(shape)
    return Mesh(devices, tuple(name for name, _ in axes))


def _axes(job: Job) -> tuple[tuple[str, int], ...]:
    return tuple((name, size) for name, size in job["mesh"])


def _sharding(mesh: Mesh, spec: Sequence[Sequence[str]]) -> NamedSharding:
    return NamedSharding(mesh, PartitionSpec(*(tuple(axes) or None for axes in spec)))


def _struct(row: Mapping[str, Any]) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(tuple(row["shape"]), numpy_dtype(row["dtype"]))


def warm_up() -> None:
    """Has JAX load what it loads with the first program, which on a slow machine takes longer than
    a program may. On a device of this process: others may not be there yet."""
    row = {"dtype": "f32", "shape": [8], "spec": [[]]}
    struct = _struct(row)
    module = export.export(jax.jit(jnp.negative))(struct).mlir_module_serialized
    sharding = _sharding(Mesh(np.array(jax.local_devices()[:1]), ("x",)), row["spec"])
    function = jax.jit(
        _module_function(module, [struct], [struct]),
        in_shardings=(sharding,),
        out_shardings=[sharding],
        keep_unused=True,
    )
    job = {"mesh": [["x", 1]], "inputs": [row], "outputs": [row], "state": []}
    compiled = Compiled(job, function.lower(struct).compile(), [sharding], 0.0)
    figures(compiled)
    jax.block_until_ready(compiled.function(array(row, sharding)))


def compile_job(job: Job, proto: bytes) -> Compiled:
    start = time.perf_counter()
    axes = _axes(job)
    mesh = _mesh(axes)
    structs = [_struct(row) for row in job["inputs"]]
    inputs = [_sharding(mesh, row["spec"]) for row in job["inputs"]]
    outputs = [_sharding(mesh, row["spec"]) for row in job["outputs"]]
    call: Callable[..., Sequence[Any]]
    if job["kind"] == "reshard":
        call = _identity
    else:
        call = _module_function(
            from_hlo(proto, axes), structs, [_struct(row) for row in job["outputs"]]
        )
    function = jax.jit(
        call,
        in_shardings=tuple(inputs),
        out_shardings=outputs,
        donate_argnums=tuple(i for i, _ in job["state"]),
        keep_unused=True,
    )
    compiled = function.lower(*structs).compile()
    return Compiled(job, compiled, inputs, time.perf_counter() - start)


def _identity(*arguments: Any) -> list[Any]:
    return list(arguments)


def figures(compiled: Compiled) -> dict[str, Any]:
    """What is known without running it: memory of one device, collectives by kind."""
    analysis = compiled.function.memory_analysis()
    peak = 0
    if analysis is not None:
        peak = (
            analysis.argument_size_in_bytes
            + analysis.output_size_in_bytes
            + analysis.temp_size_in_bytes
            - analysis.alias_size_in_bytes
        )
    found: dict[str, list[int]] = {}
    text = compiled.function.as_text() or ""
    for move in collectives.compiled(text, dict(_axes(compiled.job)), "the backend"):
        row = found.setdefault(move.kind, [0, 0])
        row[0] += move.times
        row[1] += move.total_bytes
    return {
        "peak_bytes": int(peak),
        "collectives": [
            {"kind": kind, "count": row[0], "bytes": row[1]} for kind, row in sorted(found.items())
        ],
        "compile_seconds": compiled.seconds,
    }


def measure(compiled: Compiled, agree: Callable[[int], int]) -> list[float]:
    """Seconds of one execution, several samples. `agree`: what the first process says, everywhere."""
    job = compiled.job
    arguments = [array(row, sharding) for row, sharding in zip(job["inputs"], compiled.inputs)]
    # Collectives of several executions at a time may wait for each other's threads on a CPU.
    on_cpu = jax.devices()[0].platform == "cpu"
    apart = job.get("wait", False) or on_cpu

    def run(times: int) -> float:
        start = time.perf_counter()
        for _ in range(times):
            results = compiled.function(*arguments)
            for i, o in job["state"]:
                arguments[i] = results[o]
            if apart:
                jax.block_until_ready(results)
        jax.block_until_ready(results)
        return (time.perf_counter() - start) / times

    run(_WARM_UP)
    once = run(1)
    if not on_cpu:
        load = _LOAD_SECONDS_OF_STEP if job.get("wait", False) else _LOAD_SECONDS
        run(agree(min(max(math.ceil(load / max(once, 1e-6)), 1), _MOST_LOAD_EXECUTIONS)))
        once = run(1)
    times = agree(int(min(max(math.ceil(_SAMPLE_SECONDS / max(once, 1e-6)), 1), _MOST_EXECUTIONS)))
    return [run(times) for _ in range(_SAMPLES)]


def array(row: Mapping[str, Any], sharding: NamedSharding) -> Any:
    """An input: values without a pattern, made on the devices. A product of equal values draws less
    power than one of a network's, and so do those that an update makes of a root of something
    negative; equal indices meet in one place."""
    below, positive = row.get("below", 2), row.get("positive", False)
    return _maker(tuple(row["shape"]), row["dtype"], below, positive, sharding)()


@functools.cache
def _maker(
    shape: tuple[int, ...], dtype: str, below: int, positive: bool, sharding: NamedSharding
) -> Any:
    kind = numpy_dtype(dtype)

    def make() -> Any:
        index = jnp.zeros(shape, jnp.uint32)
        for d, size in enumerate(shape):
            step = np.uint32(2654435761) if d == 0 else np.uint32(40503 + 2 * d)
            index = index * np.uint32(31) + jax.lax.broadcasted_iota(jnp.uint32, shape, d) * step
        index = index ^ (index >> 15)
        index = index * np.uint32(2246822519)
        index = index ^ (index >> 13)
        if jnp.issubdtype(kind, jnp.bool_):
            return (index & 1).astype(kind)
        if dtype == "u32":
            return index
        if jnp.issubdtype(kind, jnp.integer):
            return (index % np.uint32(max(below, 1))).astype(kind)
        scale = 1 / math.sqrt(max(shape[-2:], default=1))
        values = index.astype(jnp.float32) / np.float32(2**31) - np.float32(1)
        if positive:
            values = (values + np.float32(3)) / np.float32(4)  # 0.5 to 1
        return (values * np.float32(scale)).astype(kind)

    return jax.jit(make, out_shardings=sharding)
