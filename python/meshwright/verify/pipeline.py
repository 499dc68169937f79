"""Runs a pipeline and holds it against the whole program and the planned schedule."""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from meshwright import _library, _outputs, errors
from meshwright._lowering import _module_function, _shapes
from meshwright._shardy import from_hlo, without_shardings
from meshwright.document import Plan
from meshwright.pipeline import Runtime, load_runtime
from meshwright.pipeline.order import WEIGHTS
from meshwright.pipeline.timeline import Ran, Timeline, trace_of
from meshwright.program import Program
from meshwright.verify import checks
from meshwright.verify.index_ranges import index_ranges
from meshwright.verify.inputs import Inputs, step_inputs
from meshwright.verify.report import FAILED, PASSED, SHOWN, Check, Report, seconds_text
from meshwright.verify.roundoff import roundoff
from meshwright.verify.run import _on_one_device, narrowest_type
from meshwright.verify.stage_files import StageFiles, mesh_text
from meshwright.verify.stage_traffic import check_stage_collectives, check_transfers, phase_rows

# Of training steps whose numerics are compared, each with the pipeline's own state from the one before.
STEPS = 3


def check_alone() -> None:
    """Raises an error in one of several processes: none has all results to compare."""
    if jax.process_count() > 1:
        raise errors.InvalidArgumentError(
            f"a pipeline is verified in one process, found {jax.process_count()}: with the program "
            "and its stages available, `meshwright verify` does it on any machine"
        )


def run_stages(
    plan: Plan,
    program: Program,
    folder: str | os.PathLike[str],
    devices: Any,
    repeats: int,
    seed: int,
    trace: str | os.PathLike[str] | None = None,
    examples: Sequence[Any] = (),
) -> Report:
    """Runs steps of the pipeline as `mw.jax.pipeline` does; see `meshwright.verify.verify`.

    Args:
      examples: for each parameter an array to run on, or None; without any all are random.
    """
    runtime = load_runtime(plan, program.contents, folder, devices)
    files = runtime.files
    rows = _library.read_program(program.contents)
    replaced = _replaced(files)
    places = runtime.places
    numerics, inputs = _best_numerics(
        program,
        rows,
        step_inputs(
            _with_categories(files, rows["parameters"]),
            seed,
            examples,
            index_ranges(_whole(program)),
            {rows["parameters"][number]["name"] for number in replaced.values()},
        ),
        runtime,
        replaced,
    )
    if numerics.outcome == FAILED and plan.deviations:
        # What micro-batches do differently comes to nothing where they are alike.
        alike = _numerics(program, rows, _alike(files, inputs), runtime, replaced)
        if alike.outcome == PASSED:
            remark = (
                f"{alike.remark}, on micro-batches that are alike: else not the same, as planned"
            )
            numerics = dataclasses.replace(alike, remark=remark, notes=plan.deviations)
        else:
            # Random bits of its own a micro-batch has even where its data are another's.
            own_bits = plan.as_dict()["options"].get("micro_batch_rng") == "independent"
            numerics = dataclasses.replace(
                numerics,
                outcome=SHOWN if own_bits else FAILED,
                notes=[*plan.deviations, *numerics.notes],
            )
    found = [numerics]

    seconds: dict[tuple[int, str], list[float]] = defaultdict(list)
    timeline, ran = Timeline(), []
    for _ in range(max(repeats, 1)):
        timeline = Timeline()
        jax.block_until_ready(runtime.run(inputs.arrays, timeline))
        ran = timeline.phases()
        for one in ran:
            seconds[one.task.stage, one.phase].append(one.end - one.start)
    found += _stage_rows(plan, files, places, seconds if repeats else {})
    rows_of_stages = zip(places, plan.stages)
    as_planned = all(len(devices) == len(row["devices"]) for devices, row in rows_of_stages)
    found += check_transfers(plan, timeline.transfers, as_planned)
    found += check_stage_collectives(plan, runtime)
    if repeats:
        found.append(_step_row(runtime, ran))
    if trace is not None:
        text = json.dumps(trace_of(runtime.planned, ran, _groups(plan)))
        _outputs.write_file(trace, text.encode())
    count = len({device.id for place in places for device in place})
    first = places[0][0]
    kind = "host devices" if first.platform == "cpu" else first.device_kind
    return Report(
        repr(plan).strip("<>"),
        f"{count} x {kind}, jax {jax.__version__}",
        found,
        phase_rows(runtime, ran) if repeats else [],
    )


def _groups(plan: Plan) -> int:
    return len(plan.stages) // plan.summary["chunks"]


def _step_row(runtime: Runtime, ran: Sequence[Ran]) -> Check:
    """The step from its first phase to the end of its last, and whether phases kept their order."""
    planned = max(task.end for task in runtime.planned)
    measured = max(one.end for one in ran) - min(one.start for one in ran)
    by_devices: dict[tuple[int, ...], list[tuple[int, str, int | None]]] = defaultdict(list)
    for one in ran:
        task = one.task
        by_devices[one.devices].append((task.stage, one.phase, task.micro_batch))
    dispatched = [
        (task.stage, phase, task.micro_batch)
        for task in runtime.order
        for phase in runtime.phases_of(task)
    ]
    kept = all(
        order == [phase for phase in dispatched if phase in set(order)]
        for order in by_devices.values()
    )
    return Check(
        "schedule",
        PASSED if kept else FAILED,
        seconds_text(planned),
        seconds_text(measured),
        "phases ran in the planned order" if kept else "phases ran in another order than planned",
        [],
        {"planned": planned, "measured": measured},
    )


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


def _alike(files: StageFiles, inputs: Inputs) -> Inputs:
    """The inputs, with the first micro-batch's in the place of every other's."""
    arrays = list(inputs.arrays)
    dimensions = {
        value.parameter: value.batch_dimension
        for _, _, module in files.modules()
        for value in module.inputs
        if value.parameter is not None and value.batch_dimension is not None
    }
    for parameter, dimension in dimensions.items():
        first = np.split(arrays[parameter], files.micro_batches, dimension)[0]
        arrays[parameter] = np.concatenate([first] * files.micro_batches, dimension)
    return dataclasses.replace(inputs, arrays=arrays)


def _replaced(files: StageFiles) -> dict[int, int]:
    """For outputs that take the place of a parameter in the next step: which."""
    return {
        value.output: value.parameter
        for _, _, module in files.modules()
        for value in module.outputs
        if value.output is not None and value.parameter is not None
    }


def _best_numerics(
    program: Program,
    rows: Mapping[str, Sequence[dict[str, Any]]],
    candidates: Iterable[Inputs],
    runtime: Runtime,
    replaced: Mapping[int, int],
) -> tuple[Check, Inputs]:
    """Of the first inputs on which results are finite; of the last if they are on none."""
    found: tuple[Check, Inputs] | None = None
    for inputs in candidates:
        found = _numerics(program, rows, inputs, runtime, replaced), inputs
        if found[0].figures.get("finite", 1) == 1:
            break
    assert found is not None
    return found


def _numerics(
    program: Program,
    rows: Mapping[str, Sequence[dict[str, Any]]],
    inputs: Inputs,
    runtime: Runtime,
    replaced: Mapping[int, int],
) -> Check:
    """The largest errors of a few steps.

    Every step is compared with the whole program's on the same inputs, those that the pipeline's
    step before gave: so the tolerance is that of one step, and state goes from step to step as it
    does in training.
    """
    device = runtime.places[0][0]
    whole = _module_function(_whole(program), _shapes(rows["parameters"]), _shapes(rows["outputs"]))
    single = jax.jit(whole)
    narrowest = narrowest_type(program)
    numbers = [replaced.get(number) for number in range(len(rows["outputs"]))]
    names = [row["name"] for row in rows["outputs"]]
    worst = [0.0] * len(names)
    noise: list[float] = []
    undefined: list[str] = []
    finite = 1.0
    state: list[Any] = list(inputs.arrays)
    for _ in range(STEPS if replaced else 1):
        at = [np.asarray(array) for array in state]
        got = runtime.run(state)
        for number, parameter in replaced.items():
            state[parameter] = got[number]
        try:
            expected = _on_one_device(single, at, device)
        except jax.errors.JaxRuntimeError as error:
            if "RESOURCE_EXHAUSTED" not in str(error):
                raise
            return Check("numerics", SHOWN, "", "", "not judged: one device has not the memory")
        found = [
            checks.output_error(np.asarray(array), wanted, None if base is None else at[base])
            for array, wanted, base in zip(got, expected, numbers)
        ]
        worst = [max(pair) for pair in zip(worst, found)]
        if not checks.is_near(found, narrowest):
            run = lambda arrays: _on_one_device(single, arrays, device)
            moved = roundoff(run, at, expected, numbers, narrowest)
            noise = [max(pair) for pair in zip(noise or moved, moved)]
        finite = min(finite, checks.finite_share(expected))
        undefined += [
            name
            for name, array in zip(names, expected)
            if checks.has_nan(array) and name not in undefined
        ]
    return checks.check_numerics(names, worst, finite, narrowest, inputs.remark, undefined, noise)


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
            if phase == "backward" and (number, WEIGHTS) in seconds:
                parts = [part for part in (*parts, WEIGHTS) if (number, part) in seconds]
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
