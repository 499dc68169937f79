"""Plans, shards, runs and verifies a training step of a mixture of experts, routed as in GShard.

python examples/moe.py                                    # small, on host devices or the GPUs here
python examples/moe.py --experts 16 --hidden 1280 --ffn 5120 --mesh 8
"""

import common

arguments = common.options(
    __doc__,
    layers=2,
    hidden=128,
    heads=4,
    ffn=256,
    experts=8,
    group=64,
    vocab=512,
    length=64,
    batch=8,
)

import jax
import jax.numpy as jnp
from transformer import (
    adam_state,
    adam_step,
    attention,
    attention_weights,
    bf16,
    cross_entropy,
    rms_norm,
    tokens,
    weight,
)


def init(key):
    a, keys = arguments, iter(jax.random.split(key, 2 + 4 * arguments.layers))
    params = {
        "embed": weight(next(keys), a.vocab, a.hidden),
        "head": weight(next(keys), a.hidden, a.vocab),
        "norm": jnp.ones(a.hidden),
    }
    for layer in range(a.layers):
        params[f"layer{layer}"] = {
            "norm1": jnp.ones(a.hidden),
            "norm2": jnp.ones(a.hidden),
            "router": weight(next(keys), a.hidden, a.experts),
            "up": weight(next(keys), a.experts, a.hidden, a.ffn),
            "down": weight(next(keys), a.experts, a.ffn, a.hidden),
            **attention_weights(next(keys), a.hidden, a.heads, a.heads),
        }
    return params


def experts(weights, x):
    """Every token goes to its best expert, as long as that has room for it in the token's group."""
    a = arguments
    groups = x.reshape(-1, a.group, x.shape[-1])
    capacity = 2 * a.group // a.experts
    odds = jax.nn.softmax((groups @ bf16(weights["router"])).astype(jnp.float32), -1)
    chosen = jax.nn.one_hot(odds.argmax(-1), a.experts)
    place = ((jnp.cumsum(chosen, 1) - 1) * chosen).sum(-1).astype(jnp.int32)
    dispatch = jax.nn.one_hot(place, capacity)[:, :, None, :] * chosen[..., None]
    combine = bf16(dispatch * (odds * chosen).sum(-1)[..., None, None])
    y = jnp.einsum("gtec,gth->egch", bf16(dispatch), groups)
    y = jax.nn.gelu(jnp.einsum("egch,ehf->egcf", y, bf16(weights["up"])))
    y = jnp.einsum("egcf,efh->egch", y, bf16(weights["down"]))
    return jnp.einsum("gtec,egch->gth", combine, y).reshape(x.shape)


def loss(params, text, labels):
    x = bf16(params["embed"])[text]
    for layer in range(arguments.layers):
        weights = params[f"layer{layer}"]
        y = rms_norm(x, weights["norm1"])
        x = x + attention(weights, y, arguments.heads, arguments.heads)
        x = x + experts(weights, rms_norm(x, weights["norm2"]))
    return cross_entropy(rms_norm(x, params["norm"]) @ bf16(params["head"]), labels)


if __name__ == "__main__":
    batch = tokens(arguments.batch, arguments.length, arguments.vocab)
    common.train(arguments, adam_step(loss), adam_state(jax.jit(init)(jax.random.key(0))), *batch)
