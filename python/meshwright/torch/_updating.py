"""Optimizers' updates in a traced step: one of each kind of parameter is traced, and copied for the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch.func import functionalize
from torch.fx.experimental.proxy_tensor import make_fx

from meshwright.torch._cleaning import clean
from meshwright.torch._optimizers import Key, Update
from meshwright.torch._step import Leaf


def add_updates(
    graph: fx.GraphModule,
    update: Update,
    leaves: Sequence[Leaf],
    trained: Sequence[str],
    decompositions: Mapping[Any, Any],
) -> None:
    """Adds to a graph that gives (loss, gradients, new values by key) what replaces parameters and state.

    Parameters are of one kind if they have the same group of the optimizer, type and types of state.
    """
    nodes: list[Any] = list(graph.graph.nodes)
    output = nodes[-1]
    loss, grads, new = output.args[0]
    new = dict(new)
    given = dict(zip([(leaf.kind, leaf.name) for leaf in leaves], nodes))
    likes = {(leaf.kind, leaf.name): leaf.like for leaf in leaves}
    known: dict[Any, fx.GraphModule] = {}
    for name, grad in zip(trained, grads):
        keys = update.keys(name)
        if grad is None or not keys:
            continue
        kind = (
            update.kind(name),
            *((x.shape, x.dtype, x.stride()) for x in (likes[key] for key in keys)),
        )
        if kind not in known:
            known[kind] = _traced(update, name, keys, likes, decompositions)
            for attribute in [n.target for n in known[kind].graph.nodes if n.op == "get_attr"]:
                setattr(graph, f"{attribute}_{len(known)}", getattr(known[kind], attribute))
        number = list(known).index(kind) + 1
        operands = iter([grad, *(given[key] for key in keys)])
        values: dict[Any, Any] = {}
        with graph.graph.inserting_before(output):
            for node in known[kind].graph.nodes:
                if node.op == "placeholder":
                    values[node] = next(operands)
                elif node.op == "output":
                    changed = [values[x] for x in node.args[0]]
                    new |= dict(zip([key for key in keys if key[0] != "hyper"], changed))
                else:
                    values[node] = graph.graph.node_copy(node, values.__getitem__)
                    if node.op == "get_attr":
                        values[node].target = f"{node.target}_{number}"
    output.args = ((loss, grads, new),)


def _traced(
    update: Update,
    name: str,
    keys: Sequence[Key],
    likes: Mapping[Key, Tensor],
    decompositions: Mapping[Any, Any],
) -> fx.GraphModule:
    """From a parameter's gradient and what has its keys to what replaces these, hyper-parameters aside."""

    def run(grad: Tensor, *tensors: Tensor) -> Any:
        values = dict(zip(keys, tensors))
        new = update({name: values["parameter", name]}, {name: grad}, values)
        return [new[key].detach() for key in keys if key[0] != "hyper"]

    like = likes["parameter", name]
    tensors = [like.detach(), *(likes[key].detach() for key in keys)]
    # Twice, as the whole step: optimizers ask for gradients of their numbers, which functionalize refuses.
    replay = fx.Interpreter(make_fx(run)(*tensors))
    with torch.no_grad():
        graph = make_fx(functionalize(lambda *x: replay.run(*x)), dict(decompositions))(*tensors)
    clean(graph)
    graph.graph.eliminate_dead_code()
    return graph
