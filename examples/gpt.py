"""Plans, shards, runs and verifies a training step of a GPT-2 in plain JAX.

python examples/gpt.py                                    # small, on host devices or the GPUs here
python examples/gpt.py --layers 12 --hidden 768 --mesh 2x4
"""

import common

arguments = common.options(__doc__, layers=2, hidden=128, heads=4, vocab=512, length=64, batch=8)

import jax
import jax.numpy as jnp
from transformer import (
    adam_state,
    adam_step,
    attention,
    attention_weights,
    bf16,
    cross_entropy,
    layer_norm,
    tokens,
    weight,
)


def init(key):
    a, keys = arguments, iter(jax.random.split(key, 3 + 3 * arguments.layers))
    params = {
        "embed": weight(next(keys), a.vocab, a.hidden),
        "position": weight(next(keys), a.length, a.hidden),
        "head": weight(next(keys), a.hidden, a.vocab),
        "norm": jnp.ones(a.hidden),
    }
    for layer in range(a.layers):
        params[f"layer{layer}"] = {
            "norm1": jnp.ones(a.hidden),
            "norm2": jnp.ones(a.hidden),
            "up": weight(next(keys), a.hidden, 4 * a.hidden),
            "down": weight(next(keys), 4 * a.hidden, a.hidden),
            **attention_weights(next(keys), a.hidden, a.heads, a.heads),
        }
    return params


def loss(params, text, labels):
    x = bf16(params["embed"])[text] + bf16(params["position"])
    for layer in range(arguments.layers):
        weights = params[f"layer{layer}"]
        y = layer_norm(x, weights["norm1"])
        x = x + attention(weights, y, arguments.heads, arguments.heads)
        y = layer_norm(x, weights["norm2"])
        x = x + jax.nn.gelu(y @ bf16(weights["up"])) @ bf16(weights["down"])
    return cross_entropy(layer_norm(x, params["norm"]) @ bf16(params["head"]), labels)


if __name__ == "__main__":
    batch = tokens(arguments.batch, arguments.length, arguments.vocab)
    common.train(arguments, adam_step(loss), adam_state(jax.jit(init)(jax.random.key(0))), *batch)
