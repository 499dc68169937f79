"""Compiles and runs a plan and gathers the figures that are compared."""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.mlir import hlo_to_stablehlo
from jax.interpreters.mlir import make_ir_context
from jaxlib.mlir import ir

from meshwright import _library, clusters, errors
from meshwright._lowering import own_mesh, planned_function
from meshwright.document import Plan
from meshwright.jax import make_mesh, output_shardings, parameter_shardings
from meshwright.program import Program
from meshwright.verify import checks, collectives
from meshwright.verify.inputs import random_inputs
from meshwright.verify.report import SHOWN, Check, Report


def run(plan: Plan, program: Program, devices: Any, repeats: int, seed: int) -> Report:
    plan = Plan(plan.to_json(), program)
    mesh = make_mesh(plan, devices)
    device = mesh.devices.flat[0]
    shardings = parameter_shardings(plan, mesh)
    rows = _library.read_program(program.contents)["parameters"]
    donated = tuple(index for index, row in enumerate(rows) if row["donated"])
    inputs = random_inputs(plan.parameters, seed)
    lowered = jax.jit(
        planned_function(program, plan),
        in_shardings=tuple(shardings),
        out_shardings=output_shardings(plan, mesh),
        donate_argnums=donated,
        keep_unused=True,
    ).lower(*inputs)
    try:
        sharded = lowered.compile()
    except jax.errors.JaxRuntimeError as error:
        raise errors.UnsupportedError(
            f"XLA does not compile the planned program: {errors.one_line(error)}"
        ) from error
    text = sharded.as_text() or ""
    backend = "the CPU" if device.platform == "cpu" else "the backend"
    found = [_numerics(plan, program, sharded, shardings, inputs, device)]
    found += checks.check_collectives(
        collectives.planned(plan.ops, plan.mesh_shape),
        collectives.compiled(text, plan.mesh_shape, backend),
    )
    judged, reason = _same_device(plan, device)
    found.append(_memory(plan, sharded, judged, reason))
    if repeats > 0:
        seconds = _step_seconds(sharded, shardings, inputs, repeats)
        found.append(checks.check_time(plan.step_seconds, seconds, judged, reason))
    count = plan.num_devices
    kind = "host devices" if device.platform == "cpu" else device.device_kind
    return Report(repr(plan).strip("<>"), f"{count} x {kind}, jax {jax.__version__}", found)


def _same_device(plan: Plan, device: Any) -> tuple[bool, str]:
    """Whether figures of time and memory on `device` speak of the plan's device."""
    wanted = plan.device_types[0]["device"]
    if device.platform == "cpu":
        return False, f"host devices are no {wanted}"
    kind = clusters.device_type(device.device_kind)
    return kind == wanted, f"{device.device_kind} is no {wanted}"


def _numerics(
    plan: Plan,
    program: Program,
    sharded: Callable[..., Sequence[Any]],
    shardings: Sequence[Any],
    inputs: Sequence[np.ndarray],
    device: Any,
) -> Check:
    single = planned_function(program, plan, sharded=False)
    try:
        placed = [jax.device_put(array, device) for array in inputs]
        expected = [np.asarray(array) for array in jax.jit(single)(*placed)]
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return Check("numerics", SHOWN, "", "", "not judged: one device has not the memory")
    del placed
    got = [_gathered(array) for array in sharded(*map(jax.device_put, inputs, shardings))]
    bases = _replaced(plan, inputs)
    errors = [checks.output_error(*three) for three in zip(got, expected, bases)]
    sizes = sum(array.size for array in expected)
    finite = sum(int(np.isfinite(checks._wide(array)).sum()) for array in expected)
    names = [row["name"] for row in plan.outputs]
    return checks.check_numerics(
        names, errors, finite / sizes if sizes else 1.0, narrowest_type(program)
    )


def _gathered(array: Any) -> np.ndarray:
    if array.is_fully_addressable:
        return np.asarray(array)
    from jax.experimental import multihost_utils

    return np.asarray(multihost_utils.process_allgather(array, tiled=True))


def _replaced(plan: Plan, inputs: Sequence[np.ndarray]) -> list[np.ndarray | None]:
    """For each output the input that it replaces in the next step; the plan says which."""
    by_name = {row["name"]: array for row, array in zip(plan.parameters, inputs)}
    outputs = [op for op in plan.ops if op["opcode"] == "output"]
    bases = []
    for op in outputs:
        name = op["strategy"].removeprefix("as ")
        bases.append(by_name.get(name) if name != op["strategy"] else None)
    return bases


def narrowest_type(program: Program) -> str:
    """The narrowest floating-point type of at least 16 bits that the program computes in."""
    if _library.program_format(program.contents) == "stablehlo":
        text = _library.stablehlo_text(program.contents).decode()
    else:
        with make_ir_context():
            text = str(ir.Module.parse(hlo_to_stablehlo(_library.program_proto(program.contents))))
    for dtype in ("bf16", "f16", "f32"):
        if re.search(rf"[x<]{dtype}>", text):
            return dtype
    return "f64"


def _memory(plan: Plan, sharded: Any, judged: bool, reason: str) -> Check:
    analysis = sharded.memory_analysis()
    if analysis is None:
        return Check("memory", SHOWN, "", "", "not judged: the backend tells no figures")
    measured = (
        analysis.argument_size_in_bytes
        + analysis.output_size_in_bytes
        + analysis.temp_size_in_bytes
        - analysis.alias_size_in_bytes
    )
    return checks.check_memory(plan.peak_bytes, measured, judged, reason)


def _step_seconds(
    sharded: Any, shardings: Sequence[Any], inputs: Sequence[np.ndarray], repeats: int
) -> float:
    """Median; inputs are placed anew each time, as a donated buffer is gone after one step."""
    seconds = []
    for _ in range(repeats):
        placed = jax.block_until_ready(list(map(jax.device_put, inputs, shardings)))
        start = time.perf_counter()
        jax.block_until_ready(sharded(*placed))
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)
