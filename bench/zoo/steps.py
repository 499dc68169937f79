"""Training steps of sixteen networks, each of another kind, lowered or timed on one GPU.

    python bench/zoo/steps.py OUT --lower          # any machine: OUT/NAME.mlir.gz, lowered for CUDA
    python bench/zoo/steps.py OUT swin vae         # this machine's GPU: OUT/zoo.jsonl as well

A step is forward pass, gradients and Adam, with parameters and moments in float32 and most arithmetic in bfloat16. Rows
of zoo.jsonl have the median of ten steps after three, and what memory_analysis() says of the executable; `zoo.py`
compares them with what is predicted. Plain JAX, 0.10 or newer.

The networks of HELD_OUT are there to judge predictions: nobody looks at their measurements, nor changes the model for
their sake, until predictions are final.
"""

import argparse
import gzip
import itertools
import json
import math
import pathlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

HELD_OUT = ("swin", "graphsage", "rwkv", "wav2vec", "dlrm_hashed", "dropout_gpt", "vae", "rnnt")

WARM_UP_STEPS = 3
TIMED_STEPS = 10
MEMORY_FIELDS = (
    "argument_size_in_bytes",
    "output_size_in_bytes",
    "temp_size_in_bytes",
    "alias_size_in_bytes",
    "peak_memory_in_bytes",
)


class Reals(NamedTuple):
    """An input drawn from the normal distribution."""

    shape: tuple[int, ...]


class Indices(NamedTuple):
    """An input of integers from 0 up to a bound."""

    shape: tuple[int, ...]
    bound: int


class RandomKey(NamedTuple):
    """An input that is a key of jax.random."""


class Network(NamedTuple):
    """A network: parameters from a Draw, and a loss of parameters and inputs, named in order."""

    init: Callable[["Draw"], Any]
    loss: Callable[..., jax.Array]
    inputs: dict[str, Reals | Indices | RandomKey]


class Draw:
    """Draws initial weights, every one with a key of its own."""

    def __init__(self, key):
        self.key = key
        self.count = 0

    def __call__(self, *shape, fan_in=0):
        self.count += 1
        scale = (fan_in or math.prod(shape[:-1])) ** -0.5
        return scale * jax.random.normal(jax.random.fold_in(self.key, self.count), shape)

    def stack(self, count, make):
        layers = [make() for _ in range(count)]
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *layers)


def half(x):
    return x.astype(jnp.bfloat16)


def project(x, weight):
    return x @ half(weight)


def standardize(x, axes, eps=1e-5):
    x = x.astype(jnp.float32)
    mean = x.mean(axes, keepdims=True)
    return (x - mean) * lax.rsqrt(x.var(axes, keepdims=True) + eps)


def scale_and_shift(width):
    return {"scale": jnp.ones(width), "bias": jnp.zeros(width)}


def layer_norm(p, x):
    return half(standardize(x, -1) * p["scale"] + p["bias"])


def batch_norm(p, x):
    return half(standardize(x, tuple(range(x.ndim - 1))) * p["scale"] + p["bias"])


def group_norm(p, x, groups):
    grouped = x.reshape(*x.shape[:-1], groups, x.shape[-1] // groups)
    axes = (*range(1, x.ndim - 1), x.ndim)
    return half(standardize(grouped, axes).reshape(x.shape) * p["scale"] + p["bias"])


def convolve(x, kernel, stride=1, groups=1, padding="SAME"):
    spatial = "DHW"[-(x.ndim - 2) :]
    return lax.conv_general_dilated(
        x,
        half(kernel),
        (stride,) * (x.ndim - 2),
        padding,
        dimension_numbers=(f"N{spatial}C", f"{spatial}IO", f"N{spatial}C"),
        feature_group_count=groups,
    )


def cross_entropy(logits, labels):
    logits = logits.astype(jnp.float32)
    picked = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return (jax.nn.logsumexp(logits, -1) - picked).mean()


def split_heads(x, heads):
    return x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)


def attend(q, k, v, bias=None, drop=lambda x: x):
    """Attention over [..., position, head, channel]."""
    scores = jnp.einsum("...qhc,...khc->...hqk", q, k, preferred_element_type=jnp.float32)
    scores *= q.shape[-1] ** -0.5
    if bias is not None:
        scores += bias
    weights = drop(half(jax.nn.softmax(scores)))
    return jnp.einsum("...hqk,...khc->...qhc", weights, v)


def causal_bias(length):
    return jnp.where(jnp.tril(jnp.ones((length, length), bool)), 0.0, -1e9)


def init_block(draw, width, hidden):
    return {
        "norm1": scale_and_shift(width),
        "qkv": draw(width, 3 * width),
        "out": draw(width, width),
        "norm2": scale_and_shift(width),
        "up": draw(width, hidden),
        "down": draw(hidden, width),
    }


def self_attention(p, x, heads, **options):
    q, k, v = (split_heads(y, heads) for y in jnp.split(project(x, p["qkv"]), 3, -1))
    return project(attend(q, k, v, **options).reshape(x.shape), p["out"])


def feed_forward(p, x):
    return project(jax.nn.gelu(project(x, p["up"])), p["down"])


def transformer_block(p, x, heads, bias=None):
    x = x + self_attention(p, layer_norm(p["norm1"], x), heads, bias=bias)
    return x + feed_forward(p, layer_norm(p["norm2"], x))


def resnet50(batch=256, size=224, depths=(3, 4, 6, 3), classes=1000):
    def init(draw):
        def unit(kernel, channels, out):
            return {"kernel": draw(kernel, kernel, channels, out), "norm": scale_and_shift(out)}

        stages, channels = [], 64
        for index, depth in enumerate(depths):
            width, blocks = 64 * 2**index, []
            for _ in range(depth):
                block = [unit(1, channels, width), unit(3, width, width), unit(1, width, 4 * width)]
                blocks.append({"units": block})
                if channels != 4 * width:
                    blocks[-1]["short"] = unit(1, channels, 4 * width)
                channels = 4 * width
            stages.append(blocks)
        return {"stem": unit(7, 3, 64), "stages": stages, "head": draw(channels, classes)}

    def apply(p, x, stride=1):
        return batch_norm(p["norm"], convolve(x, p["kernel"], stride))

    def loss(p, images, labels):
        x = jax.nn.relu(apply(p["stem"], half(images), 2))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        for stage, blocks in enumerate(p["stages"]):
            for index, block in enumerate(blocks):
                stride = 2 if stage and not index else 1
                y = jax.nn.relu(apply(block["units"][0], x))
                y = jax.nn.relu(apply(block["units"][1], y, stride))
                y = apply(block["units"][2], y)
                short = apply(block["short"], x, stride) if "short" in block else x
                x = jax.nn.relu(y + short)
        return cross_entropy(project(x.mean((1, 2)), p["head"]), labels)

    images = Reals((batch, size, size, 3))
    return Network(init, loss, {"images": images, "labels": Indices((batch,), classes)})


def convnext(batch=128, size=224, widths=(96, 192, 384, 768), depths=(3, 3, 9, 3), classes=1000):
    def init(draw):
        def block(width):
            return {
                "depthwise": draw(7, 7, 1, width),
                "norm": scale_and_shift(width),
                "up": draw(width, 4 * width),
                "down": draw(4 * width, width),
                "scale": jnp.full(width, 1e-6),
            }

        stages = []
        for index, (width, depth) in enumerate(zip(widths, depths)):
            kernel, channels = (2, widths[index - 1]) if index else (4, 3)
            stages.append(
                {
                    "norm": scale_and_shift(channels if index else width),
                    "down": draw(kernel, kernel, channels, width),
                    "blocks": [block(width) for _ in range(depth)],
                }
            )
        return {"stages": stages, "norm": scale_and_shift(width), "head": draw(width, classes)}

    def loss(p, images, labels):
        x = half(images)
        for index, stage in enumerate(p["stages"]):
            if index:
                x = convolve(layer_norm(stage["norm"], x), stage["down"], 2)
            else:
                x = layer_norm(stage["norm"], convolve(x, stage["down"], 4))
            for block in stage["blocks"]:
                y = convolve(x, block["depthwise"], groups=x.shape[-1])
                x = x + half(block["scale"]) * feed_forward(block, layer_norm(block["norm"], y))
        return cross_entropy(project(layer_norm(p["norm"], x.mean((1, 2))), p["head"]), labels)

    images = Reals((batch, size, size, 3))
    return Network(init, loss, {"images": images, "labels": Indices((batch,), classes)})


def swin(batch=128, size=224, width=96, depths=(2, 2, 6, 2), window=7, classes=1000):
    area = window * window

    def init(draw):
        stages = []
        for index, depth in enumerate(depths):
            channels = width * 2**index
            blocks = [init_block(draw, channels, 4 * channels) for _ in range(depth)]
            for block in blocks:
                block["bias"] = draw((2 * window - 1) ** 2, channels // 32, fan_in=2500)
            stages.append({"blocks": blocks})
            if index + 1 < len(depths):
                stages[-1]["norm"] = scale_and_shift(4 * channels)
                stages[-1]["merge"] = draw(4 * channels, 2 * channels)
        head = draw(channels, classes)
        return {
            "patch": draw(4, 4, 3, width),
            "stages": stages,
            "norm": scale_and_shift(channels),
            "head": head,
        }

    def windows(x):
        b, h, w, c = x.shape
        x = x.reshape(b, h // window, window, w // window, window, c)
        return x.transpose(0, 1, 3, 2, 4, 5).reshape(b, -1, area, c)

    def relative_bias(table):
        at = jnp.arange(window)
        delta = at[:, None] - at[None, :] + window - 1
        index = delta[:, None, :, None] * (2 * window - 1) + delta[None, :, None, :]
        return table[index.reshape(area, area)].transpose(2, 0, 1)

    def shift_bias(side, shift):
        """Keeps apart what only the roll brought into one window."""
        at = jnp.arange(side)
        band = (at >= side - window).astype(jnp.int32) + (at >= side - shift)
        region = windows((3 * band[:, None] + band)[None, :, :, None])[0, :, :, 0]
        return jnp.where(region[:, :, None] == region[:, None, :], 0.0, -100.0)[:, None]

    def apply(p, x, shift):
        b, side, _, c = x.shape
        y = layer_norm(p["norm1"], x)
        bias = relative_bias(p["bias"])
        if shift:
            y = jnp.roll(y, (-shift, -shift), (1, 2))
            bias = bias + shift_bias(side, shift)
        y = self_attention(p, windows(y), c // 32, bias=bias)
        y = y.reshape(b, side // window, side // window, window, window, c)
        y = y.transpose(0, 1, 3, 2, 4, 5).reshape(x.shape)
        if shift:
            y = jnp.roll(y, (shift, shift), (1, 2))
        x = x + y
        return x + feed_forward(p, layer_norm(p["norm2"], x))

    def loss(p, images, labels):
        x = convolve(half(images), p["patch"], 4)
        for stage in p["stages"]:
            for index, block in enumerate(stage["blocks"]):
                x = apply(block, x, window // 2 if index % 2 and x.shape[1] > window else 0)
            if "merge" in stage:
                b, side, _, c = x.shape
                x = x.reshape(b, side // 2, 2, side // 2, 2, c).transpose(0, 1, 3, 2, 4, 5)
                x = x.reshape(b, side // 2, side // 2, 4 * c)
                x = project(layer_norm(stage["norm"], x), stage["merge"])
        x = layer_norm(p["norm"], x).mean((1, 2))
        return cross_entropy(project(x, p["head"]), labels)

    images = Reals((batch, size, size, 3))
    return Network(init, loss, {"images": images, "labels": Indices((batch,), classes)})


def unet3d(batch=2, size=128, widths=(32, 64, 128, 256, 320), classes=4):
    def init(draw):
        def double(channels, width):
            return [
                {"kernel": draw(3, 3, 3, i, width), "norm": scale_and_shift(width)}
                for i in (channels, width)
            ]

        outer = list(itertools.pairwise(widths))[::-1]
        return {
            "down": [double(i, o) for i, o in zip((1, *widths), widths)],
            "up": [draw(2, 2, 2, o, i, fan_in=o) for i, o in outer],
            "merge": [double(2 * i, i) for i, _ in outer],
            "head": draw(1, 1, 1, widths[0], classes),
        }

    def apply(units, x, stride=1):
        for unit in units:
            x = jax.nn.relu(group_norm(unit["norm"], convolve(x, unit["kernel"], stride), 8))
            stride = 1
        return x

    def loss(p, volumes, labels):
        x, skipped = half(volumes), []
        for index, units in enumerate(p["down"]):
            x = apply(units, x, 2 if index else 1)
            skipped.append(x)
        for up, units, skip in zip(p["up"], p["merge"], skipped[-2::-1]):
            x = lax.conv_transpose(
                x, half(up), (2, 2, 2), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC")
            )
            x = apply(units, jnp.concatenate([x, skip], -1))
        return cross_entropy(convolve(x, p["head"]), labels)

    cube = (batch, size, size, size)
    return Network(init, loss, {"volumes": Reals((*cube, 1)), "labels": Indices(cube, classes)})


def gat(nodes=169_343, edges=1_166_243, features=128, heads=8, width=32, layers=3, classes=40):
    def init(draw):
        sizes = [features] + [heads * width] * layers
        return {
            "layers": [
                {
                    "project": draw(i, o),
                    "sender": draw(heads, width, fan_in=width),
                    "receiver": draw(heads, width, fan_in=width),
                    "skip": draw(i, o),
                }
                for i, o in itertools.pairwise(sizes)
            ],
            "head": draw(sizes[-1], classes),
        }

    def segment_softmax(scores, segments):
        top = lax.stop_gradient(jax.ops.segment_max(scores, segments, nodes))
        weights = jnp.exp(scores - top[segments])
        return weights / jax.ops.segment_sum(weights, segments, nodes)[segments]

    def loss(p, x, senders, receivers, labels):
        x = half(x)
        for layer in p["layers"]:
            h = split_heads(project(x, layer["project"]), heads)
            sent = jnp.einsum("nhc,hc->nh", h, layer["sender"])
            received = jnp.einsum("nhc,hc->nh", h, layer["receiver"])
            scores = jax.nn.leaky_relu(sent[senders] + received[receivers], 0.2)
            weights = half(segment_softmax(scores, receivers))
            y = jax.ops.segment_sum(weights[..., None] * h[senders], receivers, nodes)
            x = jax.nn.elu(y.reshape(nodes, -1) + project(x, layer["skip"]))
        return cross_entropy(project(x, p["head"]), labels)

    inputs = {
        "x": Reals((nodes, features)),
        "senders": Indices((edges,), nodes),
        "receivers": Indices((edges,), nodes),
        "labels": Indices((nodes,), classes),
    }
    return Network(init, loss, inputs)


def graphsage(
    nodes=1_000_000, degree=32, features=256, batch=16384, fans=(15, 10, 5), width=256, classes=47
):
    def init(draw):
        sizes = [features] + [width] * len(fans)
        layers = [{"self": draw(i, o), "mean": draw(i, o)} for i, o in itertools.pairwise(sizes)]
        return {"layers": layers, "head": draw(width, classes)}

    def loss(p, table, neighbours, seeds, labels, key):
        frontier = [seeds]
        for fan, draw in zip(fans, jax.random.split(key, len(fans))):
            column = jax.random.randint(draw, (*frontier[-1].shape, fan), 0, degree)
            frontier.append(neighbours[frontier[-1][..., None], column])
        hidden = [half(table[at]) for at in frontier]
        for layer in p["layers"]:
            pairs = itertools.pairwise(hidden)
            hidden = [
                jax.nn.relu(project(x, layer["self"]) + project(y.mean(-2), layer["mean"]))
                for x, y in pairs
            ]
        return cross_entropy(project(hidden[0], p["head"]), labels)

    inputs = {
        "table": Reals((nodes, features)),
        "neighbours": Indices((nodes, degree), nodes),
        "seeds": Indices((batch,), nodes),
        "labels": Indices((batch,), classes),
        "key": RandomKey(),
    }
    return Network(init, loss, inputs)


def language_inputs(batch, length, vocabulary):
    tokens = Indices((batch, length), vocabulary)
    return {"tokens": tokens, "targets": tokens}


def mamba2(
    batch=4, length=4096, width=1024, layers=8, heads=32, state=128, chunk=128, vocabulary=32000
):
    inner, count = 2 * width, length // chunk
    parts = [inner, 2 * inner, 2 * inner + state, 2 * inner + 2 * state]

    def init(draw):
        def layer():
            return {
                "norm": scale_and_shift(width),
                "in": draw(width, parts[-1] + heads),
                "decay": jnp.zeros(heads),
                "skip": jnp.ones(heads),
                "gate_norm": scale_and_shift(inner),
                "out": draw(inner, width),
            }

        return {
            "embed": draw(vocabulary, width, fan_in=width),
            "layers": draw.stack(layers, layer),
            "norm": scale_and_shift(width),
        }

    def state_space(x, log_decay, b, c):
        """Inputs [batch, chunk, position, ...]; products in chunks, a scan over their states."""
        total = jnp.cumsum(log_decay, 2)
        span = total[:, :, :, None] - total[:, :, None]
        lower = jnp.tril(jnp.ones((chunk, chunk), bool))[:, :, None]
        within = half(jnp.exp(jnp.where(lower, span, -jnp.inf)))
        scores = jnp.einsum("bnqs,bnks->bnqk", c, b)
        y = jnp.einsum("bnqk,bnqkh,bnkhc->bnqhc", scores, within, x)
        rest = half(jnp.exp(total[:, :, -1:] - total))
        states = jnp.einsum("bnks,bnkh,bnkhc->nbhcs", b, rest, x).astype(jnp.float32)
        whole = jnp.exp(total[:, :, -1]).transpose(1, 0, 2)[..., None, None]
        carry = lambda h, now: (now[0] * h + now[1], h)
        _, before = lax.scan(carry, jnp.zeros_like(states[0]), (whole, states))
        return y + jnp.einsum("bnqs,bnqh,nbhcs->bnqhc", c, half(jnp.exp(total)), half(before))

    @jax.checkpoint
    def apply(x, p):
        y = project(layer_norm(p["norm"], x), p["in"])
        y = y.reshape(batch, count, chunk, -1)
        gate, u, b, c, dt = jnp.split(y, parts, -1)
        dt = jax.nn.softplus(dt.astype(jnp.float32))
        u = split_heads(jax.nn.silu(u), heads)
        y = state_space(u * half(dt)[..., None], -jnp.exp(p["decay"]) * dt, b, c)
        y = (y + half(p["skip"])[:, None] * u).reshape(gate.shape)
        y = layer_norm(p["gate_norm"], y * jax.nn.silu(gate)).reshape(batch, length, inner)
        return x + project(y, p["out"]), None

    def loss(p, tokens, targets):
        x, _ = lax.scan(apply, half(p["embed"])[tokens], p["layers"])
        return cross_entropy(project(layer_norm(p["norm"], x), p["embed"].T), targets)

    return Network(init, loss, language_inputs(batch, length, vocabulary))


def rwkv(batch=8, length=512, width=768, layers=4, head=64, vocabulary=32000):
    heads = width // head

    def init(draw):
        def layer():
            mixed = {n: draw(width, width) for n in ("r", "k", "v", "g", "decay", "out")}
            return mixed | {
                "norm1": scale_and_shift(width),
                "norm2": scale_and_shift(width),
                "group_norm": scale_and_shift(width),
                "mix": jnp.full((5, width), 0.5),
                "mix_channels": jnp.full(width, 0.5),
                "bonus": draw(heads, head),
                "up": draw(width, 4 * width),
                "down": draw(4 * width, width),
            }

        return {
            "embed": draw(vocabulary, width, fan_in=width),
            "layers": [layer() for _ in range(layers)],
            "norm": scale_and_shift(width),
            "head": draw(width, vocabulary),
        }

    def delta(x):
        return jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1] - x

    def mix_time(p, x):
        d = delta(x)
        r, k, v, g, w = (
            project(x + half(m) * d, p[n]) for m, n in zip(p["mix"], ("r", "k", "v", "g", "decay"))
        )
        w = jnp.exp(-jnp.exp(w.astype(jnp.float32) - 2))
        per_time = [
            split_heads(y.astype(jnp.float32), heads).transpose(1, 0, 2, 3) for y in (r, k, v, w)
        ]

        def advance(state, now):
            r, k, v, w = now
            outer = k[..., :, None] * v[..., None, :]
            y = jnp.einsum("bhk,bhkv->bhv", r, state + p["bonus"][..., None] * outer)
            return w[..., None] * state + outer, y

        start = jnp.zeros((batch, heads, head, head))
        _, y = lax.scan(advance, start, tuple(per_time))
        y = standardize(y.transpose(1, 0, 2, 3), -1).reshape(x.shape)
        y = half(y * p["group_norm"]["scale"] + p["group_norm"]["bias"])
        return project(y * jax.nn.silu(g), p["out"])

    def loss(p, tokens, targets):
        x = half(p["embed"])[tokens]
        for layer in p["layers"]:
            x = x + mix_time(layer, layer_norm(layer["norm1"], x))
            y = layer_norm(layer["norm2"], x)
            y = project(y + half(layer["mix_channels"]) * delta(y), layer["up"])
            x = x + project(jnp.square(jax.nn.relu(y)), layer["down"])
        return cross_entropy(project(layer_norm(p["norm"], x), p["head"]), targets)

    return Network(init, loss, language_inputs(batch, length, vocabulary))


def wav2vec(batch=16, samples=160_000, channels=512, width=768, layers=12, heads=12, codes=504):
    kernels, strides = (10, 3, 3, 3, 3, 2, 2), (5, 2, 2, 2, 2, 2, 2)
    frames = samples
    for kernel, stride in zip(kernels, strides):
        frames = (frames - kernel) // stride + 1

    def init(draw):
        return {
            "convolutions": [
                {
                    "kernel": draw(k, channels if i else 1, channels),
                    "norm": scale_and_shift(channels),
                }
                for i, k in enumerate(kernels)
            ],
            "project": draw(channels, width),
            "position": draw(128, width // 16, width),
            "mask": draw(1, width),
            "blocks": [init_block(draw, width, 4 * width) for _ in range(layers)],
            "norm": scale_and_shift(width),
            "head": draw(width, codes),
        }

    def loss(p, audio, masked, targets):
        x = half(audio)[..., None]
        for unit, stride in zip(p["convolutions"], strides):
            x = convolve(x, unit["kernel"], stride, padding="VALID")
            x = jax.nn.gelu(layer_norm(unit["norm"], x))
        x = project(x, p["project"])
        x = jnp.where((masked == 0)[..., None], half(p["mask"]), x)
        x = x + jax.nn.gelu(convolve(x, p["position"], groups=16))
        for block in p["blocks"]:
            x = transformer_block(block, x, heads)
        return cross_entropy(project(layer_norm(p["norm"], x), p["head"]), targets)

    inputs = {
        "audio": Reals((batch, samples)),
        "masked": Indices((batch, frames), 2),
        "targets": Indices((batch, frames), codes),
    }
    return Network(init, loss, inputs)


def fnet(batch=32, length=512, width=1024, layers=24, vocabulary=32000):
    def init(draw):
        def layer():
            return {
                "norm1": scale_and_shift(width),
                "norm2": scale_and_shift(width),
                "up": draw(width, 4 * width),
                "down": draw(4 * width, width),
            }

        return {
            "embed": draw(vocabulary, width, fan_in=width),
            "position": draw(length, width, fan_in=width),
            "layers": [layer() for _ in range(layers)],
            "norm": scale_and_shift(width),
        }

    def loss(p, tokens, targets):
        x = layer_norm(p["norm"], half(p["embed"])[tokens] + half(p["position"]))
        for layer in p["layers"]:
            mixed = jnp.fft.fft2(x.astype(jnp.float32), axes=(-2, -1)).real
            x = layer_norm(layer["norm1"], x + half(mixed))
            x = layer_norm(layer["norm2"], x + feed_forward(layer, x))
        return cross_entropy(project(x, p["embed"].T), targets)

    return Network(init, loss, language_inputs(batch, length, vocabulary))


def dlrm_hashed(batch=32768, fields=26, hot=8, rows=24_000_000, width=64, dense=13, crosses=3):
    bags = batch * fields

    def init(draw):
        def perceptron(*sizes):
            return [draw(i, o) for i, o in itertools.pairwise(sizes)]

        joint = (fields + 1) * width
        return {
            "table": draw(rows, width, fan_in=10_000),
            "bottom": perceptron(dense, 512, 256, width),
            "crosses": [{"w": draw(joint, joint), "b": jnp.zeros(joint)} for _ in range(crosses)],
            "top": perceptron(joint, 1024, 512, 256, 1),
        }

    def hashed(ids, field):
        """Rows of the table for raw identifiers: the mixing steps of MurmurHash3, a seed a field."""
        x = ids.astype(jnp.uint32) ^ (field.astype(jnp.uint32) * jnp.uint32(0x9E3779B9))
        x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
        x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
        return ((x ^ (x >> 16)) % jnp.uint32(rows)).astype(jnp.int32)

    def run(weights, x):
        for weight in weights[:-1]:
            x = jax.nn.relu(project(x, weight))
        return project(x, weights[-1])

    def loss(p, numbers, ids, bag, clicked):
        embedded = half(p["table"][hashed(ids, bag % fields)])
        pooled = jax.ops.segment_sum(embedded, bag, bags).reshape(batch, fields * width)
        x0 = jnp.concatenate([run(p["bottom"], half(numbers)), pooled], -1)
        x = x0
        for cross in p["crosses"]:
            x = x0 * (project(x, cross["w"]) + half(cross["b"])) + x
        logits = run(p["top"], x)[:, 0].astype(jnp.float32)
        return (jnp.logaddexp(0, logits) - logits * clicked).mean()

    inputs = {
        "numbers": Reals((batch, dense)),
        "ids": Indices((bags * hot,), 2**31 - 1),
        "bag": Indices((bags * hot,), bags),
        "clicked": Indices((batch,), 2),
    }
    return Network(init, loss, inputs)


def capacity_experts(
    batch=8, length=1024, width=1024, hidden=4096, layers=8, experts=16, top=2, vocabulary=32000
):
    capacity = length * top * 5 // (4 * experts)
    heads = width // 64

    def init(draw):
        def layer():
            return {
                "norm1": scale_and_shift(width),
                "qkv": draw(width, 3 * width),
                "out": draw(width, width),
                "norm2": scale_and_shift(width),
                "router": draw(width, experts),
                "up": draw(experts, width, hidden, fan_in=width),
                "down": draw(experts, hidden, width, fan_in=hidden),
            }

        return {
            "embed": draw(vocabulary, width, fan_in=width),
            "layers": [layer() for _ in range(layers)],
            "norm": scale_and_shift(width),
        }

    def route(p, x):
        """The experts' output, and the loss that balances them; a row of the batch is a group."""
        gates = jax.nn.softmax(x.astype(jnp.float32) @ p["router"])
        weight, expert = lax.top_k(gates, top)
        chosen = jax.nn.one_hot(expert.swapaxes(1, 2).reshape(batch, -1), experts)
        place = (jnp.cumsum(chosen, 1) - 1) * chosen
        kept = chosen * (place < capacity)
        slot = jax.nn.one_hot(place.sum(-1).astype(jnp.int32), capacity)
        choices = (batch, top, length, experts)
        dispatch = jnp.einsum(
            "gkse,gksc->gksec", kept.reshape(choices), slot.reshape(*choices[:3], capacity)
        )
        combine = half(jnp.einsum("gsk,gksec->gsec", weight, dispatch))
        y = jnp.einsum("gsec,gsd->egcd", half(dispatch.sum(1)), x)
        y = jax.nn.gelu(jnp.einsum("egcd,edf->egcf", y, half(p["up"])))
        y = jnp.einsum("egcf,efd->egcd", y, half(p["down"]))
        balance = experts * (gates.mean((0, 1)) * chosen.mean((0, 1))).sum()
        return jnp.einsum("gsec,egcd->gsd", combine, y), balance

    def loss(p, tokens, targets):
        x, balance = half(p["embed"])[tokens], 0.0
        for layer in p["layers"]:
            y = layer_norm(layer["norm1"], x)
            x = x + self_attention(layer, y, heads, bias=causal_bias(length))
            y, uneven = route(layer, layer_norm(layer["norm2"], x))
            x, balance = x + y, balance + uneven
        logits = project(layer_norm(p["norm"], x), p["embed"].T)
        return cross_entropy(logits, targets) + 0.01 * balance

    return Network(init, loss, language_inputs(batch, length, vocabulary))


def dropout_gpt(batch=8, length=1024, width=1024, layers=12, vocabulary=50304, rate=0.1):
    def init(draw):
        return {
            "embed": draw(vocabulary, width, fan_in=width),
            "position": draw(length, width, fan_in=width),
            "blocks": [init_block(draw, width, 4 * width) for _ in range(layers)],
            "norm": scale_and_shift(width),
        }

    def drop(key, x):
        kept = jax.random.bernoulli(key, 1 - rate, x.shape)
        return jnp.where(kept, x / (1 - rate), 0)

    def loss(p, tokens, targets, key):
        first, *keys = jax.random.split(key, 1 + layers)
        x = drop(first, half(p["embed"])[tokens] + half(p["position"]))
        bias = causal_bias(length)
        for block, of_block in zip(p["blocks"], keys):
            weights, attended, fed = jax.random.split(of_block, 3)
            y = layer_norm(block["norm1"], x)
            y = self_attention(block, y, width // 64, bias=bias, drop=lambda w: drop(weights, w))
            x = x + drop(attended, y)
            x = x + drop(fed, feed_forward(block, layer_norm(block["norm2"], x)))
        return cross_entropy(project(layer_norm(p["norm"], x), p["embed"].T), targets)

    inputs = language_inputs(batch, length, vocabulary) | {"key": RandomKey()}
    return Network(init, loss, inputs)


def dit(batch=48, size=32, channels=4, patch=2, width=1024, layers=24, classes=1000):
    side = size // patch
    heads = width // 64

    def init(draw):
        def layer():
            return {
                "modulation": draw(width, 6 * width, fan_in=100 * width),
                "qkv": draw(width, 3 * width),
                "out": draw(width, width),
                "up": draw(width, 4 * width),
                "down": draw(4 * width, width),
            }

        return {
            "patch": draw(patch * patch * channels, width),
            "position": draw(side * side, width, fan_in=width),
            "time": [draw(256, width), draw(width, width)],
            "class": draw(classes, width, fan_in=width),
            "layers": draw.stack(layers, layer),
            "modulation": draw(width, 2 * width, fan_in=100 * width),
            "out": draw(width, patch * patch * channels),
        }

    def modulated(x, shift, scale):
        return half(standardize(x, -1)) * (1 + scale) + shift

    def patches(x):
        x = x.reshape(batch, side, patch, side, patch, channels).transpose(0, 1, 3, 2, 4, 5)
        return x.reshape(batch, side * side, -1)

    def condition(p, times, labels):
        frequencies = jnp.exp(-math.log(10_000) * jnp.arange(128) / 128)
        angles = times[:, None].astype(jnp.float32) * frequencies
        waves = half(jnp.concatenate([jnp.cos(angles), jnp.sin(angles)], -1))
        x = project(jax.nn.silu(project(waves, p["time"][0])), p["time"][1])
        return jax.nn.silu(x + half(p["class"])[labels])[:, None]

    def loss(p, latents, noise, times, labels):
        level = jnp.cos(times / 1000 * jnp.pi / 2)[:, None, None, None]
        noisy = level * latents + jnp.sqrt(1 - level**2) * noise
        c = condition(p, times, labels)
        x = project(half(patches(noisy)), p["patch"]) + half(p["position"])

        def apply(x, p):
            shift1, scale1, gate1, shift2, scale2, gate2 = jnp.split(
                project(c, p["modulation"]), 6, -1
            )
            x = x + gate1 * self_attention(p, modulated(x, shift1, scale1), heads)
            return x + gate2 * feed_forward(p, modulated(x, shift2, scale2)), None

        x, _ = lax.scan(apply, x, p["layers"])
        shift, scale = jnp.split(project(c, p["modulation"]), 2, -1)
        predicted = project(modulated(x, shift, scale), p["out"]).astype(jnp.float32)
        return jnp.square(predicted - patches(noise)).mean()

    images = Reals((batch, size, size, channels))
    inputs = {
        "latents": images,
        "noise": images,
        "times": Indices((batch,), 1000),
        "labels": Indices((batch,), classes),
    }
    return Network(init, loss, inputs)


def vae(batch=16, size=256, widths=(128, 256, 512, 512), depth=2, latent=4):
    def init(draw):
        def residual(channels, width):
            block = {
                "norm1": scale_and_shift(channels),
                "kernel1": draw(3, 3, channels, width),
                "norm2": scale_and_shift(width),
                "kernel2": draw(3, 3, width, width),
            }
            if channels != width:
                block["short"] = draw(1, 1, channels, width)
            return block

        def levels(sizes, count):
            made, channels = [], sizes[0]
            for width in sizes:
                blocks = [residual(i, width) for i in (channels, *[width] * (count - 1))]
                made.append({"blocks": blocks, "resize": draw(3, 3, width, width)})
                channels = width
            return made

        return {
            "in": draw(3, 3, 3, widths[0]),
            "down": levels(widths, depth),
            "moments": draw(3, 3, widths[-1], 2 * latent),
            "latent": draw(3, 3, latent, widths[-1]),
            "up": levels(widths[::-1], depth + 1),
            "norm": scale_and_shift(widths[0]),
            "out": draw(3, 3, widths[0], 3),
        }

    def apply(p, x):
        y = convolve(jax.nn.silu(group_norm(p["norm1"], x, 32)), p["kernel1"])
        y = convolve(jax.nn.silu(group_norm(p["norm2"], y, 32)), p["kernel2"])
        return y + (convolve(x, p["short"]) if "short" in p else x)

    def loss(p, images, key):
        x = convolve(half(images), p["in"])
        for index, level in enumerate(p["down"]):
            for block in level["blocks"]:
                x = apply(block, x)
            x = convolve(x, level["resize"], 2 if index + 1 < len(widths) else 1)
        mean, log_variance = jnp.split(convolve(x, p["moments"]).astype(jnp.float32), 2, -1)
        log_variance = jnp.clip(log_variance, -30, 20)
        z = mean + jnp.exp(log_variance / 2) * jax.random.normal(key, mean.shape)
        x = convolve(half(z), p["latent"])
        for index, level in enumerate(p["up"]):
            for block in level["blocks"]:
                x = apply(block, x)
            if index + 1 < len(widths):
                b, h, w, c = x.shape
                x = jax.image.resize(x, (b, 2 * h, 2 * w, c), "nearest")
            x = convolve(x, level["resize"])
        x = convolve(jax.nn.silu(group_norm(p["norm"], x, 32)), p["out"]).astype(jnp.float32)
        divergence = (jnp.square(mean) + jnp.exp(log_variance) - 1 - log_variance).mean() / 2
        return jnp.square(x - images).mean() + 1e-4 * divergence

    return Network(init, loss, {"images": Reals((batch, size, size, 3)), "key": RandomKey()})


def rnnt(
    batch=16, frames=400, labels=50, features=80, width=1024, layers=4, joint=640, vocabulary=1024
):
    def init(draw):
        sizes = [2 * features] + [width] * layers
        return {
            "encoder": [
                {"w": draw(i, 4 * width), "u": draw(width, 4 * width), "b": jnp.zeros(4 * width)}
                for i in sizes[:-1]
            ],
            "embed": draw(vocabulary, joint, fan_in=joint),
            "predictor": {"w": draw(joint, 3 * joint), "u": draw(joint, 3 * joint)},
            "from_encoder": draw(width, joint),
            "from_predictor": draw(joint, joint),
            "out": draw(joint, vocabulary),
        }

    def lstm(p, x):
        u = half(p["u"])

        def cell(carry, now):
            h, c = carry
            i, f, g, o = jnp.split(now + h @ u, 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = jnp.zeros((batch, width), jnp.bfloat16)
        return lax.scan(cell, (start, start), project(x, p["w"]) + half(p["b"]))[1]

    def gru(p, x):
        u = half(p["u"])

        def cell(h, now):
            (r, z, n), (hr, hz, hn) = jnp.split(now, 3, -1), jnp.split(h @ u, 3, -1)
            z = jax.nn.sigmoid(z + hz)
            h = (1 - z) * jnp.tanh(n + jax.nn.sigmoid(r + hr) * hn) + z * h
            return h, h

        return lax.scan(cell, jnp.zeros((batch, joint), jnp.bfloat16), project(x, p["w"]))[1]

    def skewed(x):
        """[batch, time, label] as [time + label, batch, label], a row for each anti-diagonal."""
        b, t, u = x.shape
        x = jnp.pad(x.swapaxes(1, 2), ((0, 0), (0, 0), (0, u)), constant_values=-1e30)
        x = x.reshape(b, -1)[:, : u * (t + u - 1)].reshape(b, u, t + u - 1)
        return x.transpose(2, 0, 1)

    def transducer(blank, emit):
        """Minus the log of the sum over all alignments; emit's last label is never used."""

        def advance(alpha, now):
            blank, emit = now
            moved = jnp.pad((alpha + emit)[:, :-1], ((0, 0), (1, 0)), constant_values=-1e30)
            return jnp.logaddexp(alpha + blank, moved), None

        start = jnp.full(blank.shape[::2], -1e30).at[:, 0].set(0)
        rows = skewed(blank), skewed(emit)
        alpha, _ = lax.scan(advance, start, rows)
        return -alpha[:, -1]

    def loss(p, spectra, targets):
        x = half(spectra).reshape(batch, frames // 2, -1).swapaxes(0, 1)
        for layer in p["encoder"]:
            x = lstm(layer, x)
        encoded = project(x, p["from_encoder"]).swapaxes(0, 1)
        previous = jnp.pad(targets, ((0, 0), (1, 0)))
        y = gru(p["predictor"], half(p["embed"])[previous].swapaxes(0, 1))
        predicted = project(y, p["from_predictor"]).swapaxes(0, 1)
        hidden = jnp.tanh(encoded[:, :, None] + predicted[:, None])
        scores = jax.nn.log_softmax(project(hidden, p["out"]).astype(jnp.float32))
        wanted = jnp.pad(targets, ((0, 0), (0, 1)))[:, None, :, None]
        emit = jnp.take_along_axis(scores, wanted, -1)[..., 0]
        return transducer(scores[..., 0], emit).mean() / labels

    inputs = {
        "spectra": Reals((batch, frames, features)),
        "targets": Indices((batch, labels), vocabulary),
    }
    return Network(init, loss, inputs)


NETWORKS = {
    make.__name__: make
    for make in (
        resnet50,
        convnext,
        swin,
        unet3d,
        gat,
        graphsage,
        mamba2,
        rwkv,
        wav2vec,
        fnet,
        dlrm_hashed,
        capacity_experts,
        dropout_gpt,
        dit,
        vae,
        rnnt,
    )
}


def training_step(loss, rate=1e-4, decay1=0.9, decay2=0.99):
    """A step of Adam over (parameters, first moments, second moments, count)."""

    def step(state, *batch):
        parameters, first, second, count = state
        value, gradients = jax.value_and_grad(loss)(parameters, *batch)
        count = count + 1
        first = jax.tree.map(lambda m, g: decay1 * m + (1 - decay1) * g, first, gradients)
        second = jax.tree.map(lambda v, g: decay2 * v + (1 - decay2) * g * g, second, gradients)

        def update(x, m, v):
            unbiased = m / (1 - decay1**count)
            return x - rate * unbiased / (jnp.sqrt(v / (1 - decay2**count)) + 1e-8)

        parameters = jax.tree.map(update, parameters, first, second)
        return (parameters, first, second, count), value

    return step


def initial_state(network):
    parameters = network.init(Draw(jax.random.key(0)))
    first, second = (jax.tree.map(jnp.zeros_like, parameters) for _ in range(2))
    return parameters, first, second, jnp.float32(0)


def random_batch(network):
    batch = []
    for index, kind in enumerate(network.inputs.values()):
        key = jax.random.fold_in(jax.random.key(1), index)
        if isinstance(kind, Indices):
            key = jax.random.randint(key, kind.shape, 0, kind.bound)
        elif isinstance(kind, Reals):
            key = jax.random.normal(key, kind.shape)
        batch.append(key)
    return batch


def lower(network, platforms=None):
    state = jax.eval_shape(lambda: initial_state(network))
    batch = jax.eval_shape(lambda: random_batch(network))
    step = jax.jit(training_step(network.loss), donate_argnums=0)
    return step.trace(state, *batch).lower(lowering_platforms=platforms)


def measure(network, lowered):
    """A row's measurements: of one executable, its memory and the seconds of its steps."""
    executable = lowered.compile()
    analysis = executable.memory_analysis()
    state = jax.jit(lambda: initial_state(network))()
    batch = jax.jit(lambda: random_batch(network))()
    row = {
        "params": sum(x.size for x in jax.tree.leaves(state[0])),
        "device": jax.devices()[0].device_kind,
        "jax": jax.__version__,
    }
    seconds = []
    for _ in range(WARM_UP_STEPS + TIMED_STEPS):
        start = time.perf_counter()
        state, loss = jax.block_until_ready(executable(state, *batch))
        seconds.append(time.perf_counter() - start)
    seconds = seconds[WARM_UP_STEPS:]
    return row | {
        "step_s": statistics.median(seconds),
        "min_s": min(seconds),
        "max_s": max(seconds),
        "mem": {field: getattr(analysis, field) for field in MEMORY_FIELDS},
        "loss": float(loss),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=pathlib.Path, help="folder of what is written")
    parser.add_argument("names", nargs="*", metavar="NAME", help="networks; none: all")
    parser.add_argument("--lower", action="store_true", help="writes programs only; needs no GPU")
    options = parser.parse_args()
    unknown = set(options.names) - set(NETWORKS)
    if unknown:
        parser.error(f"no networks: {', '.join(sorted(unknown))}")
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names or NETWORKS:
        try:
            network = NETWORKS[name]()
            lowered = lower(network, ("cuda",) if options.lower else None)
            text = lowered.as_text().encode()
            (options.out / f"{name}.mlir.gz").write_bytes(gzip.compress(text, mtime=0))
            if not options.lower:
                line = json.dumps({"name": name} | measure(network, lowered))
                with open(options.out / "zoo.jsonl", "a") as rows:
                    rows.write(f"{line}\n")
                print(line, flush=True)
        except Exception as error:
            print(f"{name}: {error!r:.600}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
