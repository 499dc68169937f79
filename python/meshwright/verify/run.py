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
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxlib.mlir import ir

from meshwright import _library, clusters, errors
from meshwright._lowering import (
    _shapes,
    is_packed,
    module_function,
    own_mesh,
    planned_function,
    whole_module,
)
from meshwright.document import Plan
from meshwright.jax import make_mesh, output_shardings, parameter_shardings
from meshwright.program import Program
from meshwright.verify import checks, collectives
from meshwright.verify.index_ranges import index_ranges
from meshwright.verify.inputs import Inputs, gathered, step_inputs
from meshwright.verify.report import SHOWN, Check, Report
from meshwright.verify.roundoff import roundoff


def run(
    plan: Plan,
    program: Program,
    devices: Any,
    repeats: int,
    seed: int,
    examples: Sequence[Any] = (),
) -> Report:
    """`examples`: for each parameter an array to run on, or None; without any all are random."""
    plan = Plan(plan.to_json(), program)
    mesh = make_mesh(plan, devices)
    device = mesh.devices.flat[0]
    shardings = parameter_shardings(plan, mesh)
    rows = _library.read_program(program.contents)["parameters"]
    donated = tuple(index for index, row in enumerate(rows) if row["donated"])
    module = whole_module(program, plan)
    whole = module_function(module, program, plan, dry=True)
    single, place = jax.jit(whole), device
    if b"CustomSPMDPartitioning" in module:
        # What such a call stands for is known to the partitioner only, which one device does without.
        place = NamedSharding(mesh, PartitionSpec())
        single = jax.jit(whole, in_shardings=place, out_shardings=place)
    inputs, expected = _inputs(plan, module, single, place, seed, examples)
    jitted = jax.jit(
        planned_function(program, plan, dry=True),
        in_shardings=tuple(shardings),
        out_shardings=output_shardings(plan, mesh),
        donate_argnums=donated,
        keep_unused=True,
    )
    with own_mesh(mesh):
        lowered = jitted.lower(*_shapes(plan.parameters))
        try:
            sharded = lowered.compile()
        except jax.errors.JaxRuntimeError as error:
            raise errors.UnsupportedError(
                f"XLA does not compile the planned program: {errors.one_line(error)}"
            ) from error
        # See Sharded: compiled ahead, types of less than a byte are refused by their layout.
        step = jitted if any(map(is_packed, _shapes(plan.parameters))) else sharded
        return _report(
            plan,
            program,
            mesh,
            sharded,
            step,
            shardings,
            inputs,
            expected,
            lambda arrays: _on_one_device(single, arrays, place),
            repeats,
        )


def _report(
    plan: Plan,
    program: Program,
    mesh: Any,
    sharded: Any,
    step: Any,
    shardings: Sequence[Any],
    inputs: Inputs,
    expected: Sequence[np.ndarray] | None,
    whole: Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]],
    repeats: int,
) -> Report:
    device = mesh.devices.flat[0]
    text = sharded.as_text() or ""
    backend = "the CPU" if device.platform == "cpu" else "the backend"
    found = [_numerics(plan, program, step, shardings, inputs, expected, whole)]
    found += checks.check_collectives(
        collectives.planned(plan.ops, plan.mesh_shape),
        collectives.compiled(text, plan.mesh_shape, backend),
    )
    judged, reason = _same_device(plan, device)
    found.append(_memory(plan, sharded, judged, reason))
    if repeats > 0:
        seconds = _step_seconds(step, shardings, inputs.arrays, repeats)
        launches = _launches(plan)
        found.append(checks.check_time(plan.step_seconds, seconds, judged, reason, launches))
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


def _inputs(
    plan: Plan,
    module: bytes,
    single: Callable[..., Sequence[Any]],
    place: Any,
    seed: int,
    examples: Sequence[Any],
) -> tuple[Inputs, list[np.ndarray] | None]:
    """What to run on, and the results of one device; None: it has not the memory for them."""
    carried = {name for name in _replaced_names(plan) if name is not None}
    best: tuple[float, Inputs, list[np.ndarray]] | None = None
    for inputs in step_inputs(plan.parameters, seed, examples, index_ranges(module), carried):
        try:
            expected = _on_one_device(single, inputs.arrays, place)
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            return inputs, None
        share = checks.finite_share(expected)
        if best is None or share > best[0]:
            best = share, inputs, expected
        if share == 1:
            break
    assert best is not None
    return best[1], best[2]


def _on_one_device(
    single: Callable[..., Sequence[Any]], arrays: Sequence[np.ndarray], place: Any
) -> list[np.ndarray]:
    """Results on one device, or on all devices of a mesh that do the same."""
    mesh = place.mesh if isinstance(place, NamedSharding) else Mesh([place], ("one",))
    with own_mesh(mesh):
        placed = [jax.device_put(array, place) for array in arrays]
        return [gathered(array) for array in single(*placed)]


def _numerics(
    plan: Plan,
    program: Program,
    step: Callable[..., Sequence[Any]],
    shardings: Sequence[Any],
    inputs: Inputs,
    expected: Sequence[np.ndarray] | None,
    whole: Callable[[Sequence[np.ndarray]], Sequence[np.ndarray]],
) -> Check:
    if expected is None:
        return Check("numerics", SHOWN, "", "", "not judged: one device has not the memory")
    got = [gathered(array) for array in step(*map(jax.device_put, inputs.arrays, shardings))]
    bases = _replaced(plan, inputs.arrays)
    errors = [checks.output_error(*three) for three in zip(got, expected, bases)]
    names = [row["name"] for row in plan.outputs]
    narrowest = narrowest_type(program)
    noise: list[float] = []
    if not checks.is_near(errors, narrowest):
        noise = roundoff(whole, inputs.arrays, expected, _replaced_numbers(plan), narrowest)
    return checks.check_numerics(
        names,
        errors,
        checks.finite_share(expected),
        narrowest,
        inputs.remark,
        [name for name, array in zip(names, expected) if checks.has_nan(array)],
        noise,
    )


def _replaced(plan: Plan, inputs: Sequence[np.ndarray]) -> list[np.ndarray | None]:
    """For each output the input that it replaces in the next step."""
    return [None if n is None else inputs[n] for n in _replaced_numbers(plan)]


def _replaced_numbers(plan: Plan) -> list[int | None]:
    """For each output the parameter that it replaces in the next step; the plan says which."""
    by_name = {row["name"]: number for number, row in enumerate(plan.parameters)}
    return [by_name.get(name) if name is not None else None for name in _replaced_names(plan)]


def _replaced_names(plan: Plan) -> list[str | None]:
    outputs = [op["strategy"] for op in plan.ops if op["opcode"] == "output"]
    return [text.removeprefix("as ") if text.startswith("as ") else None for text in outputs]


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


def _launches(plan: Plan) -> int:
    """Kernels and collectives of a step; what is fused into others takes no time of its own."""
    return sum(
        op.get("executions", 1) * ((op["seconds"] > 0) + len(op.get("collective", [])))
        for op in plan.ops
    )


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
    """Median of steps that follow one another as training's do, after one that warms up."""
    arguments = list(map(jax.device_put, inputs, shardings))
    seconds = []
    for _ in range(1 + repeats):
        jax.block_until_ready(arguments)
        start = time.perf_counter()
        results = jax.block_until_ready(sharded(*arguments))
        seconds.append(time.perf_counter() - start)
        # A donated argument is gone; a result like it takes its place, which JAX donated it to.
        like: dict[Any, list[Any]] = {}
        for result in results:
            like.setdefault((result.shape, result.dtype, result.sharding), []).append(result)
        for index, argument in enumerate(arguments):
            if argument.is_deleted():
                made = like.get((argument.shape, argument.dtype, argument.sharding))
                arguments[index] = (
                    made.pop(0) if made else jax.device_put(inputs[index], shardings[index])
                )
    return statistics.median(seconds[1:])
