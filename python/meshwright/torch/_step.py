"""A traced step: a graph of ATen's operators, and what it takes and gives."""

from __future__ import annotations

import dataclasses
from typing import Any

from torch import Tensor, fx


@dataclasses.dataclass(frozen=True)
class Leaf:
    """A tensor that a step takes.

    `kind`: "parameter", "buffer", "state" (of the optimizer), "hyper" (a number of the optimizer's
    that may change from step to step), "input", or "constant" (a tensor that the module made).
    """

    kind: str
    name: str
    like: Tensor  # a fake one


@dataclasses.dataclass
class Step:
    """A traced step: `graph` takes `leaves` in order and gives the loss, then the new value of each
    leaf in `replaced` and, where there is no optimizer, the gradients of `trained`.
    """

    graph: fx.GraphModule
    leaves: list[Leaf]
    constants: dict[str, Tensor]
    replaced: list[int]  # leaves
    trained: list[str]
    gradients: list[fx.Node | None]  # of `trained`
    signature: Any  # of the inputs: a pytree

    @property
    def inputs(self) -> list[Leaf]:
        return [leaf for leaf in self.leaves if leaf.kind == "input"]
