"""Training steps, plans and schedules for tests of pipelines that run."""

import re
import types
from typing import NamedTuple

import jax
import jax.numpy as jnp
import models
import numpy as np


def gpt(generator, layers=4, h=16, heads=2, vocab=32, length=8, batch=8):
    """Unrolled layers, gradients clipped by their global norm; the loss is the mean over the tokens
    that are followed by another, of which every sample has its own number."""
    params = models._weights(
        generator,
        {
            "embed": (vocab, h),
            "layers": [
                {"up": (h, 2 * h), "down": (2 * h, h), **models._attention_shapes(h, h)}
                for _ in range(layers)
            ],
            "head": (h, vocab),
        },
    )

    def loss(params, text, labels):
        x = params["embed"][text]
        for w in params["layers"]:
            x = x + models.attention(w, models.norm(x, w["n1"]), heads, heads)
            x = x + jax.nn.gelu(models.norm(x, w["n2"]) @ w["up"]) @ w["down"]
        counts = (labels != 0).astype(jnp.float32)
        wrong = models.cross_entropies(x @ params["head"], labels)
        return (wrong * counts).sum() / counts.sum()

    def step(params, text, labels):
        value, grads = jax.value_and_grad(loss)(params, text, labels)
        norm = jnp.sqrt(sum((g * g).sum() for g in jax.tree.leaves(grads)))
        scale = 0.1 / jnp.maximum(norm, 0.1)
        return jax.tree.map(lambda p, g: p - scale * g, params, grads), (value, norm)

    text, labels = generator.integers(0, vocab, (2, batch, length), np.int32)
    labels[np.arange(length) > np.arange(batch)[:, None] + length // 2] = 0
    return step, (params, text, labels)


def llama(generator, layers=4):
    """Layers in a loop, recomputed in the backward pass; Adam."""
    h, vocab, batch, length = 16, 32, 8, 8
    stack = {"up": (layers, h, 2 * h), "down": (layers, 2 * h, h)}
    params = models._weights(generator, {"embed": (vocab, h), "stack": stack, "head": (h, vocab)})

    def loss(params, text, labels):
        @jax.checkpoint
        def layer(x, w):
            return x + jax.nn.silu(x @ w["up"]) @ w["down"], None

        x, _ = jax.lax.scan(layer, params["embed"][text], params["stack"])
        return models.cross_entropy(x @ params["head"], labels)

    text, labels = generator.integers(0, vocab, (2, batch, length), np.int32)
    return models.adam(loss), (models._state(generator, params), text, labels)


def moe(generator, layers=2):
    """Experts, and one matrix for embedding and head, which are in different stages."""
    h, vocab, batch, length, experts = 16, 32, 8, 8, 2
    shapes = {"gate": (h, experts), "up": (experts, h, 2 * h), "down": (experts, 2 * h, h)}
    params = models._weights(
        generator, {"embed": (vocab, h), "layers": [shapes for _ in range(layers)]}
    )

    def loss(params, text, labels):
        x = params["embed"][text]
        for w in params["layers"]:
            gates = jax.nn.softmax(x @ w["gate"], -1)
            hidden = jax.nn.gelu(jnp.einsum("bsh,ehf->bsef", x, w["up"]))
            x = x + jnp.einsum("bsef,efh,bse->bsh", hidden, w["down"], gates)
        return models.cross_entropy(x @ params["embed"].T, labels)

    text, labels = generator.integers(0, vocab, (2, batch, length), np.int32)
    return models.adam(loss), (models._state(generator, params), text, labels)


def wide_resnet(generator, layers=4):
    """Convolutions, with a running mean of what they give; the samples' predictions are results too."""
    channels, batch, image, classes = 8, 8, 8, 4
    convolutions = [{"a": (3, 3, channels, channels)} for _ in range(layers)]
    params = models._weights(
        generator,
        {"stem": (3, 3, 3, channels), "blocks": convolutions, "head": (channels, classes)},
    )

    def convolve(x, w):
        return jax.lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )

    def loss(params, images, labels):
        x = convolve(images, params["stem"])
        means = []
        for w in params["blocks"]:
            x = x + jax.nn.relu(convolve(x, w["a"]))
            means.append(x.mean((0, 1, 2)))
        logits = x.mean((1, 2)) @ params["head"]
        return models.cross_entropy(logits, labels), (logits, means)

    def step(state, images, labels):
        params, means = state
        (value, (logits, new)), grads = jax.value_and_grad(loss, has_aux=True)(
            params, images, labels
        )
        params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
        means = [0.9 * mean + 0.1 * batch_mean for mean, batch_mean in zip(means, new)]
        return (params, means), (value, logits)

    means = [np.zeros(channels, np.float32) for _ in range(layers)]
    images = generator.standard_normal((batch, image, image, 3)).astype(np.float32)
    labels = generator.integers(0, classes, (batch,), np.int32)
    return step, ((params, means), images, labels)


MODELS = {"gpt": gpt, "llama": llama, "moe": moe, "wide_resnet": wide_resnet}


class Kind(NamedTuple):
    """A way to run: options of the planner, and sizes of models that need others."""

    options: dict
    sizes: dict = types.MappingProxyType({})


KINDS = {
    "default": Kind({"cluster": "4xh100-sxm", "pipeline": 2}),
    "1f1b": Kind({"cluster": "4xh100-sxm", "pipeline": 2, "schedule": "1f1b"}),
    "gpipe": Kind({"cluster": "4xh100-sxm", "pipeline": 2, "schedule": "gpipe"}),
    "zb-h1": Kind({"cluster": "4xh100-sxm", "pipeline": 2, "schedule": "zb-h1"}),
    "interleaved": Kind({"cluster": "2xh100-sxm", "pipeline": 2, "schedule": "interleaved"}),
    # As many layers, with embedding and head, as two stages do not divide.
    "uneven": Kind({"cluster": "2xh100-sxm", "pipeline": 2, "schedule": "1f1b"}, {"layers": 3}),
    # Nodes of two devices and of one: stages have a mesh each.
    "meshes": Kind({"cluster": "2xh100-sxm+1xa100-40g", "pipeline": 2, "schedule": "1f1b"}),
    "4 stages": Kind({"cluster": "4xh100-sxm", "pipeline": 4, "schedule": "1f1b"}, {"layers": 4}),
}


def cluster_of(kind, devices=None):
    """The cluster of a kind of plan; with as many times the devices as `devices` have room for."""
    cluster = KINDS[kind].options["cluster"]
    counts = list(map(int, re.findall(r"\b(\d+)x", cluster)))
    times = 1 if devices is None else devices // sum(counts)
    return re.sub(r"\b(\d+)x", lambda found: f"{times * int(found[1])}x", cluster)


def planned(model, kind, folder, devices=None, **sizes):
    """The function, its arguments, and a plan whose stages are in `folder`."""
    import meshwright as mw

    fn, arguments = MODELS[model](np.random.default_rng(0), **{**KINDS[kind].sizes, **sizes})
    step = jax.jit(fn, donate_argnums=0)
    options = {"micro_batches": 2, **KINDS[kind].options, "cluster": cluster_of(kind, devices)}
    plan = mw.plan(step, *arguments, emit=folder, **options)
    return step, arguments, plan


class Checked:
    """The unsharded step beside the pipeline, from the same state."""

    def __init__(self, step, arguments):
        self.state = jax.tree.map(
            np.array, arguments[0]
        )  # what is donated are the pipeline's arrays
        self._step = jax.jit(step.__wrapped__)
        self._expected = self.state
        self._batch = arguments[1:]
        self.error = 0.0

    def compare(self, state, results):
        """Holds what this process has of both against the next unsharded step."""
        self._expected, expected = self._step(self._expected, *self._batch)
        got = jax.tree.leaves((state, results))
        wanted = jax.tree.leaves((self._expected, expected))
        assert jax.tree.structure((state, results)) == jax.tree.structure(
            (self._expected, expected)
        )
        for array, other in zip(got, wanted):
            assert (array.shape, array.dtype) == (other.shape, other.dtype)
            self.error = max(self.error, _difference(array, np.asarray(other, np.float64)))


def _difference(array, wanted):
    """Of the parts of an array that are here."""
    if hasattr(array, "bounds"):
        differences = [0.0]
        for (begin, end), part in zip(array.bounds, array.parts):
            where = [slice(None)] * wanted.ndim
            where[array.dimension] = slice(begin, end)
            differences.append(_difference(part, wanted[tuple(where)]))
        return max(differences)
    differences = [
        np.abs(np.asarray(shard.data, np.float64) - wanted[shard.index]).max(initial=0.0)
        for shard in array.addressable_shards
    ]
    return max(differences, default=0.0)
