"""Attention as one operator agrees with torch's in double precision: on this machine's GPU, else on the CPU."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

from meshwright.torch._attention import attention, attention_backward

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
# Of sums of some hundred products of normal numbers: roundings of the type, of results and of scores.
TOLERANCES = {torch.float32: 2e-5, torch.bfloat16: 6e-2}


def masked(kind, queries, keys, dtype):
    if kind == "bool":
        return torch.rand(1, 1, queries, keys, device=DEVICE) > 0.2
    return torch.randn(2, 1, queries, keys, device=DEVICE, dtype=dtype) if kind == "bias" else None


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("heads", [(4, 4), (8, 2)], ids=["each", "grouped"])
@pytest.mark.parametrize("kind", ["causal", "whole", "bool", "bias"])
@pytest.mark.parametrize(("queries", "keys"), [(96, 80), (33, 77)])
def test_both_ways(queries, keys, kind, heads, dtype):
    torch.manual_seed(0)
    causal = kind == "causal"
    keys = queries if causal else keys
    mask = masked(kind, queries, keys, dtype)
    q, grad = (torch.randn(2, heads[0], queries, 64, device=DEVICE, dtype=dtype) for _ in range(2))
    k, v = (torch.randn(2, heads[1], keys, 64, device=DEVICE, dtype=dtype) for _ in range(2))
    out, sums = attention(q, k, v, mask, causal, 0.125)
    gradients = attention_backward(grad, q, k, v, out, sums, mask, causal, 0.125)
    exact = [x.double().requires_grad_() for x in (q, k, v)]
    bias = mask.double() if kind == "bias" else mask
    expected = torch.nn.functional.scaled_dot_product_attention(
        *exact, attn_mask=bias, is_causal=causal, scale=0.125, enable_gqa=heads[0] != heads[1]
    )
    expected_gradients = torch.autograd.grad(expected, exact, grad.double())
    for found, wanted in zip((out, *gradients), (expected, *expected_gradients), strict=True):
        assert found.dtype == dtype
        assert (found - wanted).abs().max().item() < TOLERANCES[dtype]
