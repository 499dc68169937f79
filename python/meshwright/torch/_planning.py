"""Plans of training steps of modules."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from meshwright import _outputs, errors
from meshwright.document import Plan
from meshwright.planning import plan_program
from meshwright.program import Program
from meshwright.torch import _attention
from meshwright.torch._lowering import Lowered, lower
from meshwright.torch._placements import Placements, named
from meshwright.torch._step import Step
from meshwright.torch._tracing import trace

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from meshwright.options import ExportOptions


@dataclasses.dataclass
class Subject:
    """What was planned, and how it was given."""

    module: nn.Module
    inputs: tuple[tuple[Any, ...], dict[str, Any], tuple[Any, ...]]  # args, kwargs, targets
    optimizer: torch.optim.Optimizer | None
    step: Step
    lowered: Lowered


class TorchPlan(Plan):
    """A plan of a module's training step. Figures and lists are those of `meshwright.Plan`."""

    def __init__(self, document: str | bytes, program: Program, subject: Subject) -> None:
        super().__init__(document, program)
        self.subject = subject

    def torch_placements(self) -> dict[str, dict[str, Placements]]:
        """DTensor's placements, one for each axis of the plan's mesh, outermost first.

        "parameters", "buffers", "state" (of the optimizer, "NAME.KEY") and "inputs" by torch's names,
        and "outputs": "loss", and what replaces the others, by the same names.
        """
        kinds = {
            "parameter": "parameters",
            "buffer": "buffers",
            "state": "state",
            "input": "inputs",
        }
        found: dict[str, dict[str, Placements]] = {kind: {} for kind in kinds.values()}
        laid = named(self, self.parameters)
        for leaf in self.subject.step.leaves:
            if leaf.kind in kinds:
                name = leaf.name.removeprefix("state.") if leaf.kind == "state" else leaf.name
                found[kinds[leaf.kind]][name] = laid[leaf.name]
        step = self.subject.step
        names = ["loss", *(step.leaves[i].name for i in step.replaced)]
        outputs = named(self, self.outputs).values()
        found["outputs"] = dict(zip(names, outputs))
        return found

    def device_mesh(self, device_type: str | None = None) -> Any:
        """The plan's mesh over all processes of torch.distributed, which is initialized."""
        from torch.distributed.device_mesh import init_device_mesh

        processes = torch.distributed.get_world_size() if torch.distributed.is_initialized() else 1
        if processes != self.num_devices:
            raise errors.InvalidArgumentError(
                f"the plan is for {self.num_devices} devices, torch.distributed has {processes} "
                "processes: start one for each device, e.g. with torchrun"
            )
        kind = device_type or ("cuda" if torch.cuda.is_available() else "cpu")
        shape = tuple(self.mesh_shape.values())
        mesh = init_device_mesh(kind, shape, mesh_dim_names=tuple(self.mesh_shape))
        if mesh.ndim > 1:
            mesh._flatten()  # so that a collective over all axes is one
        return mesh

    def export(
        self, to: str, path: str | os.PathLike[str] | None = None, **options: Unpack[ExportOptions]
    ) -> Path:
        """Makes a folder with a file that shards the module as planned, by torch's own means or others'.

        Args:
          to: "fsdp" (parallelize.py: FSDP2 and tensor parallelism), "transformers" (distributed.py: a
            DistributedConfig), "accelerate" (accelerator.py), or a target of `meshwright.Plan.export`.
          path: of the folder, which must not be there or be empty; default: "MODULE-TARGET".

        Raises:
          InvalidArgumentError: the target cannot express the plan; names the parameter and the nearest
            that can.
        """
        from meshwright.torch import _exporting

        if to not in _exporting.TARGETS:
            return super().export(to, path, **options)
        if options:
            raise errors.InvalidArgumentError(f"export: {to} takes no {next(iter(options))}")
        file = _exporting.export(self, to)
        folder = Path(f"{type(self.subject.module).__name__}-{to}" if path is None else path)
        _outputs.write_folder(folder, [(file.name, file.contents, False)])
        return folder

    def verify(self, program: Any = None, **options: Any) -> Any:
        """Runs the step by the plan and in one process, and compares. See `_verifying.verify`."""
        from meshwright.torch._verifying import verify

        if program is not None:
            raise errors.InvalidArgumentError("verify: the plan knows its module already")
        return verify(self, **options)


def plan(
    module: nn.Module,
    example_inputs: Any = (),
    *,
    loss: Callable[..., Tensor] | None = None,
    targets: Sequence[Any] = (),
    optimizer: torch.optim.Optimizer | None = None,
    cluster: str | os.PathLike[str] | None = None,
    rules: Any = (),
    **options: Any,
) -> TorchPlan:
    """Plans a training step of a module: forward, loss, backward and the optimizer's update.

    The module is traced without data: it may be on the device "meta". It runs as it is, in its mode
    (`train()`), with its frozen parameters, checkpoints and autocasts.

    Args:
      module: any whose operators are known (docs/torch.md) and whose path does not depend on data.
      example_inputs: what it is called with: a tensor, a tuple, or a mapping of keyword arguments.
      loss: a function of the module's output and the targets. Default: the output itself if it is of
        one element, or its `.loss`, as models of transformers have it.
      targets: further arguments of the loss.
      optimizer: over the module's parameters. Its state is planned and its update too; its learning
        rates may change from step to step. None: the step gives gradients.
      cluster: "8xh100-sxm", "2x8xa100-80g" or a YAML file.
      **options: all of `meshwright.plan` that go with programs: mesh, memory, fix, deadline, ...

    Raises:
      UnsupportedError: the step cannot be traced, or an operator is not known; names it and the line.
    """
    if isinstance(example_inputs, Tensor):
        example_inputs = (example_inputs,)
    keywords = isinstance(example_inputs, Mapping)
    args = () if keywords else tuple(example_inputs)
    kwargs = dict(example_inputs) if keywords else {}
    targets = (targets,) if isinstance(targets, Tensor) else tuple(targets)
    step = trace(module, args, kwargs, targets, loss, optimizer)
    lowered = lower(step)
    program = Program(lowered.text.encode(), type(module).__name__)
    more = [rules] if isinstance(rules, (str, os.PathLike)) else list(rules)
    if cluster is None:
        raise errors.InvalidArgumentError('cluster: is needed, e.g. cluster="8xh100-sxm"')
    made = plan_program(program, cluster, {"rules": [*more, _attention.RULES], **options})
    subject = Subject(module, (args, kwargs, targets), optimizer, step, lowered)
    return TorchPlan(made.to_json(), program, subject)
