"""A whole training step of a module as one graph of ATen's operators, on tensors without data."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

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
from meshwright.torch._cleaning import finish
from meshwright.torch._optimizers import Update
from meshwright.torch._origins import Layers, say_origins
from meshwright.torch._step import Leaf, Step
from meshwright.torch._updating import add_updates

# Operators that write into arguments without saying so, by others that do.
_HONEST: Any = get_decompositions(
    [torch.ops.aten.native_batch_norm, torch.ops.aten.cudnn_batch_norm]
)


# Of what core ATen decomposes, the operators that run whole: kernels that DTensor runs on shards.
_WHOLE = {
    *("_log_softmax_backward_data", "_softmax_backward_data", "addcdiv", "addcmul"),
    *("embedding_dense_backward", "gelu_backward", "lerp", "native_layer_norm_backward", "rsub"),
    *("select_backward", "sigmoid_backward", "silu", "silu_backward", "slice_backward"),
    *("slice_scatter", "t", "tanh_backward", "threshold_backward", "transpose"),
}
_OPENED: dict[Any, Any] = {
    operator: open_up
    for operator, open_up in core_aten_decompositions().items()
    if isinstance(operator, torch._ops.OpOverload)
    and operator._schema.name.removeprefix("aten::") not in _WHOLE
} | _convolutions.OPENED


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
        update = Update(
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
        with Layers(module) as layers, _attention.OneCall(), _without_mkldnn():
            out = functional_call(module, {**weights, **kept}, tuple(args), kwargs, strict=False)
            value = _loss(out, targets, loss)
            layers.follow(value)
            wanted = [weights[name] for name in trained]
            grads = torch.autograd.grad(value, wanted, allow_unused=True)
        new = {("buffer", name): kept[name] for name in buffers}
        if update is not None and not update.by_parameter:
            new |= update(weights, dict(zip(trained, grads)), values)
        return value.detach(), grads, {key: x.detach() for key, x in new.items()}

    likes = [leaf.like for leaf in leaves]
    with mode, torch.fx.traceback.preserve_node_meta(), _one_error(module):
        first = make_fx(step, _HONEST, record_stack_traces=True)(*likes)
        say_origins(first)
        replay = fx.Interpreter(first)
        plain = [like.detach() for like in likes]
        with torch.no_grad():
            graph = make_fx(functionalize(lambda *tensors: replay.run(*tensors)), _OPENED)(*plain)
        if update is not None and update.by_parameter:
            add_updates(graph, update, leaves, trained, _OPENED)
    return finish(graph, leaves, trained, signature, has_update=update is not None)


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
