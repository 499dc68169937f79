"""Plans, shards, runs and verifies a training step of a Wide-ResNet in plain JAX.

python examples/wide_resnet.py                            # small, on host devices or the GPUs here
python examples/wide_resnet.py --blocks 3 --filters 64 --width 2 --image 224 --batch 64
"""

import common

arguments = common.options(
    __doc__, stages=2, blocks=1, filters=16, width=2, classes=64, image=32, batch=16
)

import jax
import jax.numpy as jnp


def convolution(key, size, inputs, outputs):
    scale = (2 / (size * size * inputs)) ** 0.5
    kernel = scale * jax.random.normal(key, (size, size, inputs, outputs), jnp.float32)
    return {"kernel": kernel, "gain": jnp.ones(outputs), "bias": jnp.zeros(outputs)}


def apply(weights, x, stride=1):
    """Convolution and batch normalisation."""
    x = jax.lax.conv_general_dilated(
        x, weights["kernel"], (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    mean = x.mean((0, 1, 2))
    variance = ((x - mean) ** 2).mean((0, 1, 2))
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * weights["gain"] + weights["bias"]


def layout():
    """Name, channels in, inside and out, and stride of every block."""
    channels = arguments.filters
    for stage in range(arguments.stages):
        for block in range(arguments.blocks):
            inside = arguments.filters * 2**stage * arguments.width
            outputs = arguments.filters * 2**stage * 4
            yield (
                f"stage{stage}_block{block}",
                channels,
                inside,
                outputs,
                2 if stage and not block else 1,
            )
            channels = outputs


def init(key):
    keys = iter(jax.random.split(key, 2 + 4 * arguments.stages * arguments.blocks))
    params = {"stem": convolution(next(keys), 3, 3, arguments.filters)}
    channels = arguments.filters
    for name, inputs, inside, outputs, _ in layout():
        params[name] = {
            "reduce": convolution(next(keys), 1, inputs, inside),
            "middle": convolution(next(keys), 3, inside, inside),
            "expand": convolution(next(keys), 1, inside, outputs),
            "shortcut": convolution(next(keys), 1, inputs, outputs),
        }
        channels = outputs
    params["head"] = 0.01 * jax.random.normal(next(keys), (channels, arguments.classes))
    return params


def loss(params, images, labels):
    x = jax.nn.relu(apply(params["stem"], images))
    for name, inputs, _, outputs, stride in layout():
        weights = params[name]
        y = jax.nn.relu(apply(weights["reduce"], x))
        y = jax.nn.relu(apply(weights["middle"], y, stride))
        y = apply(weights["expand"], y)
        same = inputs == outputs and stride == 1
        x = jax.nn.relu(y + (x if same else apply(weights["shortcut"], x, stride)))
    logits = x.mean((1, 2)) @ params["head"]
    picked = jnp.take_along_axis(logits, labels[:, None], -1)[:, 0]
    return (jax.nn.logsumexp(logits, -1) - picked).mean()


def step(state, images, labels):
    """Gradient descent with momentum."""
    params, momentum = state
    value, grads = jax.value_and_grad(loss)(params, images, labels)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    return (jax.tree.map(lambda p, m: p - 0.1 * m, params, momentum), momentum), value


if __name__ == "__main__":
    params = jax.jit(init)(jax.random.key(0))
    size = arguments.image
    images = jax.random.normal(jax.random.key(1), (arguments.batch, size, size, 3))
    labels = jax.random.randint(jax.random.key(2), (arguments.batch,), 0, arguments.classes)
    common.train(arguments, step, (params, jax.tree.map(jnp.zeros_like, params)), images, labels)
