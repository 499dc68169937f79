"""A plan held against what it runs as: one step in as many processes as it has devices, and in one."""

from __future__ import annotations

import collections
import dataclasses
import time
from collections.abc import Mapping
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch import Tensor, fx

from meshwright.torch._optimizers import first_state
from meshwright.torch._sharded_runs import run_processes, run_simulated


@dataclasses.dataclass
class TorchReport:
    """What `TorchPlan.verify` found.

    `planned`, `ran`: number of collectives by kind. `errors`: by name of what the step gives, the
    largest difference from one process, relative to the largest element there (or to 1, if that is
    less). `replicated`: operators that DTensor did not run sharded. `passed`: all errors are within
    the tolerance.
    """

    devices: int
    tolerance: float
    errors: dict[str, float]
    planned: dict[str, int]
    ran: dict[str, int]
    replicated: list[str]
    seconds: float  # of the sharded run, starting processes included
    simulated: bool = False  # in one process
    planned_bytes: int = (
        0  # of a device, of each collective the larger of what goes in and comes out
    )
    ran_bytes: int = 0

    @property
    def passed(self) -> bool:
        return all(error <= self.tolerance for error in self.errors.values())  # not of NaN

    @property
    def worst(self) -> tuple[str, float]:
        """The name of the largest error, and it."""
        return max(self.errors.items(), key=lambda item: item[1] if item[1] == item[1] else 1e300)

    def __str__(self) -> str:
        name, error = self.worst
        kinds = sorted({*self.planned, *self.ran})
        devices = "simulated devices" if self.simulated else "processes"
        lines = [
            f"{'ok' if self.passed else 'FAILED'}: {len(self.errors)} tensors of a step on {self.devices} {devices}",
            f"largest difference {error:.2g} ({name}), {self.tolerance:.2g} allowed",
            "collectives            planned    ran",
        ]
        lines += [
            f"  {kind:20} {self.planned.get(kind, 0):7} {self.ran.get(kind, 0):6}" for kind in kinds
        ]
        lines.append(
            f"  {'MiB':20} {self.planned_bytes / 2**20:7.4g} {self.ran_bytes / 2**20:6.4g}"
        )
        if self.replicated:
            lines.append(f"not sharded by DTensor: {', '.join(self.replicated)}")
        return "\n".join(lines)


def verify(
    plan: Any,
    *,
    tolerance: float = 1e-4,
    seed: int = 0,
    timeout: float = 600.0,
    simulate: bool = False,
) -> TorchReport:
    """Runs one step of what was planned, with gloo on this machine's CPUs.

    Parameters, buffers and inputs are the module's and the example inputs; those without data are
    drawn by `seed`. What is compared: the loss, gradients, and what replaces parameters, buffers and
    the optimizer's state.

    Args:
      tolerance: see `TorchReport.errors`.
      timeout: seconds for all processes together.
      simulate: all devices in this process, by torch's LocalTensorMode: the same values and collectives
        for less of the machine, and all-to-alls as such, which gloo does as all-gathers.

    Raises:
      InvalidArgumentError: `simulate` where torch.distributed is initialized.
      InternalError: a process failed or did not end.
    """
    subject = plan.subject
    values = _values(subject, seed)
    wanted = _wanted(subject.step)
    torch.manual_seed(seed)
    one = _run_alone(subject.step, values, list(wanted.values()))
    started = time.monotonic()
    if simulate:
        found = run_simulated(plan, values, wanted, seed)
    else:
        found = run_processes(plan, values, wanted, seed, timeout)
    differences = {name: _difference(found.values[name], x) for name, x in zip(wanted, one)}
    planned: dict[str, int] = collections.Counter()
    for row in plan.collectives:
        planned[row["kind"]] += row["count"]
    return TorchReport(
        plan.num_devices,
        tolerance,
        differences,
        dict(planned),
        found.collectives,
        found.replicated,
        time.monotonic() - started,
        simulate,
        sum(row["bytes_per_device"] for row in plan.collectives),
        found.bytes,
    )


def _difference(found: Tensor, wanted: Tensor) -> float:
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return float("inf")
    if not wanted.numel():
        return 0.0
    a, b = found.double(), wanted.double()
    return float((a - b).abs().max() / max(1.0, float(b.abs().max())))


def _values(subject: Any, seed: int) -> list[Tensor]:
    """The step's leaves with data."""
    generator = torch.Generator().manual_seed(seed)
    named = dict(subject.module.named_parameters())
    buffers = dict(subject.module.named_buffers())
    inputs = iter([x for x in pytree.tree_leaves(subject.inputs) if isinstance(x, Tensor)])
    values = []
    states: dict[str, Any] = {}
    for leaf in subject.step.leaves:
        if leaf.kind == "state":
            states = states or _states(subject, named)
            value = states[leaf.name]
        elif leaf.kind == "hyper":
            group = subject.optimizer.param_groups[int(leaf.name.split(".")[1])]
            value = torch.tensor(float(group["lr"]))
        elif leaf.kind == "constant":
            value = subject.step.constants[leaf.name]
        elif leaf.kind == "input":
            value = next(inputs)
        else:
            value = (named if leaf.kind == "parameter" else buffers)[leaf.name]
        values.append(
            _drawn(value.detach().cpu() if value.device.type != "meta" else value, generator)
        )
    return values


def _drawn(value: Tensor, generator: torch.Generator) -> Tensor:
    if value.device.type != "meta" and not hasattr(value, "fake_mode"):
        return value.clone()
    if value.dtype.is_floating_point:
        return (0.02 * torch.randn(value.shape, generator=generator)).to(value.dtype)
    return torch.zeros(value.shape, dtype=value.dtype)


def _states(subject: Any, named: Mapping[str, Tensor]) -> dict[str, Any]:
    found = {}
    for group in subject.optimizer.param_groups:
        for value in group["params"]:
            [name] = [n for n, x in named.items() if x is value]
            state = subject.optimizer.state.get(value) or first_state(subject.optimizer, value)
            found |= {f"state.{name}.{key}": x for key, x in state.items() if isinstance(x, Tensor)}
    return found


def _wanted(step: Any) -> dict[str, fx.Node]:
    """What is compared, by name: the nodes that give it."""
    [output] = [node for node in step.graph.graph.nodes if node.op == "output"]
    nodes = {"loss": output.args[0][0]}
    for name, node in zip(step.trained, step.gradients):
        if node is not None:
            nodes[f"gradient of {name}"] = node
    for position, node in zip(step.replaced, output.args[0][1:]):
        nodes[step.leaves[position].name] = node
    return nodes


def _run_alone(step: Any, values: list[Tensor], wanted: list[fx.Node]) -> list[Tensor]:
    kept: dict[fx.Node, Any] = {}

    class Keep(fx.Interpreter):
        def run_node(self, n: fx.Node) -> Any:
            result = super().run_node(n)
            if n in chosen:
                kept[n] = result.detach().clone()
            return result

    chosen = set(wanted)
    with torch.no_grad():
        Keep(step.graph).run(*[value.clone() for value in values])
    return [kept[node] for node in wanted]
