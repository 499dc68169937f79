"""Plans, shards, runs and verifies a training step of a LLaMA whose layers are scanned.

python examples/llama.py                                  # small, on host devices or the GPUs here
python examples/llama.py --layers 32 --hidden 4096 --heads 32 --kv-heads 8 --ffn 14336
"""

import common

arguments = common.options(
    __doc__, layers=4, hidden=128, heads=8, kv_heads=4, ffn=256, vocab=512, length=64, batch=8
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
    a = arguments
    embed, head, layers = jax.random.split(key, 3)

    def layer(key):
        keys = jax.random.split(key, 4)
        return {
            "norm1": jnp.ones(a.hidden),
            "norm2": jnp.ones(a.hidden),
            "gate": weight(keys[0], a.hidden, a.ffn),
            "up": weight(keys[1], a.hidden, a.ffn),
            "down": weight(keys[2], a.ffn, a.hidden),
            **attention_weights(keys[3], a.hidden, a.heads, a.kv_heads),
        }

    return {
        "embed": weight(embed, a.vocab, a.hidden),
        "head": weight(head, a.hidden, a.vocab),
        "norm": jnp.ones(a.hidden),
        "layers": jax.vmap(layer)(jax.random.split(layers, a.layers)),
    }


def layer(x, weights):
    y = rms_norm(x, weights["norm1"])
    x = x + attention(weights, y, arguments.heads, arguments.kv_heads)
    y = rms_norm(x, weights["norm2"])
    inner = jax.nn.silu(y @ bf16(weights["gate"])) * (y @ bf16(weights["up"]))
    return x + inner @ bf16(weights["down"]), None


def loss(params, text, labels):
    x = bf16(params["embed"])[text]
    x, _ = jax.lax.scan(jax.checkpoint(layer), x, params["layers"])
    return cross_entropy(rms_norm(x, params["norm"]) @ bf16(params["head"]), labels)


if __name__ == "__main__":
    batch = tokens(arguments.batch, arguments.length, arguments.vocab)
    common.train(arguments, adam_step(loss), adam_state(jax.jit(init)(jax.random.key(0))), *batch)
