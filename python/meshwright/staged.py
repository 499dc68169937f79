"""A training step run by the stages of a plan's pipeline, by turns in one process.

This is for trying a pipeline, and for seeing that its stages train as the whole step does: values go
through the host, and no two stages run at once. A runtime for many hosts is another matter
(docs/stages.md says what it has to do).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from meshwright import _library, errors
from meshwright._lowering import _like, _raw
from meshwright.document import Plan
from meshwright.program import lower
from meshwright.verify.stage_files import check_plan, check_program, read_stage_files
from meshwright.verify.stage_program import StageProgram, stage_devices
from meshwright.verify.stage_step import StageStep


class Staged:
    """Called like the function, with ordinary pytrees; the results are numpy arrays in one."""

    def __init__(
        self,
        fn: Callable[..., Any],
        *args: Any,
        plan: Plan,
        stages: str | os.PathLike[str],
        devices: Sequence[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        """
        Args:
          fn: the step that was planned.
          *args: example arguments, arrays or jax.ShapeDtypeStruct; `kwargs` those with names.
          stages: the folder that `meshwright plan --emit` wrote.
          devices: to run on; default: the first that JAX has.
        """
        if not plan.stages:
            raise errors.InvalidArgumentError(
                "the plan has no pipeline; meshwright.jax.shard runs it"
            )
        self.program = lower(fn, args, kwargs or {})
        self._files = read_stage_files(stages)
        check_plan(self._files, plan)
        rows = _library.read_program(self.program.contents)
        check_program(self._files, rows["parameters"], rows["outputs"])
        self._outputs = rows["outputs"]
        places = stage_devices(plan.stages, devices)
        self._programs = {
            (stage, phase): StageProgram(module, self._files.stages[stage].axes, places[stage])
            for stage, phase, module in self._files.modules()
        }

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        signature = self.program.signature
        assert signature is not None
        leaves, tree = jax.tree.flatten((args, kwargs))
        if tree != signature.in_tree:
            raise errors.InvalidArgumentError(
                f"the arguments have the structure {tree}, the function was staged for "
                f"{signature.in_tree}"
            )
        inputs = [_host_array(leaves[i], signature.in_leaves[i]) for i in signature.kept]
        results = StageStep(self._files, self._programs, inputs, self._outputs).run()
        like = zip(results, signature.out_leaves, strict=True)
        return jax.tree.unflatten(signature.out_tree, [_like(value, leaf) for value, leaf in like])


def _host_array(leaf: Any, like: Any) -> np.ndarray:
    if not isinstance(leaf, jax.Array):
        leaf = np.asarray(leaf, like.dtype)  # Python numbers
    return np.asarray(_raw(leaf))
