"""Holds a plan against the program that XLA compiles from it.

Four comparisons: results of the sharded program with those of one device, on the same random
inputs; collectives in the compiled program with those of the plan; XLA's memory analysis with the
planned peak; the measured time of a step with the planned one. The last two say something only on
devices of the kind that was planned for; elsewhere they are shown and not judged.
"""

from __future__ import annotations

from typing import Any

from meshwright import errors
from meshwright.document import Plan
from meshwright.program import Program, read_program
from meshwright.verify.report import Check, Report

__all__ = ["Check", "Report", "verify"]


def verify(
    plan: Plan,
    program: Any = None,
    *,
    devices: Any = None,
    repeats: int = 5,
    seed: int = 0,
) -> Report:
    """Compiles the plan under JAX, runs it, and compares.

    Args:
      program: what the plan is of (path, text, bytes, Lowered); default: what it was made from, if
        that is at hand.
      devices: to run on; default: the first that JAX has.
      repeats: steps to time; the median counts. 0: the time is not measured.
      seed: of the random inputs.
    """
    from meshwright.verify.run import run

    if program is not None:
        read = read_program(program, (), {})
    elif plan.program is not None:
        read = plan.program
    else:
        raise errors.InvalidArgumentError(
            "the plan was loaded without its program: verify(plan, program)"
        )
    # The program by its parameters, whatever function it came from.
    return run(plan, Program(read.contents, read.name), devices, repeats, seed)
