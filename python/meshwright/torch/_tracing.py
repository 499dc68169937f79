"""A whole training step of a module as one graph of ATen's operators, on tensors without data."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.fx.traceback
import torch.utils._pytree as pytree
from torch import Tensor, fx, nn
from torch._decomp import core_aten_decompositions, get_decompositions
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.backends import mkldnn
from torch.func import functional_call, functionalize
from torch.fx.experimental.proxy_tensor import make_fx

from meshwright import errors
from meshwright.torch import _attention, _convolutions

if TYPE_CHECKING:
    from typing_extensions import Self

# Operators that write into arguments without saying so, by others that do.
_HONEST = get_decompositions([torch.ops.aten.native_batch_norm, torch.ops.aten.cudnn_batch_norm])


# Of what core ATen decomposes, the operators that run whole: kernels that DTensor runs on shards.
_WHOLE = {
    *("_log_softmax_backward_data", "_softmax_backward_data", "addcdiv", "addcmul"),
    *("embedding_dense_backward", "gelu_backward", "lerp", "native_layer_norm_backward", "rsub"),
    *("sigmoid_backward", "silu", "silu_backward", "t", "tanh_backward", "threshold_backward"),
    "transpose",
}
_OPENED = {
    operator: open_up
    for operator, open_up in core_aten_decompositions().items()
    if operator._schema.name.removeprefix("aten::") not in _WHOLE
} | _convolutions.OPENED


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


def trace(
    module: nn.Module,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    targets: Sequence[Any],
    loss: Callable[..., Any] | None,
    optimizer: torch.optim.Optimizer | None,
) -> Step:
    """Traces loss(module(*args, **kwargs), *targets), its gradients and the optimizer's update."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)

    def fake(value: Tensor) -> Tensor:
        device = "cpu" if value.device.type == "meta" else value.device
        strides = value.stride() if value.layout == torch.strided else None
        with mode:
            if strides is None:
                return torch.empty(value.shape, dtype=value.dtype, device=device)
            return torch.empty_strided(value.shape, strides, dtype=value.dtype, device=device)

    named = dict(module.named_parameters())
    buffers = dict(module.named_buffers())
    trained = [name for name, value in named.items() if value.requires_grad]
    if not trained:
        raise errors.InvalidArgumentError("the module has no parameter that is trained")
    leaves = [Leaf("parameter", name, fake(value)) for name, value in named.items()]
    leaves += [Leaf("buffer", name, fake(value)) for name, value in buffers.items()]
    update = None
    if optimizer is not None:
        update = _Update(
            optimizer, named, {leaf.name: leaf.like for leaf in leaves[: len(named)]}, mode
        )
        leaves += [Leaf("state", name, like) for name, like in update.states.items()]
        leaves += [Leaf("hyper", name, like) for name, like in update.numbers.items()]
    inputs = (tuple(args), dict(kwargs), tuple(targets))
    flat, signature = pytree.tree_flatten(inputs)
    names = _input_names(module, inputs)
    for name, value in zip(names, flat, strict=True):
        if isinstance(value, Tensor):
            leaves.append(Leaf("input", name, fake(value)))

    def step(*tensors: Tensor) -> Any:
        values = {(leaf.kind, leaf.name): tensor for leaf, tensor in zip(leaves, tensors)}
        given = iter([x for leaf, x in zip(leaves, tensors) if leaf.kind == "input"])
        filled = [next(given) if isinstance(x, Tensor) else x for x in flat]
        args, kwargs, targets = pytree.tree_unflatten(filled, signature)
        weights = {name: values["parameter", name] for name in named}
        kept = {name: values["buffer", name].clone() for name in buffers}
        for name in trained:
            weights[name].requires_grad_()
        with _Layers(module) as layers, _attention.OneCall(), _without_mkldnn():
            out = functional_call(module, {**weights, **kept}, tuple(args), kwargs, strict=False)
            value = _loss(out, targets, loss)
            layers.follow(value)
            wanted = [weights[name] for name in trained]
            grads = torch.autograd.grad(value, wanted, allow_unused=True)
        new = {("buffer", name): kept[name] for name in buffers}
        if update is not None:
            new |= update(weights, dict(zip(trained, grads)), values)
        return value.detach(), grads, {key: x.detach() for key, x in new.items()}

    likes = [leaf.like for leaf in leaves]
    with mode, torch.fx.traceback.preserve_node_meta(), _one_error(module):
        first = make_fx(step, _HONEST, record_stack_traces=True)(*likes)
        _say_origins(first)
        replay = fx.Interpreter(first)
        plain = [like.detach() for like in likes]
        with torch.no_grad():
            graph = make_fx(functionalize(lambda *tensors: replay.run(*tensors)), _OPENED)(*plain)
    return _finish(graph, leaves, trained, signature, has_update=update is not None)


def _loss(out: Any, targets: Sequence[Any], loss: Callable[..., Any] | None) -> Tensor:
    value = out if loss is None else loss(out, *targets)
    if not isinstance(value, Tensor):
        value = getattr(value, "loss", None)
    if not isinstance(value, Tensor) or value.numel() != 1:
        raise errors.InvalidArgumentError(
            "loss: the module gives no loss itself (a tensor of one element, or an output with `.loss`); "
            "pass loss=, a function of its output and the targets"
        )
    return value.reshape(())


def _input_names(module: nn.Module, inputs: Any) -> list[str]:
    """As the caller of the module names them."""
    args, kwargs, targets = inputs
    try:
        words = list(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):
        words = []
    named = {words[i] if i < len(words) else f"args[{i}]": x for i, x in enumerate(args)}
    many = len(targets) > 1
    named |= kwargs
    named |= {f"targets[{i}]" if many else "target": x for i, x in enumerate(targets)}
    return [
        name + pytree.keystr(path)
        for name, value in named.items()
        for path, _ in pytree.tree_flatten_with_path(value)[0]
    ]


@contextlib.contextmanager
def _without_mkldnn() -> Iterator[None]:
    """Within it, LSTMs and the like are made of operators that other devices have too."""
    before = mkldnn.set_flags(False)[0]
    try:
        yield
    finally:
        mkldnn.set_flags(before)


@contextlib.contextmanager
def _one_error(module: nn.Module) -> Iterator[None]:
    try:
        yield
    except errors.Error:
        raise
    except Exception as error:
        kind = type(module).__name__
        line = str(error).strip().splitlines()
        raise errors.UnsupportedError(
            f"{kind}: its step cannot be traced: {type(error).__name__}: {line[0] if line else ''}"
        ) from error


class _Layers:
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


class _Update:
    """An optimizer's step as a function of its parameters, gradients and state."""

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        named: Mapping[str, Tensor],
        likes: Mapping[str, Tensor],
        mode: FakeTensorMode,
    ) -> None:
        self._optimizer = optimizer
        names = {id(value): name for name, value in named.items()}
        self._groups: list[list[str]] = []
        for group in optimizer.param_groups:
            for value in group["params"]:
                if id(value) not in names:
                    raise errors.InvalidArgumentError(
                        "optimizer: has a parameter that is not the module's; make it of "
                        "module.parameters()"
                    )
            self._groups.append([names[id(value)] for value in group["params"]])
        self._mode = mode
        self.numbers = {}
        for i, group in enumerate(optimizer.param_groups):
            if "lr" in group:
                with mode:
                    self.numbers[f"optimizer.{i}.lr"] = torch.empty(())
        self._kept = self._all_states(likes)
        self.states = {
            f"state.{name}.{key}": value
            for name, state in self._kept.items()
            for key, value in state.items()
            if isinstance(value, Tensor)
        }

    def _all_states(self, likes: Mapping[str, Tensor]) -> dict[str, dict[str, Any]]:
        """State as it is after a first step, fake."""
        with self._mode, compiling():
            weights = {name: torch.empty_like(x).requires_grad_() for name, x in likes.items()}
            grads = {name: torch.empty_like(x) for name, x in weights.items()}
            before = {}
            for group, names in zip(self._optimizer.param_groups, self._groups):
                for name, value in zip(names, group["params"]):
                    before[name] = {
                        key: torch.empty(x.shape, dtype=x.dtype) if isinstance(x, Tensor) else x
                        for key, x in self._optimizer.state.get(value, {}).items()
                    }
            copied = clone_optimizer(self._optimizer, self._groups, weights, before, {})
            _run(copied, weights, grads)
            return {name: dict(copied.state[weights[name]]) for name in before}

    def __call__(
        self, weights: Mapping[str, Tensor], grads: Mapping[str, Any], values: Mapping[Any, Tensor]
    ) -> dict[tuple[str, str], Tensor]:
        """What replaces parameters and state."""
        states = {
            name: {
                key: values["state", f"state.{name}.{key}"] if isinstance(x, Tensor) else x
                for key, x in state.items()
            }
            for name, state in self._kept.items()
        }
        numbers = {name: values["hyper", name] for name in self.numbers}
        with compiling():
            copied = clone_optimizer(self._optimizer, self._groups, weights, states, numbers)
            _run(copied, weights, grads)
        new = {}
        for names in self._groups:
            for name in names:
                new["parameter", name] = weights[name]
                for key, value in copied.state[weights[name]].items():
                    if isinstance(value, Tensor):
                        new["state", f"state.{name}.{key}"] = value
        return new


def _run(optimizer: Any, weights: Mapping[str, Tensor], grads: Mapping[str, Any]) -> None:
    for name, weight in weights.items():
        weight.grad = grads.get(name)
    try:
        optimizer.step()
    finally:
        for weight in weights.values():
            weight.grad = None


def clone_optimizer(
    optimizer: torch.optim.Optimizer,
    groups: Sequence[Sequence[str]],
    weights: Mapping[str, Tensor],
    states: Mapping[str, Mapping[str, Any]],
    numbers: Mapping[str, Tensor],
) -> Any:
    """The same optimizer over other tensors, one operator a tensor and without leaving the device."""
    copied = object.__new__(type(optimizer))
    copied.__dict__.update(optimizer.__dict__)
    copied._optimizer_step_pre_hooks, copied._optimizer_step_post_hooks = {}, {}
    copied.param_groups = []
    for i, (group, names) in enumerate(zip(optimizer.param_groups, groups)):
        plain = {"foreach": False, "fused": False, "capturable": True}
        own = {**group, **{key: value for key, value in plain.items() if key in group}}
        if f"optimizer.{i}.lr" in numbers:
            # With a gradient, as SGD asks that before it takes a tensor.
            own["lr"] = numbers[f"optimizer.{i}.lr"].detach().requires_grad_()
        own["params"] = [weights[name] for name in names]
        copied.param_groups.append(own)
    copied.state = defaultdict(dict)
    for name, state in states.items():
        if state:
            copied.state[weights[name]] = dict(state)
    return copied


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Within it, optimizers take steps that a compiler can follow, on any device."""
    before = torch.compiler._is_compiling_flag
    torch.compiler._is_compiling_flag = True
    try:
        yield
    finally:
        torch.compiler._is_compiling_flag = before


# Operators that give what they take, where nothing is written in place.
_SAME = (
    torch.ops.aten.alias.default,
    torch.ops.aten.detach.default,
    torch.ops.aten.lift_fresh.default,
    torch.ops.aten.lift_fresh_copy.default,
)


def _finish(
    graph: fx.GraphModule, leaves: list[Leaf], trained: list[str], signature: Any, has_update: bool
) -> Step:
    """Takes out what tracing left: copies into arguments, and gradients among the results."""
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    for node in reversed(list(graph.graph.nodes)):
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
    [output] = [node for node in graph.graph.nodes if node.op == "output"]
    loss, grads, new = output.args[0]
    positions = {(leaf.kind, leaf.name): i for i, leaf in enumerate(leaves)}
    replaced = [positions[key] for key in new if new[key] is not placeholders[positions[key]]]
    results = [new[leaves[i].kind, leaves[i].name] for i in replaced]
    output.args = ((loss, *results, *(() if has_update else [g for g in grads if g is not None])),)
    constants = _lift_constants(graph, leaves, placeholders)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return Step(graph, leaves, constants, replaced, trained, list(grads), signature)


def _name_all_dimensions(node: fx.Node) -> None:
    """An empty list of dimensions to reduce is all of them to torch, and none to DTensor's rules."""
    schema = getattr(node.target, "_schema", None)
    for i, argument in enumerate(schema.arguments[: len(node.args)] if schema else ()):
        if argument.name == "dim" and node.args[i] == []:
            rank = node.args[0].meta["val"].dim()
            node.args = (*node.args[:i], list(range(rank)), *node.args[i + 1 :])


def _open_copy(graph: fx.GraphModule, node: fx.Node) -> None:
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


def _lift_constants(
    graph: fx.GraphModule, leaves: list[Leaf], placeholders: list[fx.Node]
) -> dict[str, Tensor]:
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


_OWN = (str(Path(torch.__file__).parent), str(Path(__file__).parent))


@dataclasses.dataclass(frozen=True)
class Origin:
    """Where an operator comes from."""

    layer: str = ""  # path of the submodule
    backward: bool = False
    source: tuple[str, int] | None = None  # the user's line


def origin(node: fx.Node) -> Origin:
    return (node.meta.get("custom") or {}).get("origin", Origin())


def _say_origins(graph: fx.GraphModule) -> None:
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
