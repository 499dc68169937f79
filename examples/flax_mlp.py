"""Plans, shards, runs and verifies the training of a Flax module with Optax.

Nothing in the model knows about devices.

    python examples/flax_mlp.py                               # needs flax and optax
    python examples/flax_mlp.py --hidden 4096 --layers 8 --mesh 2x4
"""

import common

arguments = common.options(__doc__, layers=3, hidden=256, inputs=64, classes=16, batch=64)

import flax.linen as nn
import jax
import optax


class Mlp(nn.Module):
    @nn.compact
    def __call__(self, x):
        for _ in range(arguments.layers):
            x = nn.relu(nn.Dense(arguments.hidden)(nn.LayerNorm()(x)))
        return nn.Dense(arguments.classes)(x)


model, optimizer = Mlp(), optax.adamw(1e-3)


def step(state, x, labels):
    params, optimizer_state = state

    def loss(params):
        logits = model.apply(params, x)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    value, grads = jax.value_and_grad(loss)(params)
    updates, optimizer_state = optimizer.update(grads, optimizer_state, params)
    return (optax.apply_updates(params, updates), optimizer_state), value


if __name__ == "__main__":
    x = jax.random.normal(jax.random.key(1), (arguments.batch, arguments.inputs))
    labels = jax.random.randint(jax.random.key(2), (arguments.batch,), 0, arguments.classes)
    params = jax.jit(model.init)(jax.random.key(0), x)
    common.train(arguments, step, (params, optimizer.init(params)), x, labels)
