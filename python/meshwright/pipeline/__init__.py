"""Pipelines that run: a plan's stages on their devices, under JAX (docs/pipelines.md)."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Any

import jax

from meshwright import _library, errors
from meshwright._calls import Called, host_array
from meshwright._lowering import _like, _raw
from meshwright.document import Plan
from meshwright.pipeline.arrays import StagedArray
from meshwright.pipeline.order import planned_order
from meshwright.pipeline.processes import (
    begin_call,
    check_alike,
    facts,
    facts_of_arrays,
    meet,
    watch,
)
from meshwright.pipeline.runtime import Observer, Runtime
from meshwright.program import Program
from meshwright.verify.stage_files import check_plan, check_program, read_stage_files
from meshwright.verify.stage_program import stage_devices

__all__ = ["Pipeline", "StagedArray", "load_runtime"]


def load_runtime(
    plan: Plan,
    contents: bytes,
    stages: str | os.PathLike[str],
    devices: Any = None,
    donated: Sequence[int] = (),
) -> Runtime:
    """The stages of a plan of the program `contents`, compiled.

    Args:
      stages: the folder that was emitted with the plan.
      devices: to run on, see `stage_devices`.
      donated: parameters of the program.

    Errors: the folder is of another plan or program. Warns where only what the program computes is
    another, as lowering depends on JAX's version and the platform too.
    """
    files = read_stage_files(stages)
    check_plan(files, plan)
    rows = _library.read_program(contents)
    check_program(files, rows["parameters"], rows["outputs"])
    kind = plan.as_dict()["inputs"][0]["kind"]
    if (
        kind == _library.program_format(contents)
        and _library.program_fingerprint(contents) != files.program
    ):
        warnings.warn(
            f"{files.index}: what runs are the stages of another program than this one, of the same "
            "arguments and results: one that was changed, or lowered by another JAX or for another "
            "platform; plan this one if its function was changed",
            stacklevel=3,
        )
    places = stage_devices(plan.stages, devices)
    order = planned_order(plan)
    return Runtime(files, places, order, rows["parameters"], rows["outputs"], donated)


class Pipeline(Called):
    """A training step that runs as a plan's pipeline: called like the function.

    Arguments are as for `mw.jax.shard`: numpy arrays or jax.Arrays wherever they are, what does not
    lie as planned being moved first. Results are jax.Arrays on the devices of the stage that
    computes them; what holds something of every layer of several stages is a StagedArray. State
    that goes from step to step stays where it is, and its old buffers are overwritten where the
    function donates them. The call returns before the step has run.
    """

    def __init__(
        self,
        plan: Plan,
        program: Program,
        stages: str | os.PathLike[str],
        devices: Sequence[Any] | None = None,
    ) -> None:
        assert program.signature is not None
        super().__init__(program.signature)
        self.plan = plan
        self.program = program
        kept = program.signature.kept
        donated = [number for number, leaf in enumerate(kept) if leaf in program.signature.donated]
        for warning in [*plan.deviations, *plan.left_out]:
            warnings.warn(warning, stacklevel=3)
        check_alike(facts(plan, program.contents, stages))
        self.runtime = load_runtime(plan, program.contents, stages, devices, donated)
        watch(_stages_by_process(self.runtime.places))
        meet(tuple(jax.devices()))  # who had the least to compile waits here
        self._compared = False  # arguments of all processes: at the first call

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.observed(None, *args, **kwargs)

    def observed(self, observe: Observer | None, *args: Any, **kwargs: Any) -> Any:
        """The same, with `observe` told of every phase's dispatch: see Runtime.run."""
        signature = self._signature
        leaves = self._leaves(args, kwargs)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            raise errors.UnsupportedError(
                "a pipeline cannot be called inside jax.jit, differentiated or mapped: it is the "
                "whole step"
            )
        self._checked(leaves)
        inputs = [self._input(index, leaves[index]) for index in signature.kept]
        if not self._compared:
            # Data loaders and seeds that differ by process are noticed before the first step.
            check_alike(facts_of_arrays(inputs, [signature.in_names[i] for i in signature.kept]))
            self._compared = True
        begin_call()
        outputs = self.runtime.run(inputs, observe)
        like = zip(outputs, signature.out_leaves, strict=True)
        results = [
            array if isinstance(array, StagedArray) else _like(array, leaf) for array, leaf in like
        ]
        return jax.tree.unflatten(signature.out_tree, results)

    def _input(self, index: int, leaf: Any) -> Any:
        name, like = self._signature.in_names[index], self._signature.in_leaves[index]
        if isinstance(leaf, (jax.Array, StagedArray)) and leaf.is_deleted():
            raise errors.InvalidArgumentError(
                f"{name}: this array was donated to an earlier call, or deleted; pass what that call "
                "returned"
            )
        if isinstance(leaf, StagedArray):
            return leaf
        if isinstance(leaf, jax.Array):
            return _raw(leaf)
        return host_array(name, leaf, like.dtype)


def _stages_by_process(places: Sequence[Sequence[Any]]) -> dict[int, str]:
    """For each process its stages, as text."""
    stages: dict[int, list[str]] = {}
    for number, devices in enumerate(places):
        for process in {device.process_index for device in devices}:
            stages.setdefault(process, []).append(str(number))
    return {
        process: f"stage{'s' * (len(numbers) > 1)} {', '.join(numbers)}"
        for process, numbers in stages.items()
    }
