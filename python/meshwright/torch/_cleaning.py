"""What tracing leaves in a graph that a step does not need.

Nodes and graphs are Any here: what fx declares of their arguments fits no operator.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, fx

from meshwright.torch._step import Leaf, Step

# Operators that give what they take, where nothing is written in place.
_SAME = (
    torch.ops.aten.alias.default,
    torch.ops.aten.detach.default,
    torch.ops.aten.lift_fresh.default,
    torch.ops.aten.lift_fresh_copy.default,
)


def finish(
    graph: fx.GraphModule, leaves: list[Leaf], trained: list[str], signature: Any, has_update: bool
) -> Step:
    """Takes out what tracing left, and gradients among the results if there is an optimizer."""
    clean(graph)
    nodes: list[Any] = list(graph.graph.nodes)
    placeholders = [node for node in nodes if node.op == "placeholder"]
    output = nodes[-1]
    loss, grads, new = output.args[0]
    positions = {(leaf.kind, leaf.name): i for i, leaf in enumerate(leaves)}
    replaced = [positions[key] for key in new if new[key] is not placeholders[positions[key]]]
    results = [new[leaves[i].kind, leaves[i].name] for i in replaced]
    output.args = ((loss, *results, *(() if has_update else [g for g in grads if g is not None])),)
    constants = _lift_constants(graph, leaves, placeholders)
    kept = {grad for grad in grads if grad is not None}  # the optimizer may not read some
    graph.graph.eliminate_dead_code(lambda node: node in kept or node.is_impure())
    graph.recompile()
    return Step(graph, leaves, constants, replaced, trained, list(grads), signature)


def clean(graph: Any) -> None:
    """Takes out copies into arguments and of whole tensors, and names dimensions that are meant."""
    nodes: list[Any] = list(graph.graph.nodes)
    placeholders = [node for node in nodes if node.op == "placeholder"]
    for node in reversed(nodes):
        if str(node.target).startswith("profiler."):
            graph.graph.erase_node(node)
        elif node.target is torch.ops.aten.copy_.default and node.args[0] in placeholders:
            node.replace_all_uses_with(node.args[1])
            graph.graph.erase_node(node)
        elif node.target in _SAME:
            node.replace_all_uses_with(node.args[0])
            graph.graph.erase_node(node)
        elif node.target is torch.ops.aten.copy.default:
            _open_copy(graph, node)
        else:
            _name_all_dimensions(node)


def _name_all_dimensions(node: Any) -> None:
    """An empty list of dimensions to reduce is all of them to torch, and none to DTensor's rules."""
    schema = getattr(node.target, "_schema", None)
    for i, argument in enumerate(schema.arguments[: len(node.args)] if schema else ()):
        if argument.name == "dim" and node.args[i] == []:
            value, *_ = arguments = list(node.args)
            arguments[i] = list(range(value.meta["val"].dim()))
            node.args = tuple(arguments)


def _open_copy(graph: Any, node: Any) -> None:
    """Into what a copy does to what it copies."""
    value, like = node.args[1], node.meta["val"]
    with graph.graph.inserting_before(node):
        for operator, argument, known in (
            (torch.ops.aten._to_copy.default, None, value.meta["val"].dtype == like.dtype),
            (
                torch.ops.aten.expand.default,
                list(like.shape),
                value.meta["val"].shape == like.shape,
            ),
        ):
            if known:
                continue
            given = (value,) if argument is None else (value, argument)
            more = {"dtype": like.dtype} if argument is None else {}
            value = graph.graph.call_function(operator, given, more)
            value.meta |= {
                **node.meta,
                "val": operator(
                    *(x.meta["val"] if isinstance(x, fx.Node) else x for x in given), **more
                ),
            }
    node.replace_all_uses_with(value)
    graph.graph.erase_node(node)


def _lift_constants(graph: Any, leaves: list[Leaf], placeholders: list[Any]) -> dict[str, Tensor]:
    """Tensors that the module made become leaves behind the others."""
    constants: dict[str, Tensor] = {}
    last = placeholders[-1]
    for node in list(graph.graph.nodes):
        if node.op != "get_attr":
            continue
        name = str(node.target)
        if name not in constants:
            constants[name] = getattr(graph, name)
            with graph.graph.inserting_after(last):
                last = graph.graph.placeholder(f"constant_{len(constants)}")
            last.meta["val"] = node.meta.get("val", constants[name])
            leaves.append(Leaf("constant", name, constants[name]))
            placeholders.append(last)
        lifted = placeholders[-len(constants) + list(constants).index(name)]
        node.replace_all_uses_with(lifted)
        graph.graph.erase_node(node)
    return constants
