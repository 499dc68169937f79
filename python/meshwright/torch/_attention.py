"""Scaled-dot-product attention as one operator, forward and backward, on any device.

torch opens `scaled_dot_product_attention` into scores, or calls a kernel that depends on the device
it is traced on. While a step is traced, calls go to `meshwright::attention` instead, which the
planner knows by the rules in attention.rules and DTensor by those below. What it runs is torch's
kernel for the device that it finds.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding
from torch.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from typing_extensions import Self

# What the planner is told of the two operators, as `rules=` takes it.
RULES = Path(__file__).with_name("attention.rules")

_ATEN = torch.ops.aten
_SDPA = torch.nn.functional.scaled_dot_product_attention


def _bias(mask: Tensor | None, like: Tensor) -> Tensor | None:
    """A mask as torch's kernels take it: what is added to the scores."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=like.dtype, device=like.device).masked_fill(
        ~mask, -math.inf
    )


def _per_query_head(q: Tensor, *keys: Tensor) -> list[Tensor]:
    shared = q.shape[1] // keys[0].shape[1]
    return [key.repeat_interleave(shared, 1) if shared > 1 else key for key in keys]


@torch.library.custom_op("meshwright::attention", mutates_args=())
def attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """The attention of queries [b, h, s, d] to keys [b, g, t, d] and values [b, g, t, e], h a multiple of
    g; and for the backward pass the logarithms of the scores' sums of exponentials, [b, h, s] in f32.
    """
    k, v = _per_query_head(q, k, v)
    if q.device.type == "cpu":
        out, sums = _ATEN._scaled_dot_product_flash_attention_for_cpu(
            q, k, v, 0.0, causal, attn_mask=_bias(mask, q), scale=scale
        )
        return out.contiguous(), sums.float().contiguous()
    out, sums = _gpu_forward(q, k, v, _bias(mask, q), causal, scale)
    return out.contiguous(), sums.float().contiguous()


def _takes_flash(q: Tensor, v: Tensor, bias: Tensor | None) -> bool:
    """Whether FlashAttention's kernels are for these; the memory-efficient ones are for all."""
    short = q.dtype in (torch.float16, torch.bfloat16)
    depth = q.shape[3]
    return bias is None and short and depth == v.shape[3] and depth % 8 == 0 and depth <= 256


def _with_bias(bias: Tensor, q: Tensor, k: Tensor, *others: Tensor) -> tuple[Tensor, list[Tensor]]:
    """A bias and operands as the memory-efficient kernels take them: in single precision.

    In bf16 they gave wrong gradients of queries and keys (PyTorch 2.11 on an H200). The bias is for
    every head, its rows at multiples of 16 elements in memory.
    """
    queries, keys = q.shape[2], k.shape[2]
    whole = bias.float().expand(*q.shape[:2], queries, keys)
    aligned = torch.nn.functional.pad(whole, (0, -keys % 16))[..., :keys]
    return aligned, [x.float() for x in (q, k, *others)]


def _gpu_forward(
    q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    if _takes_flash(q, v, bias):
        return _ATEN._scaled_dot_product_flash_attention(q, k, v, 0.0, causal, scale=scale)[:2]
    dtype = q.dtype
    if bias is not None:
        bias, (q, k, v) = _with_bias(bias, q, k, v)
    out, sums, *_ = _ATEN._scaled_dot_product_efficient_attention(
        q, k, v, bias, True, 0.0, causal, scale=scale
    )
    return out.to(dtype), sums[..., : q.shape[2]]  # padded


def _gpu_backward(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    sums: Tensor,
    bias: Tensor | None,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor]:
    # Without dropout no random numbers are read.
    none = torch.empty((), dtype=torch.int64, device=q.device)
    if _takes_flash(q, v, bias):
        return _ATEN._scaled_dot_product_flash_attention_backward(
            *(grad, q, k, v, out, sums, None, None, q.shape[2], k.shape[2]),
            *(0.0, causal, none, none),
            scale=scale,
        )
    dtype = q.dtype
    padded = torch.nn.functional.pad(sums, (0, -q.shape[2] % 32))
    if bias is not None:
        bias, (q, k, v, grad, out) = _with_bias(bias, q, k, v, grad, out)
    gradients = _ATEN._scaled_dot_product_efficient_attention_backward(
        *(grad, q, k, v, bias, out, padded, none, none, 0.0),
        *([True, True, True, False], causal),
        scale=scale,
    )
    of_q, of_k, of_v = (x.to(dtype) for x in gradients[:3])
    return of_q, of_k, of_v


@torch.library.custom_op("meshwright::attention_backward", mutates_args=())
def attention_backward(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    sums: Tensor,
    mask: Tensor | None,
    causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of queries, keys and values; the operands are those of `attention` and its results."""
    keys, values = _per_query_head(q, k, v)
    if q.device.type == "cpu":
        grads = _ATEN._scaled_dot_product_flash_attention_for_cpu_backward(
            grad, q, keys, values, out, sums, 0.0, causal, attn_mask=_bias(mask, q), scale=scale
        )
    else:
        bias = _bias(mask, q)
        grads = _gpu_backward(grad, q, keys, values, out, sums, bias, causal, scale)
    of_q, of_k, of_v = grads
    if keys is not k:
        of_k, of_v = (x.unflatten(1, (k.shape[1], -1)).sum(2) for x in (of_k, of_v))
    return of_q.contiguous(), of_k.contiguous(), of_v.contiguous()


@attention.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, mask: Any, causal: bool, scale: float) -> Any:
    out = q.new_empty((*q.shape[:3], v.shape[3]))
    return out, q.new_empty(q.shape[:3], dtype=torch.float32)


@attention_backward.register_fake
def _(grad: Any, q: Tensor, k: Tensor, v: Tensor, *_: Any) -> Any:
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape)


def _save(ctx: Any, inputs: Any, output: Any) -> None:
    q, k, v, mask, ctx.causal, ctx.scale = inputs
    ctx.save_for_backward(q, k, v, *output, mask)


def _backward(ctx: Any, grad: Tensor, _: Any) -> Any:
    grads = attention_backward(grad, *ctx.saved_tensors, ctx.causal, ctx.scale)
    return (*grads, None, None, None)


attention.register_autograd(_backward, setup_context=_save)


class OneCall(TorchFunctionMode):
    """Within it, calls of scaled-dot-product attention become `meshwright::attention`.

    Those with dropout, with a mask that has a gradient, or with other ranks are left to torch.
    """

    def __enter__(self) -> Self:
        # Functions of torch that call it are not looked into by the mode.
        torch.nn.functional.scaled_dot_product_attention = _one_call
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        torch.nn.functional.scaled_dot_product_attention = _SDPA
        super().__exit__(*error)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return (_one_call if func is _SDPA else func)(*args, **(kwargs or {}))


def _one_call(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    trained_mask = attn_mask is not None and attn_mask.requires_grad
    ranks = {query.dim(), key.dim(), value.dim()}
    like = query.shape[0] == key.shape[0] and query.dtype == key.dtype == value.dtype
    if dropout_p or trained_mask or ranks != {4} or not like:
        return _SDPA(
            query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
        )
    if attn_mask is not None and attn_mask.dim() < 4:
        attn_mask = attn_mask[(None,) * (4 - attn_mask.dim())]
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    return attention(query, key, value, attn_mask, is_causal, scale)[0]


def _ways(k: Any, causal: bool, mask: Any) -> list[tuple[Any, ...]]:
    """Along one axis of the mesh, how queries, keys and values, and a mask may lie."""

    def of_mask(dimension: int) -> Any:
        if mask is None:
            return None
        return Shard(dimension) if mask.shape[dimension] > 1 else Replicate()

    whole = Replicate()
    of_heads = whole if k.shape[1] == 1 else Shard(1)
    ways = [
        (whole, whole, None if mask is None else whole),
        (Shard(0), Shard(0), of_mask(0)),
        (Shard(1), of_heads, of_mask(1)),
    ]
    return ways if causal else [*ways, (Shard(2), whole, of_mask(2))]


@register_sharding(torch.ops.meshwright.attention.default)
def _(q: Any, k: Any, v: Any, mask: Any, causal: bool, scale: float) -> Any:
    return [([x, x], [x, y, y, m, None, None]) for x, y, m in _ways(k, causal, mask)]


@register_sharding(torch.ops.meshwright.attention_backward.default)
def _(
    grad: Any, q: Any, k: Any, v: Any, out: Any, sums: Any, mask: Any, causal: bool, scale: float
) -> Any:
    from torch.distributed.tensor import Partial

    ways = []
    for x, y, m in _ways(k, causal, mask):
        summed = Partial() if x != y else y  # over queries, or over heads of queries
        ways.append(([x, summed, summed], [x, x, y, y, x, x, m, None, None]))
    return ways
