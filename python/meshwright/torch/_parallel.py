"""A module and an optimizer that train as a plan says, with ordinary loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
import torch.utils._pytree as pytree
from torch import Tensor, fx, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor

from meshwright import errors
from meshwright.torch._optimizers import first_state
from meshwright.torch._placements import Layouts
from meshwright.torch._planning import TorchPlan
from meshwright.torch._running import Runner


class Parallel(NamedTuple):
    """What `parallelize` gives."""

    module: nn.Module
    optimizer: torch.optim.Optimizer | None


def parallelize(
    module: nn.Module,
    plan: TorchPlan,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    mesh: DeviceMesh | None = None,
) -> Parallel:
    """Makes a module's parameters DTensors as planned, and its calls the planned step. Collective.

    The module itself is changed: called with its inputs and then the targets (whole tensors, the same
    in all processes, or DTensors) it gives the loss, whose `backward()` leaves gradients in its
    parameters; `optimizer.step()` of the optimizer that is returned updates them and its state. State
    dicts of both have torch's names and DTensors, as torch.distributed.checkpoint saves them.

        module, optimizer = mw.torch.parallelize(module, plan)
        for inputs, targets in batches:
            module(inputs, targets).backward()
            optimizer.step()
            optimizer.zero_grad()

    Args:
      module: the one that was planned, or one of the same parameters.
      optimizer: default: the one that was planned; of another its settings and state are taken.
      mesh: default: `plan.device_mesh()`.
    """
    subject = plan.subject
    optimizer = optimizer if optimizer is not None else subject.optimizer
    mesh = mesh if mesh is not None else plan.device_mesh()
    assert mesh is not None
    shape = dict(zip(mesh.mesh_dim_names or (), mesh.shape))
    if shape != plan.mesh_shape:
        raise errors.InvalidArgumentError(f"the mesh is {shape}, the plan's is {plan.mesh_shape}")
    layouts = Layouts(plan, subject.lowered)
    runner = Runner(subject.step, subject.lowered, layouts, mesh)
    planned = _Planned(runner, plan)
    states = None
    if subject.optimizer is not None and optimizer is not None:
        states = _Optimizer.states_of(planned, module, optimizer)  # of tensors as they are yet
    before = dict(module.named_parameters())
    planned.shard(module)
    module.__class__ = type(
        f"Parallel{type(module).__name__}",
        (_Module, type(module)),
        {"_meshwright": planned, "__module__": type(module).__module__},
    )
    if states is None or optimizer is None:
        return Parallel(module, None)
    return Parallel(module, _Optimizer(planned, module, optimizer, before, states))


class _Planned:
    """A step's graph in the parts that a training loop calls."""

    def __init__(self, runner: Runner, plan: TorchPlan) -> None:
        self.runner = runner
        self.plan = plan
        self.step = plan.subject.step
        self.index = {(leaf.kind, leaf.name): i for i, leaf in enumerate(self.step.leaves)}
        self.nodes = dict(zip(self.index, runner.leaves))
        new = runner.results[1 : 1 + len(self.step.replaced)]
        self.new = {
            (self.step.leaves[i].kind, self.step.leaves[i].name): node
            for i, node in zip(self.step.replaced, new)
        }
        self._constants = {
            name: runner.place_leaf(self.index["constant", name], value)
            for name, value in self.step.constants.items()
        }

    def shard(self, module: nn.Module) -> None:
        """Replaces a module's parameters and buffers by DTensors, shared ones by one."""
        known: dict[int, Any] = {}
        for kind, members in (("parameter", "_parameters"), ("buffer", "_buffers")):
            for prefix, part in module.named_modules():
                for name, value in getattr(part, members).items():
                    if value is None:
                        continue
                    full = f"{prefix}.{name}" if prefix else name
                    if id(value) not in known:
                        placed = self._place(kind, full, value)
                        if kind == "parameter":
                            placed = nn.Parameter(placed, requires_grad=value.requires_grad)
                        known[id(value)] = (value, placed)
                    getattr(part, members)[name] = known[id(value)][1]

    def _place(self, kind: str, name: str, value: Tensor) -> Any:
        position = self.index.get((kind, name))
        if position is None:
            raise errors.InvalidArgumentError(f"the plan is of another module: it has no {name}")
        like = self.step.leaves[position].like
        if value.shape != like.shape or value.dtype != like.dtype:
            raise errors.InvalidArgumentError(
                f"the plan is of another module: {name} is {like.dtype}{list(like.shape)} there and "
                f"{value.dtype}{list(value.shape)} here"
            )
        return self.runner.place_leaf(position, value)

    def leaves(self, module: nn.Module) -> dict[fx.Node, Any]:
        """Parameters, buffers and constants by the graph's nodes."""
        given = {("parameter", n): p.detach() for n, p in module.named_parameters()}
        given |= {("buffer", n): b for n, b in module.named_buffers()}
        given |= {("constant", n): c for n, c in self._constants.items()}
        return {self.nodes[key]: value for key, value in given.items()}

    def inputs(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[fx.Node, Any]:
        split = len(self.plan.subject.inputs[0])
        given = (args[:split], dict(kwargs), args[split:])
        flat, tree = pytree.tree_flatten(given)
        wanted = self.step.signature
        if tree != wanted:
            raise errors.InvalidArgumentError(
                f"found inputs of the structure {tree}, planned were {wanted}"
            )
        tensors = [x for x in flat if isinstance(x, Tensor)]
        placed = {}
        for leaf, value in zip(self.step.inputs, tensors, strict=True):
            if value.shape != leaf.like.shape or value.dtype != leaf.like.dtype:
                raise errors.InvalidArgumentError(
                    f"{leaf.name}: found {value.dtype}{list(value.shape)}, planned was "
                    f"{leaf.like.dtype}{list(leaf.like.shape)}; plan again for other shapes"
                )
            position = self.index["input", leaf.name]
            placed[self.nodes["input", leaf.name]] = self.runner.place_leaf(position, value)
        return placed


class _Module(nn.Module):
    """A module of which a call is the planned forward and backward pass."""

    _meshwright: _Planned

    def forward(self, *args: Any, **kwargs: Any) -> Tensor:
        planned = self._meshwright
        given = planned.leaves(self) | planned.inputs(args, kwargs)
        trained = [dict(self.named_parameters())[name] for name in planned.step.trained]
        if torch.is_grad_enabled():
            return _Step.apply(planned, self, given, *trained)
        [loss] = planned.runner.run(given, planned.runner.results[:1])
        return loss.full_tensor()


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, planned: _Planned, module: nn.Module, given: Any, *trained: Tensor
    ) -> Tensor:
        buffers = {key: node for key, node in planned.new.items() if key[0] == "buffer"}
        gradients = planned.step.gradients
        loss, *values = planned.runner.run(
            given, [planned.runner.results[0], *buffers.values(), *gradients]
        )
        named = dict(module.named_buffers())
        for (_, name), value in zip(buffers, values):
            named[name].copy_(value)
        ctx.gradients = values[len(buffers) :]
        return loss.full_tensor()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        [scale] = grads
        gradients, ctx.gradients = ctx.gradients, None
        if gradients is None:
            raise errors.InvalidArgumentError("backward() of this loss was called before")
        return (None, None, None, *(_scaled(gradient, scale) for gradient in gradients))


def _scaled(gradient: DTensor | None, scale: Tensor) -> Tensor | None:
    if gradient is None:
        return None
    local = gradient.to_local() * scale.to(gradient.dtype)
    return DTensor.from_local(
        *(local, gradient.device_mesh, gradient.placements),
        run_check=False,
        shape=gradient.shape,
        stride=gradient.stride(),
    )


class _Optimizer(torch.optim.Optimizer):
    """The planned update. Groups, state and state dicts are those of the optimizer that it stands for."""

    def __init__(
        self,
        planned: _Planned,
        module: nn.Module,
        optimizer: torch.optim.Optimizer,
        before: Mapping[str, Tensor],
        states: Mapping[str, Mapping[str, Any]],
    ) -> None:
        self._planned = planned
        self._module = module
        names = {id(value): name for name, value in before.items()}
        now = dict(module.named_parameters())
        groups = []
        for group in optimizer.param_groups:
            params = [now[names[id(value)]] for value in group["params"]]
            groups.append({**group, "params": params})
        super().__init__(groups, dict(optimizer.defaults))
        for name, state in states.items():
            if state:
                self.state[now[name]] = dict(state)

    @staticmethod
    def states_of(
        planned: _Planned, module: nn.Module, optimizer: torch.optim.Optimizer
    ) -> dict[str, dict[str, Any]]:
        """The optimizer's state as DTensors; where it has none yet, what it begins with."""
        found: dict[str, dict[str, Any]] = {}
        for name, value in module.named_parameters():
            keys = [key for key in planned.index if key[0] == "state"]
            mine = [key for _, key in keys if key.startswith(f"state.{name}.")]
            if not mine:
                continue
            state = optimizer.state.get(value) or first_state(optimizer, value)
            found[name] = {}
            for key, x in state.items():
                position = planned.index.get(("state", f"state.{name}.{key}"))
                placed = x if position is None else planned.runner.place_leaf(position, x)
                found[name][key] = placed
        return found

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Updates parameters and state from the parameters' gradients."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        planned = self._planned
        named = dict(self._module.named_parameters())
        given = planned.leaves(self._module)
        for name, node in zip(planned.step.trained, planned.step.gradients):
            if node is None:
                continue
            if named[name].grad is None:
                raise errors.InvalidArgumentError(
                    f"{name} has no gradient: call backward() of the loss before step()"
                )
            given[node] = named[name].grad
        for i, group in enumerate(self.param_groups):
            node = planned.nodes.get(("hyper", f"optimizer.{i}.lr"))
            if node is not None:
                position = planned.index["hyper", f"optimizer.{i}.lr"]
                rate = torch.as_tensor(float(group["lr"]), device=planned.runner.mesh.device_type)
                given[node] = planned.runner.place_leaf(position, rate)
        slots = {}
        for name, value in named.items():
            for key, x in self.state.get(value, {}).items():
                slots["state", f"state.{name}.{key}"] = x
        given |= {planned.nodes[key]: x for key, x in slots.items() if key in planned.nodes}
        new = {key: node for key, node in planned.new.items() if key[0] != "buffer"}
        for (kind, name), value in zip(new, planned.runner.run(given, list(new.values()))):
            (named[name] if kind == "parameter" else slots[kind, name]).copy_(value)
        return loss
