"""A plan as data and tensor parallelism of torch's own, where it is that."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from torch import fx, nn

from meshwright import errors
from meshwright.torch._placements import Layouts, Placements
from meshwright.torch._planning import TorchPlan


@dataclasses.dataclass
class Style:
    """How tensor parallelism runs a module: whose weights are cut, and what goes in and out."""

    kind: str  # "colwise" or "rowwise"
    embedding: bool = False
    sharded: bool = False  # its output if colwise, its input if rowwise; else replicated


@dataclasses.dataclass
class FsdpLayout:
    """Axes by what they divide, and what becomes of each parameter and module.

    `replicate`, `shard`: the axes that divide samples; along the second parameters are sharded.
    `tensor`: those that divide parameters where they are read. `dims`: by parameter, the dimension
    along which FSDP shards it, None where it is replicated.
    """

    replicate: list[str]
    shard: list[str]
    tensor: list[str]
    dims: dict[str, int | None]
    styles: dict[str, Style]


def fsdp_layout(plan: TorchPlan) -> FsdpLayout:
    """Raises InvalidArgumentError, which names the tensor, where the plan is none such."""
    return _Reader(plan).layout()


class _Reader:
    def __init__(self, plan: TorchPlan) -> None:
        step = plan.subject.step
        self.plan, self.module, self.step = plan, plan.subject.module, step
        self.layouts = Layouts(plan, plan.subject.lowered)
        self.made = plan.subject.lowered.made
        self.axes = list(plan.mesh_shape)
        nodes = list(step.graph.graph.nodes)
        leaves = [node for node in nodes if node.op == "placeholder"]
        self.leaf = dict(zip(leaves, range(len(leaves))))
        self.results: list[Any] = list(nodes[-1].args[0])
        self.forward = _ancestors(self.results[0])
        named = {
            leaf.name: node for leaf, node in zip(step.leaves, leaves) if leaf.kind == "parameter"
        }
        self.kept = {name: self.layouts.leaf(self.leaf[node]) for name, node in named.items()}
        self.readers = {name: list(self._readers(node)) for name, node in named.items()}
        self.weights = set(named.values())

    def layout(self) -> FsdpLayout:
        data = [a for a in range(len(self.axes)) if any(self._divides(a, n) for n in self.readers)]
        tensor = [a for a in range(len(self.axes)) if a not in data]
        self.tensor = tensor
        self._check_leaves(data)
        for a in tensor:
            if not any(kept[a].is_shard() for kept in self.kept.values()):
                raise _no(f"the axis {self.axes[a]} divides neither samples nor a parameter")
        dims, styles = {}, {}
        shard: list[int] | None = None
        for name, kept in self.kept.items():
            cut = [a for a in data if kept[a].is_shard()]
            dims[name] = _one_dimension(name, kept, cut)
            if cut and shard not in (None, cut):
                raise _no(
                    f"{name} is sharded along {self._names(cut)}, others along {self._names(shard)}"
                )
            shard = cut or shard
            self._check_reads(name, data)
            if any(kept[a].is_shard() for a in tensor):
                styles[name.rpartition(".")[0]] = self._style(name, kept)
        self._leave_sharded(styles)
        shard = shard or []
        return FsdpLayout(
            [self.axes[a] for a in data if a not in shard],
            [self.axes[a] for a in shard],
            [self.axes[a] for a in tensor],
            dims,
            styles,
        )

    def _check_leaves(self, data: list[int]) -> None:
        """Inputs are divided along samples, state is as its parameter, nothing but parameters is updated."""
        for index, leaf in enumerate(self.step.leaves):
            kept = self.layouts.leaf(index)
            if leaf.kind == "input" and any(
                p.is_shard() and not (a in data and p.is_shard(0)) for a, p in enumerate(kept)
            ):
                raise _no(f"the input {leaf.name} is divided otherwise than by samples")
            if leaf.kind == "state":
                name = leaf.name.removeprefix("state.").rpartition(".")[0]
                like = self.module.get_parameter(name)
                if leaf.like.shape == like.shape and kept != self.kept[name]:
                    raise _no(f"{leaf.name} is sharded differently than {name}")
            if leaf.kind == "buffer" and data and self._from_samples(index):
                raise _no(f"{leaf.name} is updated from all samples, FSDP's from those of a device")

    def _from_samples(self, index: int) -> bool:
        """Whether the new value of a leaf is computed from an input."""
        if index not in self.step.replaced:
            return False
        new = self.results[1 + self.step.replaced.index(index)]
        return any(
            self.step.leaves[self.leaf[node]].kind == "input"
            for node in _ancestors(new)
            if node in self.leaf
        )

    def _divides(self, axis: int, name: str) -> bool:
        """Whether what reads a parameter computes a part of the samples on each device."""
        return any(
            computed is not None and computed[axis].is_shard(0) and not read[axis].is_shard()
            for read, computed in map(self._of_reader, self.readers[name])
        )

    def _check_reads(self, name: str, data: list[int]) -> None:
        for node, argument in self.readers[name]:
            read, computed = self._of_reader((node, argument))
            for a, (kept, seen) in enumerate(zip(self.kept[name], read)):
                axis = self.axes[a]
                if a in data and seen.is_shard():
                    raise _no(f"{name} is read sharded along {axis}, which divides samples")
                if a in data and computed is not None and not computed[a].is_shard(0):
                    raise _no(f"what reads {name} computes all samples on each device along {axis}")
                if a in self.tensor and kept != seen and kept.is_shard() != seen.is_shard():
                    raise _no(
                        f"{name} is gathered or cut along {axis}, which does not divide samples"
                    )
                if a in self.tensor and not kept.is_shard() and computed and computed[a].is_shard():
                    raise _no(
                        f"{name} is replicated along {axis}, where the layer that reads it is divided"
                    )

    def _style(self, name: str, kept: Placements) -> Style:
        """Of the module that has the parameter."""
        owner, _, word = name.rpartition(".")
        module = self.module.get_submodule(owner)
        cut = [a for a in self.tensor if kept[a].is_shard()]
        dim = _one_dimension(name, kept, cut)
        if len(cut) < len(self.tensor):
            raise _no(
                f"{name} is sharded along {self._names(cut)}, not along {self._names(self.tensor)}"
            )
        if type(module) not in (nn.Linear, nn.Embedding):
            raise _no(
                f"{name} is sharded along {self._names(cut)} in a {type(module).__name__}; tensor "
                "parallelism is of Linear and Embedding"
            )
        here = self.module.get_parameter(name)
        shared = [n for n, p in self.module.named_parameters(remove_duplicate=False) if p is here]
        if len(shared) > 1:
            raise _no(f"{' and '.join(shared)} are one parameter, sharded along {self._names(cut)}")
        bias = self.kept.get(f"{owner}.bias")
        if word == "bias":
            if not self.kept[f"{owner}.weight"][cut[0]].is_shard(0):
                raise _no(f"{name} is sharded along {self._names(cut)}, its weight's rows are not")
        elif bias is not None and bias[cut[0]].is_shard() != (dim == 0):
            raise _no(f"{owner}.bias is not sharded as {name} is")
        columns = (dim == 0) == isinstance(module, nn.Linear)
        return Style("colwise" if columns else "rowwise", isinstance(module, nn.Embedding))

    def _leave_sharded(self, styles: dict[str, Style]) -> None:
        """Lets the output of column-wise modules stay sharded where the plan computes with it as it is, up to
        row-wise modules: there the module's own code runs on what a device has.
        """
        rows = {
            node: module
            for module, style in styles.items()
            if style.kind == "rowwise" and not style.embedding
            for node, _ in self.readers[f"{module}.weight"]
        }
        regions: dict[str, set[fx.Node]] = {}
        for module, style in styles.items():
            if style.kind == "colwise" and not style.embedding:
                region = self._region([node for node, _ in self.readers[f"{module}.weight"]], rows)
                if region is not None:
                    regions[module] = region
        while True:
            union = set().union(*regions.values())
            bad = [m for m, region in regions.items() if not self._closed(region, union)]
            if not bad:
                break
            for module in bad:
                del regions[module]
        for module in regions:
            styles[module].sharded = True
        for node, module in rows.items():
            styles[module].sharded = any(x in union for x in node.all_input_nodes)

    def _region(self, starts: list[fx.Node], rows: dict[fx.Node, str]) -> set[fx.Node] | None:
        """What is computed from `starts` before row-wise matmuls. None: not all of it is sharded so."""
        region, stack = set(starts), list(starts)
        while stack:
            node = stack.pop()
            kept = self._result(node)
            if kept is not None and not self._all_sharded(kept):
                return None
            for user in node.users:
                if user not in self.forward:
                    continue
                path, _ = self.layouts.operand(user, node)
                if path and not self._all_sharded(path[-1]):
                    return None
                if user not in rows and user not in region:
                    region.add(user)
                    stack.append(user)
        return region

    def _closed(self, region: set[fx.Node], union: set[fx.Node]) -> bool:
        """Whether all else that a region reads is sharded by a region too, a parameter, or replicated."""
        for node in region:
            for argument in node.all_input_nodes:
                if argument in union or self._of_weight(argument):
                    continue
                path, _ = self.layouts.operand(node, argument)
                read = path[-1] if path else self._result(argument)
                if read is not None and any(read[a].is_shard() for a in self.tensor):
                    return False
        return True

    def _of_weight(self, node: fx.Node) -> bool:
        while len(node.all_input_nodes) == 1:
            node = node.all_input_nodes[0]
        return node in self.weights

    def _all_sharded(self, placements: Placements) -> bool:
        return all(placements[a].is_shard() for a in self.tensor)

    def _result(self, node: fx.Node) -> Placements | None:
        if node in self.leaf:
            return self.layouts.leaf(self.leaf[node])
        found = self.layouts.result(self.made.get(node.name))
        return found[0][-1] if found is not None else None

    def _readers(self, node: fx.Node) -> Iterator[tuple[fx.Node, fx.Node]]:
        """Of a parameter in the forward pass, through what only lays it out in another way: what computes
        with it, and the node that it reads.
        """
        for user in node.users:
            if user not in self.forward:
                continue
            like = user.meta.get("val")
            if (
                len(user.all_input_nodes) == 1
                and getattr(like, "numel", int)() == node.meta["val"].numel()
            ):
                yield from self._readers(user)
            else:
                yield user, node

    def _of_reader(self, reader: tuple[fx.Node, fx.Node]) -> tuple[Placements, Placements | None]:
        """How it reads the parameter, and how it computes its result."""
        node, argument = reader
        computed = self.layouts.computed(self.made.get(node.name))
        return self._read(node, argument), computed

    def _read(self, node: fx.Node, argument: fx.Node) -> Placements:
        path, _ = self.layouts.operand(node, argument)
        if path:
            return path[-1]
        found = self._result(argument) if argument not in self.leaf else None
        if argument in self.leaf:
            index = self.leaf[argument]
            return self.layouts.shared(index) or self.layouts.leaf(index)
        return found or self._read(argument, argument.all_input_nodes[0])

    def _names(self, axes: list[int] | None) -> str:
        return ", ".join(self.axes[a] for a in axes or ())


def _one_dimension(name: str, kept: Placements, axes: list[int]) -> int | None:
    dims = {kept[a].dim for a in axes}  # type: ignore[attr-defined]
    if len(dims) > 1:
        raise _no(f"{name} is sharded in several dimensions")
    return next(iter(dims), None)


def _no(why: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(why)


def _ancestors(node: Any) -> set[fx.Node]:
    found, stack = set(), [node]
    while stack:
        one = stack.pop()
        if one not in found:
            found.add(one)
            stack += one.all_input_nodes
    return found
