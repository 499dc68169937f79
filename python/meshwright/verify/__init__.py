"""Holds a plan against the program that XLA compiles from it.

Four comparisons: results of the sharded program with those of one device, on the same inputs: the
arguments that the plan was made with, or random ones; collectives in the compiled program with those of the plan; XLA's memory analysis with the
planned peak; the measured time of a step with the planned one. The last two say something only on
devices of the kind that was planned for; elsewhere they are shown and not judged. Of a plan with a
pipeline the stages are run as a runtime would run them, and results compared.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from meshwright import _library, errors
from meshwright._outputs import check_file
from meshwright.document import Plan
from meshwright.program import Program, read_program
from meshwright.verify.report import Check, Report

__all__ = ["Check", "Report", "verify"]


def verify(
    plan: Plan,
    program: Any = None,
    *,
    stages: str | os.PathLike[str] | None = None,
    devices: Any = None,
    repeats: int = 5,
    seed: int = 0,
    stand_ins: Mapping[str, Callable[..., Any]] | None = None,
    trace: str | os.PathLike[str] | None = None,
) -> Report:
    """Compiles the plan under JAX, runs it, and compares.

    Args:
      program: what the plan is of (path, text, bytes, Lowered); default: what it was made from, if
        that is available. Arrays among the arguments that `meshwright.plan` was given are the inputs,
        if they are still there: what was donated since is not, and of more than 64 MiB none is kept
        for this. Everything else is random, and so is an optimizer's state that is all zeros.
      stages: of a plan with a pipeline: the folder of its stages, as `plan --emit` writes it; default:
        where `meshwright.plan(..., emit=folder)` wrote it. Three steps run as `mw.jax.pipeline` runs
        them, and their results are compared.
      devices: to run on; default: the first that JAX has.
      repeats: steps to time; the median counts. 0: the time is not measured.
      seed: of the random inputs.
      stand_ins: functions in place of calls whose kernels these devices do not have, by what is
        called (`*` and `?` match any characters): {"__cudnn$fmhaSoftmax": attention}. Each takes the
        operands of the call, or the shards of them that a device has, and returns its results; the
        last of these may be left out.
      trace: of a plan with a pipeline: a file for the planned and the measured schedule, for Perfetto.

    Callbacks that are there for what they do (jax.debug.print, io_callback without results) are not
    called.
    """
    if trace is not None:
        check_file(trace, "trace")
    if program is not None:
        read = read_program(program, (), {})
    elif plan.program is not None:
        read = plan.program
    else:
        raise errors.InvalidArgumentError(
            "the plan was loaded without its program: verify(plan, program)"
        )
    examples = _by_parameter(read)
    # The program by its parameters, whatever function it came from.
    read = Program(
        read.contents, read.name, callbacks=read.callbacks, stand_ins=dict(stand_ins or {})
    )
    if bounded := _library.bounded_size(read.contents):
        raise errors.UnsupportedError(
            f"{read.name}: {bounded} has a size that is only bounded, which JAX cannot run; lower "
            "the program for sizes that are known"
        )
    if plan.stages:
        if stand_ins:
            raise errors.UnsupportedError("stand_ins: are not for plans with a pipeline")
        if stages is None:
            stages = plan.stages_folder
        if stages is None:
            raise errors.InvalidArgumentError(
                "the plan has a pipeline: name the folder of its stages, which `meshwright plan "
                "--emit DIR` writes, with verify(stages=DIR) or --stages DIR"
            )
        from meshwright.verify.pipeline import check_alone, run_stages

        check_alone()
        return run_stages(plan, read, stages, devices, repeats, seed, trace, examples)
    if stages is not None:
        raise errors.InvalidArgumentError(
            f"--stages: found {os.fspath(stages)}, but the plan has no pipeline and so no stages"
        )
    if trace is not None:
        raise errors.InvalidArgumentError("trace: is of plans with a pipeline; see Plan.simulate")
    from meshwright.verify.run import run

    return run(plan, read, devices, repeats, seed, examples)


def _by_parameter(program: Program) -> list[Any]:
    """For each of the program's parameters the array that it was lowered for; None: there is none."""
    if program.signature is None or program.examples is None:
        return []
    leaves = list(program.examples)
    return [leaves[index] for index in program.signature.kept]
