"""A traced step on DTensors, every value redistributed as the plan says."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch import Tensor, fx
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard

from meshwright.torch import _convolutions
from meshwright.torch._lowering import Lowered
from meshwright.torch._placements import Layouts, Placements
from meshwright.torch._step import Step

_ATEN = torch.ops.aten
# Operators that draw numbers: all devices draw the whole tensor alike and keep their part, so that
# a step draws what one device would.
_RANDOM = {
    *(_ATEN.bernoulli.p, _ATEN.rand_like.default, _ATEN.randn_like.default, _ATEN.uniform.default),
    *(_ATEN.rand.default, _ATEN.randn.default, _ATEN.normal_functional.default),
}


class Runner:
    """Runs parts of a step's graph. All processes of the mesh call it alike.

    `replicated`: operators that DTensor cannot run sharded, which ran on whole tensors instead.
    """

    def __init__(self, step: Step, lowered: Lowered, layouts: Layouts, mesh: DeviceMesh) -> None:
        self._step = step
        self._lowered = lowered
        self._layouts = layouts
        self.mesh = mesh
        self.nodes = list(step.graph.graph.nodes)
        self.leaves = [node for node in self.nodes if node.op == "placeholder"]
        self.results = list(self.nodes[-1].args[0])
        self.replicated: set[str] = set()
        self._unsharded: set[str] = set()  # nodes

    def place(self, value: Tensor, wanted: Placements) -> DTensor:
        """A tensor that all processes have whole, or a DTensor, laid out so."""
        if isinstance(value, DTensor):
            return self._move(value, wanted)
        return self._move(self._whole(value.detach()), wanted)

    def place_leaf(self, index: int, value: Tensor) -> DTensor:
        return self.place(value, self._layouts.leaf(index))

    def run(self, given: Mapping[fx.Node, Any], wanted: Sequence[fx.Node | None]) -> list[Any]:
        """The values of the nodes `wanted`, from those `given`, which are not computed. None gives None."""
        needed = _needed(given, [node for node in wanted if node is not None])
        last = _last_uses(needed, {node for node in wanted if node is not None})
        values: dict[fx.Node, Any] = dict(given)
        moved: dict[tuple[fx.Node, Any], DTensor] = {}
        for index, leaf in enumerate(self.leaves):
            shared = self._layouts.shared(index)
            if leaf in values and shared is not None:
                moved[leaf, shared] = self._move(values[leaf], shared)
        with torch.no_grad():
            for node in needed:
                if node not in given:
                    values[node] = self._node(node, values, moved)
                for dead in last.get(node, ()):
                    values.pop(dead, None)
                    for key in [key for key in moved if key[0] is dead]:
                        del moved[key]
        return [None if node is None else values[node] for node in wanted]

    def _node(self, node: Any, values: Mapping[fx.Node, Any], moved: dict[Any, DTensor]) -> Any:
        if node.target is operator.getitem:
            result = values[node.args[0]][node.args[1]]
            return self._kept(node, result)

        def read(argument: fx.Node) -> Any:
            value = values[argument]
            if not isinstance(value, DTensor):
                return value
            path, partial = self._layouts.operand(node, argument)
            for wanted in path:
                wanted = _with_partial(wanted, value.placements, partial)
                key = (argument, wanted)
                if key not in moved:
                    moved[key] = self._move(value, wanted)
                value = moved[key]
            return value

        args, kwargs = fx.map_arg((node.args, node.kwargs), read)
        result = self._call(node, args, kwargs)
        if isinstance(result, (tuple, list)):
            return result  # what takes them apart places them
        return self._kept(node, result)

    def _kept(self, node: fx.Node, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        if not isinstance(value, DTensor):
            value = self._whole(value)
        found = self._layouts.result(self._lowered.made.get(node.name))
        if found is None:
            return value
        path, partial = found
        for wanted in path:
            value = self._move(value, _with_partial(wanted, value.placements, partial))
        return value

    def _call(self, node: Any, args: Any, kwargs: Any) -> Any:
        target = node.target
        if target in _RANDOM:
            args, kwargs = pytree.tree_map_only(DTensor, _empty, (args, kwargs))
            return target(*args, **kwargs)
        if target is _ATEN.view.default and isinstance(args[0], DTensor):
            viewed = self._view(node, args[0])
            if viewed is not None:
                return viewed
        convolved = _convolutions.run(target, args, node.meta["val"])
        if convolved is not None:
            return convolved
        if node.name not in self._unsharded and target not in _convolutions.OPENED:
            try:
                return target(*args, **kwargs)
            except (NotImplementedError, RuntimeError, AssertionError):
                if not any(isinstance(x, DTensor) for x in pytree.tree_leaves(args)):
                    raise
                self._unsharded.add(node.name)
        self.replicated.add(str(target))
        whole = (Replicate(),) * self.mesh.ndim

        def gather(value: DTensor) -> Tensor:
            return self._move(value, whole).to_local()

        args, kwargs = pytree.tree_map_only(DTensor, gather, (args, kwargs))
        result = target(*args, **kwargs)
        return pytree.tree_map_only(Tensor, self._whole, result)

    def _view(self, node: Any, value: DTensor) -> DTensor | None:
        """A view of each device's part, where the plan says that those are the parts of the view."""
        wanted = self._layouts.computed(self._lowered.made.get(node.name))
        if wanted is None or any(have.is_partial() for have in value.placements):
            return None
        path, _ = self._layouts.operand(node, node.args[0])
        if path and tuple(value.placements) != tuple(path[-1]):
            return None
        shape = list(node.meta["val"].shape)
        for size, placement in zip(self.mesh.shape, wanted):
            if isinstance(placement, Shard):
                if shape[placement.dim] % size:
                    return None
                shape[placement.dim] //= size
        local = value.to_local()
        if local.numel() != math.prod(shape):
            return None
        like = node.meta["val"]
        return DTensor.from_local(
            *(local.reshape(shape), self.mesh, wanted),
            run_check=False,
            shape=like.shape,
            stride=like.stride(),
        )

    def _whole(self, value: Tensor) -> DTensor:
        return DTensor.from_local(value, self.mesh, [Replicate()] * self.mesh.ndim, run_check=False)

    def _move(self, value: DTensor, wanted: Placements) -> DTensor:
        if tuple(value.placements) == tuple(wanted):
            return value
        return value.redistribute(self.mesh, wanted)


def _empty(value: DTensor) -> Tensor:
    return torch.empty(value.shape, dtype=value.dtype, device=value.device)


def _with_partial(wanted: Placements, found: Sequence[Any], partial: set[int]) -> Placements:
    """`wanted`, but partial sums where they may stay."""
    return tuple(
        have if have.is_partial() and i in partial else want
        for i, (want, have) in enumerate(zip(wanted, found))
    )


def _needed(given: Iterable[fx.Node], wanted: Iterable[fx.Node]) -> list[fx.Node]:
    """The nodes that `wanted` take, in order, with those given that they read."""
    given, seen, stack = set(given), set(), list(wanted)
    order: list[fx.Node] = []
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        order.append(node)
        if node not in given:
            stack += node.all_input_nodes
    places = {node: i for i, node in enumerate(next(iter(seen)).graph.nodes)} if seen else {}
    return sorted(order, key=places.__getitem__)


def _last_uses(nodes: Sequence[fx.Node], kept: set[fx.Node]) -> dict[fx.Node, list[fx.Node]]:
    last: dict[fx.Node, fx.Node] = {}
    for node in nodes:
        for argument in node.all_input_nodes:
            last[argument] = node
    uses: dict[fx.Node, list[fx.Node]] = {}
    for argument, node in last.items():
        if argument not in kept:
            uses.setdefault(node, []).append(argument)
    return uses
