"""From a traced step to a program in StableHLO, and back from the program's operations to the step's."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Sequence
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch import Tensor, fx
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import make_fx

from meshwright import errors
from meshwright.torch._origins import origin
from meshwright.torch._stablehlo import Operation, Value, Writer
from meshwright.torch._step import Step
from meshwright.torch.operators import TABLE


@dataclasses.dataclass(frozen=True)
class Use:
    """Where a tensor is read: which operand of which operation."""

    label: str
    operand: int


@dataclasses.dataclass(frozen=True)
class Made:
    """What makes a tensor: a result of an operation, or a leaf of the step (label "")."""

    label: str
    index: int


@dataclasses.dataclass
class Lowered:
    """A step's program. `made`: by node of the graph, what its results are in the program (None: nothing);
    `uses`: by node, where it reads the tensor that each argument node gives, of each of that one's results.
    """

    text: str
    made: dict[str, Made | list[Made | None] | None]
    uses: dict[str, dict[Made, Use]]
    single: set[str]  # nodes that are one operation, which computes as the node does


def lower(step: Step) -> Lowered:
    """Raises UnsupportedError at operators that have neither a row nor a decomposition."""
    writer = Writer()
    values: dict[str, Any] = {}
    made: dict[str, Any] = {}
    uses: dict[str, dict[Made, Use]] = {}
    single: set[str] = set()
    decomposed: dict[Any, fx.GraphModule] = {}
    parameters: list[Value] = []
    results: list[Value] = []
    for node in step.graph.graph.nodes:
        if node.op == "placeholder":
            like = step.leaves[len(parameters)].like
            value = writer.parameter(len(parameters), like.shape, like.dtype)
            parameters.append(value)
            values[node.name] = value
        elif node.op == "call_function":
            said = origin(node)
            layer = f"{said.layer}/" if said.layer else ""
            writer.scope = f"{layer}{node.name}"
            writer.source = said.source
            first = len(writer.operations)
            arguments = fx.map_arg((node.args, node.kwargs), lambda n: values[n.name])
            values[node.name] = _lower(writer, node, *arguments, decomposed)
            written = writer.operations[first:]
            uses[node.name] = _uses(writer, written, first)
            if sum(bool(one.operands) for one in written) == 1:
                single.add(node.name)
        else:
            results = [values[n.name] for n in node.args[0]]
            continue
        made[node.name] = _made(writer, values[node.name])
    names = ["loss", *(step.leaves[i].name for i in step.replaced)]
    names += [f"grad.{name}" for name in step.trained][: len(results) - len(names)]
    aliases = {leaf: position + 1 for position, leaf in enumerate(step.replaced)}
    text = writer.function(
        [(leaf.name, parameters[i], aliases.get(i)) for i, leaf in enumerate(step.leaves)],
        list(zip(names, results, strict=True)),
    )
    return Lowered(text, made, uses, single)


def _made(writer: Writer, value: Any) -> Any:
    if isinstance(value, Value):
        label = writer.operations[value.operation].label if value.operation >= 0 else ""
        return Made(label, value.index)
    return None if value is None else [_made(writer, one) for one in value]


def _uses(writer: Writer, operations: Sequence[Operation], first: int) -> dict[Made, Use]:
    """The first operation that reads each value from elsewhere."""
    uses: dict[Made, Use] = {}
    for one in operations:
        for position, value in enumerate(one.operands):
            if value.operation < first:
                uses.setdefault(_made(writer, value), Use(one.label, position))
    return uses


def _lower(
    w: Writer,
    node: fx.Node,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    decomposed: dict[Any, fx.GraphModule],
) -> Any:
    target = node.target
    if target is operator.getitem:
        return args[0][args[1]]
    kwargs = {key: x for key, x in kwargs.items() if key not in _PLACES}
    row = TABLE.get(target)
    if row is not None:
        try:
            return row(w, node.meta["val"], *args, **kwargs)
        except errors.UnsupportedError as error:
            raise errors.UnsupportedError(f"{_place(node)}{target}: {error}") from None
    inner = _decomposition(node, decomposed)
    if inner is None:
        raise errors.UnsupportedError(
            f"{_place(node)}{target}: there is no row for this operator (meshwright/torch/operators), "
            "and torch has no decomposition of it"
        )
    tensors = iter([x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, Value)])
    values: dict[str, Any] = {}
    for part in inner.graph.nodes:
        if part.op == "placeholder":
            values[part.name] = next(tensors)
        elif part.op == "output":
            return fx.map_arg(part.args[0], lambda n: values[n.name])
        elif part.op == "get_attr":
            constant = getattr(inner, part.target)
            values[part.name] = w.constant(constant.item(), constant.shape, constant.dtype)
        else:
            part.meta.setdefault("custom", node.meta.get("custom"))
            arguments = fx.map_arg((part.args, part.kwargs), lambda n: values[n.name])
            values[part.name] = _lower(w, part, *arguments, decomposed)
    raise AssertionError("a graph without an output")


# Arguments that say where a tensor lies and how, not what it holds; and generators of random numbers.
_PLACES = {"device", "layout", "pin_memory", "memory_format", "non_blocking", "generator", "dtype"}


def _place(node: fx.Node) -> str:
    source = origin(node).source
    return "" if source is None else f"{source[0]}:{source[1]}: "


def _decomposition(node: fx.Node, known: dict[Any, fx.GraphModule]) -> fx.GraphModule | None:
    """torch's decomposition of a node's operator, as a graph of its tensors."""
    from torch._decomp import decomposition_table

    open_up = decomposition_table.get(node.target)
    if open_up is None:
        return None
    leaves, tree = pytree.tree_flatten((node.args, node.kwargs))
    likes = [x.meta["val"] if isinstance(x, fx.Node) else x for x in leaves]
    key = (node.target, tree, tuple(map(_type_of, likes)))
    if key not in known:

        def run(*tensors: Tensor) -> Any:
            given = iter(tensors)
            filled = [next(given) if isinstance(x, Tensor) else x for x in likes]
            args, kwargs = pytree.tree_unflatten(filled, tree)
            args = [list(x) if isinstance(x, list) else x for x in args]  # fx's are immutable
            result = open_up(*args, **kwargs)
            return tuple(result) if isinstance(result, tuple) else result  # of torch's named ones

        tensors = [x for x in likes if isinstance(x, Tensor)]
        with torch.no_grad(), _fake_mode(tensors):
            known[key] = make_fx(run)(*tensors)
    return known[key]


def _type_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        return (tuple(value.shape), value.dtype)
    return (type(value), str(value))


def _fake_mode(tensors: Sequence[Tensor]) -> Any:
    import contextlib

    modes = [x.fake_mode for x in tensors if isinstance(x, FakeTensor)]
    return modes[0] if modes else contextlib.nullcontext()
