"""Optimizers of torch as functions: of parameters, gradients and state to what replaces them."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode

from meshwright import errors

Key = tuple[str, str]  # kind and name of a leaf


class Update:
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
        self._group_of = {name: i for i, names in enumerate(self._groups) for name in names}
        self._mode = mode
        self.numbers = {}
        for i, group in enumerate(optimizer.param_groups):
            if "lr" in group:
                with mode:
                    self.numbers[f"optimizer.{i}.lr"] = torch.empty(())
        try:
            self._kept = self._all_states(likes)
        except Exception as error:
            raise errors.UnsupportedError(
                f"optimizer: a step of {type(optimizer).__name__} cannot be traced: {errors.one_line(error)}"
            ) from error
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

    @property
    def by_parameter(self) -> bool:
        """Whether every parameter is updated by itself, as all optimizers of torch's but one do."""
        kind = type(self._optimizer)
        return kind.__module__.startswith("torch.optim.") and kind is not torch.optim.LBFGS

    def keys(self, name: str) -> list[Key]:
        """A parameter, its state and the numbers of its group; nothing if it is of no group."""
        group = self._group_of.get(name)
        if group is None:
            return []
        state = [("state", f"state.{name}.{key}") for key in self._kept[name]]
        keys = [("parameter", name), *(key for key in state if key[1] in self.states)]
        number = f"optimizer.{group}.lr"
        return [*keys, ("hyper", number)] if number in self.numbers else keys

    def kind(self, name: str) -> Any:
        """Its group, and its state as far as that is no tensors."""
        state = self._kept[name]
        plain = [(key, str(x)) for key, x in state.items() if not isinstance(x, Tensor)]
        return (self._group_of[name], tuple(state), tuple(plain))

    def __call__(
        self, weights: Mapping[str, Tensor], grads: Mapping[str, Any], values: Mapping[Any, Tensor]
    ) -> dict[tuple[str, str], Tensor]:
        """What replaces `weights`, of all parameters or some, and their state."""
        groups = [[name for name in names if name in weights] for names in self._groups]
        states = {
            name: {
                key: values["state", f"state.{name}.{key}"] if isinstance(x, Tensor) else x
                for key, x in self._kept[name].items()
            }
            for names in groups
            for name in names
        }
        numbers = {
            name: values["hyper", name] for name in self.numbers if ("hyper", name) in values
        }
        with compiling():
            copied = clone_optimizer(self._optimizer, groups, weights, states, numbers)
            _run(copied, weights, grads)
        new = {}
        for names in groups:
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
        with _TensorsAsNumbers():
            optimizer.step()
    finally:
        for weight in weights.values():
            weight.grad = None


class _TensorsAsNumbers(TorchFunctionMode):
    """Within it, operators take tensors of one element, as learning rates are here, for the number by which
    they scale what they add: torch would read such a tensor's value.
    """

    _ADDED: Mapping[str, Any] = {"add": lambda x: x, "addcdiv": torch.div, "addcmul": torch.mul}

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        word = "alpha" if name.rstrip("_") == "add" else "value"
        if name.rstrip("_") in self._ADDED and isinstance(kwargs.get(word), Tensor):
            change = self._ADDED[name.rstrip("_")](*args[1:]) * kwargs[word]
            return args[0].add_(change) if name.endswith("_") else args[0].add(change)
        return func(*args, **kwargs)


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


def first_state(optimizer: torch.optim.Optimizer, parameter: Tensor) -> dict[str, Any]:
    """The state that `optimizer` begins with for a parameter.

    torch's make it at the beginning of their first step, in `_init_group`; or else in the step itself:
    that of a parameter of zeros, with gradients of zeros, changes nothing but the count of steps.
    """
    [group] = [g for g in optimizer.param_groups if any(x is parameter for x in g["params"])]
    zeros = torch.zeros_like(parameter, device=_real(parameter)).requires_grad_()
    alone = object.__new__(type(optimizer))
    alone.__dict__.update(optimizer.__dict__)
    alone.param_groups = [group]
    copied = clone_optimizer(alone, [["it"]], {"it": zeros}, {}, {})
    for settings in copied.param_groups:
        if "capturable" in settings:
            settings["capturable"] = False
    begun: dict[str, Any] = {}
    make = getattr(copied, "_init_group", None)
    if make is not None:

        def remember(*args: Any, **kwargs: Any) -> Any:
            made = make(*args, **kwargs)
            for key, x in copied.state[zeros].items():
                begun[key] = x.clone() if isinstance(x, Tensor) else x
            return made

        copied._init_group = remember
    zeros.grad = torch.zeros_like(zeros)
    copied.step()
    state = {**copied.state[zeros], **{key: x for key, x in begun.items() if x is not None}}
    return {
        key: torch.zeros_like(x) if key == "step" and isinstance(x, Tensor) else x
        for key, x in state.items()
    }


def _real(value: Tensor) -> torch.device:
    return torch.device("cpu") if value.device.type == "meta" else value.device
