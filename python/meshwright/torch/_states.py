"""What an optimizer's state is before its first step."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from meshwright.torch._tracing import clone_optimizer


def first_state(optimizer: torch.optim.Optimizer, parameter: Tensor) -> dict[str, Any]:
    """The state that `optimizer` begins with for a parameter.

    Optimizers make it in their first step: that of a parameter of zeros, with gradients of zeros,
    changes nothing but the count of steps.
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
    zeros.grad = torch.zeros_like(zeros)
    copied.step()
    state = dict(copied.state[zeros])
    return {
        key: torch.zeros_like(x) if key == "step" and isinstance(x, Tensor) else x
        for key, x in state.items()
    }


def _real(value: Tensor) -> torch.device:
    return torch.device("cpu") if value.device.type == "meta" else value.device
