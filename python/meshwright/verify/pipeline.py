"""Runs a pipeline's stages in turn and holds them against the whole program."""

from __future__ import annotations

import dataclasses
import os
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from meshwright import _library
from meshwright._lowering import _module_function, _shapes
from meshwright._shardy import from_hlo, without_shardings
from meshwright.document import Plan
from meshwright.program import Program
from meshwright.verify import checks
from meshwright.verify.index_ranges import index_ranges
from meshwright.verify.inputs import random_inputs
from meshwright.verify.report import FAILED, SHOWN, Check, Report, seconds_text
from meshwright.verify.roundoff import roundoff
from meshwright.verify.run import _on_one_device, narrowest_type
from meshwright.verify.stage_files import (
    StageFiles,
    check_plan,
    check_program,
    mesh_text,
    read_stage_files,
)
from meshwright.verify.stage_program import StageProgram, stage_devices
from meshwright.verify.stage_step import StageStep


def run_stages(
    plan: Plan,
    program: Program,
    folder: str | os.PathLike[str],
    devices: Any,
    repeats: int,
    seed: int,
) -> Report:
    files = read_stage_files(folder)
    check_plan(files, plan)
    rows = _library.read_program(program.contents)
    check_program(files, rows["parameters"], rows["outputs"])

    places = stage_devices(plan.stages, devices)
    programs = {
        (stage, phase): StageProgram(module, files.stages[stage].axes, places[stage])
        for stage, phase, module in files.modules()
    }
    replaced = _replaced(files)
    inputs = random_inputs(
        _with_categories(files, rows["parameters"]),
        seed,
        ranges=index_ranges(_whole(program)),
        carried={rows["parameters"][number]["name"] for number in replaced.values()},
    )
    got = StageStep(files, programs, inputs, rows["outputs"]).run()
    numerics = _numerics(program, rows, inputs, got, replaced, places[0][0])
    own_bits = plan.as_dict()["options"].get("micro_batch_rng") == "independent"
    if own_bits and numerics.outcome == FAILED:
        why = (
            "micro-batches draw random bits of their own (--micro-batch-rng independent): only a "
            "plan with the whole batch's (exact) gives what the whole program gives"
        )
        numerics = dataclasses.replace(numerics, outcome=SHOWN, notes=[why, *numerics.notes])
    found = [numerics]

    seconds: dict[tuple[int, str], list[float]] = defaultdict(list)
    for _ in range(repeats):
        step = StageStep(files, programs, inputs, rows["outputs"])
        step.run()
        for key, times in step.seconds.items():
            seconds[key] += times
    found += _stage_rows(plan, files, places, seconds)
    count = len({device.id for place in places for device in place})
    first = places[0][0]
    kind = "host devices" if first.platform == "cpu" else first.device_kind
    return Report(repr(plan).strip("<>"), f"{count} x {kind}, jax {jax.__version__}", found)


def _with_categories(
    files: StageFiles, parameters: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Parameters by what the stages take them for, as random_inputs needs them."""
    categories = ["inputs"] * len(parameters)
    for _, phase, module in files.modules():
        for value in module.inputs:
            if value.parameter is None or value.role != "state":
                continue
            if not phase.startswith("update"):
                categories[value.parameter] = "parameters"
            elif categories[value.parameter] == "inputs":
                categories[value.parameter] = "optimizer_state"
    return [{**row, "category": category} for row, category in zip(parameters, categories)]


def _replaced(files: StageFiles) -> dict[int, int]:
    """For outputs that take the place of a parameter in the next step: which."""
    return {
        value.output: value.parameter
        for _, _, module in files.modules()
        for value in module.outputs
        if value.output is not None and value.parameter is not None
    }


def _numerics(
    program: Program,
    rows: Mapping[str, Sequence[dict[str, Any]]],
    inputs: Sequence[np.ndarray],
    got: Sequence[np.ndarray],
    replaced: Mapping[int, int],
    device: Any,
) -> Check:
    whole = _module_function(_whole(program), _shapes(rows["parameters"]), _shapes(rows["outputs"]))
    single = jax.jit(whole)
    try:
        expected = _on_one_device(single, inputs, device)
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return Check("numerics", SHOWN, "", "", "not judged: one device has not the memory")
    found = [
        checks.output_error(array, wanted, inputs[replaced[number]] if number in replaced else None)
        for number, (array, wanted) in enumerate(zip(got, expected))
    ]
    names = [row["name"] for row in rows["outputs"]]
    narrowest = narrowest_type(program)
    noise: list[float] = []
    if not checks.is_near(found, narrowest):
        numbers = [replaced.get(number) for number in range(len(expected))]
        noise = roundoff(
            lambda arrays: _on_one_device(single, arrays, device), inputs, expected, numbers
        )
    return checks.check_numerics(
        names,
        found,
        checks.finite_share(expected),
        narrowest,
        roundoff=noise,
        undefined=[name for name, array in zip(names, expected) if checks.has_nan(array)],
    )


def _whole(program: Program) -> bytes:
    """The program as it is, for one device."""
    if _library.program_format(program.contents) != "stablehlo":
        return from_hlo(_library.program_proto(program.contents), [])
    return without_shardings(_library.stablehlo_text(program.contents))


def _stage_rows(
    plan: Plan,
    files: StageFiles,
    places: Sequence[Sequence[Any]],
    seconds: Mapping[tuple[int, str], Sequence[float]],
) -> list[Check]:
    """What was run, a row for each stage and phase, with its time."""
    found = []
    for number, (row, stage) in enumerate(zip(plan.stages, files.stages)):
        mesh = mesh_text(stage.axes)
        if len(places[number]) < len(row["devices"]):
            mesh = f"one device instead of {mesh}"
        for phase in ("forward", "backward", "update"):
            # An update in two parts is planned as one.
            parts = [part for part in stage.modules if part.partition("-")[0] == phase]
            if not parts:
                continue
            planned = row["seconds"][phase]
            times = [seconds[number, part] for part in parts if (number, part) in seconds]
            measured = sum(statistics.median(part) for part in times) if times else None
            found.append(
                Check(
                    f"stage {number} {phase}",
                    SHOWN,
                    seconds_text(planned),
                    "" if measured is None else seconds_text(measured),
                    mesh + (f", in {len(parts)} parts" if len(parts) > 1 else ""),
                    [],
                    {"planned": planned, "measured": measured, "devices": len(places[number])},
                )
            )
    return found
