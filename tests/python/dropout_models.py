"""flax's lm1b in small: pre-norm decoder blocks with dropout, and a loss as PyTorch has it."""

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn


class Block(nn.Module):
    width: int
    dropout: float

    @nn.compact
    def __call__(self, x, mask):
        def drop(value):
            return nn.Dropout(self.dropout, deterministic=self.dropout == 0)(value)

        attention = nn.MultiHeadDotProductAttention(
            num_heads=2,
            qkv_features=self.width,
            use_bias=False,
            broadcast_dropout=False,
            dropout_rate=self.dropout,
            deterministic=self.dropout == 0,
        )
        h = nn.LayerNorm()(x)
        x = x + drop(attention(h, h, mask=mask))
        h = nn.relu(nn.Dense(4 * self.width)(nn.LayerNorm()(x)))
        return x + drop(nn.Dense(self.width)(drop(h)))


class LanguageModel(nn.Module):
    layers: int
    width: int
    vocab: int
    dropout: float

    @nn.compact
    def __call__(self, tokens):
        embedding = nn.Embed(self.vocab, self.width)
        positions = self.param("pos", nn.initializers.normal(0.02), (tokens.shape[1], self.width))
        x = embedding(tokens) + positions
        x = nn.Dropout(self.dropout, deterministic=self.dropout == 0)(x)
        mask = nn.combine_masks(
            nn.make_causal_mask(tokens), nn.make_attention_mask(tokens > 0, tokens > 0)
        )
        for _ in range(self.layers):
            x = Block(self.width, self.dropout)(x, mask)
        return embedding.attend(nn.LayerNorm()(x))


def lm1b(dropout, implementation="threefry2x32", layers=4, width=16, vocab=32, batch=8, length=8):
    """A training step and the shapes of its arguments."""
    model = LanguageModel(layers, width, vocab, dropout)
    optimizer = optax.adamw(1e-3)

    def step(params, state, tokens, targets, key):
        def loss(params):
            bits = jax.random.wrap_key_data(key, impl=implementation)
            logits = model.apply({"params": params}, tokens, rngs={"dropout": bits})
            scores = jax.nn.log_softmax(logits.reshape(-1, vocab))
            labels = targets.reshape(-1)
            return -jnp.mean(scores[jnp.arange(labels.size), labels])

        value, gradients = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value

    tokens = jax.ShapeDtypeStruct((batch, length), jnp.int32)
    words = jax.eval_shape(lambda: jax.random.key_data(jax.random.key(0, impl=implementation)))
    params = jax.eval_shape(lambda t: model.init(jax.random.key(0), t)["params"], tokens)
    state = jax.eval_shape(optimizer.init, params)
    return step, (params, state, tokens, tokens, words)
