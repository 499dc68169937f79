"""Where each operator of a traced step comes from: submodule, pass, and line of the user's code."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.fx.traceback
from torch import Tensor, fx, nn

if TYPE_CHECKING:
    from typing_extensions import Self

_OWN = (str(Path(torch.__file__).parent), str(Path(__file__).parent))


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where an operator comes from."""

    layer: str = ""  # path of the submodule
    backward: bool = False
    source: tuple[str, int] | None = None  # the user's line


def origin(node: fx.Node) -> Origin:
    return (node.meta.get("custom") or {}).get("origin", Origin())


def say_origins(graph: fx.GraphModule) -> None:
    """Writes origins into metadata that goes along to graphs traced from this one. Those of backward are
    their forward operators'.
    """
    forward: dict[int, Origin] = {}
    for node in graph.graph.nodes:
        said = node.meta.get("custom") or {}
        if "backward_of" in said:
            found = forward.get(said["backward_of"], Origin())
            found = dataclasses.replace(found, backward=True)
        else:
            found = Origin(said.get("layer", ""), source=_users_line(node.meta.get("stack_trace")))
            if node.op == "call_function" and "layer" in said:
                forward.setdefault(node.meta.get("seq_nr", -1), found)
        node.meta["custom"] = {"origin": found}


def _users_line(trace: str | None) -> tuple[str, int] | None:
    """The innermost line that is not torch's."""
    found = None
    for line in (trace or "").splitlines():
        text = line.strip()
        if not text.startswith('File "'):
            continue
        path, _, rest = text[6:].partition('", line ')
        if not path.startswith(_OWN):
            found = path, int(rest.split(",")[0])
    return found


class Layers:
    """While a module runs, writes the path of the submodule that runs into the metadata of what is
    traced; and during backward, which forward operator an operator is the gradient of.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._handles: list[Any] = []
        self._path: list[str] = []

    def __enter__(self) -> Self:
        for name, part in self._module.named_modules():
            enter = self._enter(name)
            self._handles += [
                part.register_forward_pre_hook(enter),
                part.register_forward_hook(self._leave, always_call=True),
            ]
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._say(layer="")

    def _enter(self, name: str) -> Callable[..., None]:
        def hook(*_: Any) -> None:
            self._path.append(name)
            self._say(layer=name)

        return hook

    def _leave(self, *_: Any) -> None:
        self._path.pop()
        self._say(layer=self._path[-1] if self._path else "")

    def _say(self, **what: Any) -> None:
        torch.fx.traceback.current_meta["custom"] = what

    def follow(self, loss: Tensor) -> None:
        """Watches the backward pass of `loss`."""
        seen, stack = set(), [loss.grad_fn]
        while stack:
            node = stack.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            self._handles.append(node.register_prehook(self._backward(node._sequence_nr())))
            stack += [after for after, _ in node.next_functions]

    def _backward(self, number: int) -> Callable[..., None]:
        return lambda *_: self._say(backward_of=number)
