"""Parts of a transformer and of its training, in plain JAX: f32 weights, bf16 arithmetic, Adam."""

import jax
import jax.numpy as jnp


def bf16(x):
    return x.astype(jnp.bfloat16)


def weight(key, *shape):
    return 0.02 * jax.random.normal(key, shape, jnp.float32)


def layer_norm(x, gain):
    x = x.astype(jnp.float32)
    x = x - x.mean(-1, keepdims=True)
    return bf16(x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gain)


def rms_norm(x, gain):
    x = x.astype(jnp.float32)
    return bf16(x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gain)


def attention_weights(key, hidden, heads, kv_heads):
    keys = jax.random.split(key, 4)
    kv = hidden // heads * kv_heads
    return {
        "wq": weight(keys[0], hidden, hidden),
        "wk": weight(keys[1], hidden, kv),
        "wv": weight(keys[2], hidden, kv),
        "wo": weight(keys[3], hidden, hidden),
    }


def attention(weights, x, heads, kv_heads):
    """Causal attention; several query heads may share a key and value head."""
    batch, length, hidden = x.shape
    size = hidden // heads
    q = (x @ bf16(weights["wq"])).reshape(batch, length, kv_heads, heads // kv_heads, size)
    k = (x @ bf16(weights["wk"])).reshape(batch, length, kv_heads, size)
    v = (x @ bf16(weights["wv"])).reshape(batch, length, kv_heads, size)
    scores = jnp.einsum("bqkgd,bskd->bkgqs", q, k).astype(jnp.float32) * size**-0.5
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    mixed = jnp.einsum("bkgqs,bskd->bqkgd", bf16(jax.nn.softmax(scores, -1)), v)
    return mixed.reshape(batch, length, hidden) @ bf16(weights["wo"])


def cross_entropy(logits, labels):
    logits = logits.astype(jnp.float32)
    picked = jnp.sum(jnp.where(labels[..., None] == jnp.arange(logits.shape[-1]), logits, 0.0), -1)
    return (jax.nn.logsumexp(logits, -1) - picked).mean()


def adam_state(params):
    # Of each its own: a buffer cannot be donated twice.
    mean, square = (jax.tree.map(jnp.zeros_like, params) for _ in range(2))
    return params, mean, square, jnp.float32(0)


def adam_step(loss, rate=1e-3):
    """A training step for `loss(params, *batch)`: (state, *batch) -> (state, loss)."""

    def step(state, *batch):
        params, mean, square, count = state
        value, grads = jax.value_and_grad(loss)(params, *batch)
        count = count + 1
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
        square = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, square, grads)

        def update(p, m, v):
            return p - rate * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.95**count)) + 1e-8)

        return (jax.tree.map(update, params, mean, square), mean, square, count), value

    return step


def tokens(batch, length, vocab):
    """Random tokens and the next ones as labels."""
    text = jax.random.randint(jax.random.key(1), (batch, length + 1), 0, vocab)
    return text[:, :-1], text[:, 1:]
