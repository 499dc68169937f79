"""Small training steps of each family of models, with inputs on which rounding decides nothing."""

import jax
import jax.numpy as jnp
import numpy as np


def bf16(x):
    return x.astype(jnp.bfloat16)


def norm(x, gain):
    x = x.astype(jnp.float32)
    return bf16(x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gain)


def attention(w, x, heads, kv_heads):
    b, s, h = x.shape
    if "wqkv" in w:  # one behind the other
        qkv = (x @ bf16(w["wqkv"])).reshape(b, s, 3, heads, 1, h // heads)
        q, k, v = qkv[:, :, 0], qkv[:, :, 1, :, 0], qkv[:, :, 2, :, 0]
    elif "whqkv" in w:  # of each head side by side
        qkv = (x @ bf16(w["whqkv"])).reshape(b, s, heads, 3, h // heads)
        q, k, v = qkv[..., :1, :], qkv[..., 1, :], qkv[..., 2, :]
    else:
        q = (x @ bf16(w["wq"])).reshape(b, s, kv_heads, heads // kv_heads, h // heads)
        k = (x @ bf16(w["wk"])).reshape(b, s, kv_heads, h // heads)
        v = (x @ bf16(w["wv"])).reshape(b, s, kv_heads, h // heads)
    scores = jnp.einsum("bqkgd,bskd->bkgqs", q, k).astype(jnp.float32)
    scores = jnp.where(jnp.tril(jnp.ones((s, s), bool)), scores, -1e9)
    mixed = jnp.einsum("bkgqs,bskd->bqkgd", bf16(jax.nn.softmax(scores, -1)), v)
    return mixed.reshape(b, s, h) @ bf16(w["wo"])


def cross_entropies(logits, labels):
    logits = logits.astype(jnp.float32)
    picked = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return jax.nn.logsumexp(logits, -1) - picked


def cross_entropy(logits, labels):
    return cross_entropies(logits, labels).mean()


def accumulated(gradients, parts):
    """`gradients` of a batch in so many parts: the means of the parts' values and gradients."""

    def mean(params, *batch):
        def add(total, part):
            return jax.tree.map(jnp.add, total, gradients(params, *part)), None

        apart = jax.tree.map(lambda x: x.reshape(parts, -1, *x.shape[1:]), batch)
        zero = jnp.float32(0), jax.tree.map(jnp.zeros_like, params)
        total, _ = jax.lax.scan(add, zero, apart)
        return jax.tree.map(lambda x: x / parts, total)

    return gradients if parts == 1 else mean


def adam(loss, parts=1):
    gradients = accumulated(jax.value_and_grad(loss), parts)

    def step(state, *batch):
        params, mean, square, count = state
        value, grads = gradients(params, *batch)
        count = count + 1
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, grads)
        square = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, square, grads)
        params = jax.tree.map(
            lambda p, m, v: p - 1e-2 * (m / (1 - 0.9**count)) / (jnp.sqrt(v) + 1e-8),
            params,
            mean,
            square,
        )
        return (params, mean, square, count), value

    return step


def steps(step, arguments, count):
    """So many steps as one program, all with the same batch."""
    state, *batch = arguments
    batches = jax.tree.map(lambda x: jnp.stack([x] * count), batch)

    def run(state, *batches):
        return jax.lax.scan(lambda state, batch: step(state, *batch), state, batches)

    return run, (state, *batches)


def _weights(generator, shapes):
    def make(shape):
        return jnp.asarray(0.1 * generator.standard_normal(shape), jnp.float32)

    return jax.tree.map(make, shapes, is_leaf=lambda x: isinstance(x, tuple))


def _state(generator, params):
    """Second moments away from zero: a gradient near zero must not turn an update around."""

    def positive(p):
        return jnp.asarray(generator.uniform(0.5, 1.0, p.shape), jnp.float32)

    mean = jax.tree.map(lambda p: 0.1 * positive(p), params)
    return params, mean, jax.tree.map(positive, params), jnp.float32(3)


def _attention_shapes(h, kv, fused=None):
    rest = {"wo": (h, h), "n1": (h,), "n2": (h,)}
    if fused is not None:
        return {fused: (h, 3 * h), **rest}
    return {"wq": (h, h), "wk": (h, kv), "wv": (h, kv), **rest}


def mlp(generator, layers=4, h=64, batch=32):
    """Plain gradient descent."""

    def loss(params, x, y):
        for w in params[:-1]:
            x = jax.nn.relu(x @ w)
        return ((x @ params[-1] - y) ** 2).mean()

    def step(params, x, y):
        value, grads = jax.value_and_grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), value

    x, y = generator.standard_normal((2, batch, h)).astype(np.float32)
    return step, (_weights(generator, [(h, h)] * layers), x, y)


def gpt(generator, h=32, heads=4, vocab=64, length=16, batch=8, parts=1, fused=None):
    """`fused`: the name of one weight for queries, keys and values, see attention()."""
    shapes = {"embed": (vocab, h), "pos": (length, h), "head": (h, vocab), "norm": (h,)}
    shapes["layer"] = {"up": (h, 4 * h), "down": (4 * h, h), **_attention_shapes(h, h, fused)}

    def loss(params, text, labels):
        w = params["layer"]
        x = bf16(params["embed"])[text] + bf16(params["pos"])
        x = x + attention(w, norm(x, w["n1"]), heads, heads)
        x = x + jax.nn.gelu(norm(x, w["n2"]) @ bf16(w["up"])) @ bf16(w["down"])
        return cross_entropy(norm(x, params["norm"]) @ bf16(params["head"]), labels)

    text, labels = generator.integers(0, vocab, (2, batch, length), np.int32)
    return adam(loss, parts), (_state(generator, _weights(generator, shapes)), text, labels)


def _biased(w, x, name):
    return x @ bf16(w[name]) + bf16(w[name + "_b"])


def _heads(x, heads):
    batch, length, h = x.shape
    return x.reshape(batch, length, heads, h // heads)


def bert(generator, layers=2, h=32, heads=4, vocab=64, length=16, batch=8):
    """An encoder with biases, normalised behind each part, that predicts masked tokens."""
    shapes = {"embed": (vocab, h), "pos": (length, h), "head": (h, vocab)}
    layer_shapes = {"up": (h, 4 * h), "up_b": (4 * h,), "down": (4 * h, h), "down_b": (h,)}
    layer_shapes |= {f"w{n}": (h, h) for n in "qkvo"} | {f"w{n}_b": (h,) for n in "qkvo"}
    layer_shapes |= {"n1": (h,), "n2": (h,)}
    shapes |= {f"layer{i}": layer_shapes for i in range(layers)}

    def loss(params, text, labels, shown):
        x = bf16(params["embed"])[text] + bf16(params["pos"])
        for i in range(layers):
            w = params[f"layer{i}"]
            q, k, v = (_heads(_biased(w, x, f"w{n}"), heads) for n in "qkv")
            scores = jnp.einsum("bqhd,bshd->bhqs", q, k).astype(jnp.float32)
            odds = bf16(jax.nn.softmax(jnp.where(shown[:, None, None, :], scores, -1e9), -1))
            mixed = jnp.einsum("bhqs,bshd->bqhd", odds, v).reshape(x.shape)
            x = norm(x + _biased(w, mixed, "wo"), w["n1"])
            x = norm(x + _biased(w, jax.nn.gelu(_biased(w, x, "up")), "down"), w["n2"])
        return cross_entropy(x @ bf16(params["head"]), labels)

    text, labels = generator.integers(0, vocab, (2, batch, length), np.int32)
    shown = generator.integers(0, 2, (batch, length)).astype(bool)
    return adam(loss), (_state(generator, _weights(generator, shapes)), text, labels, shown)


def t5(generator, layers=2, h=32, heads=4, vocab=64, length=16, batch=8):
    """An encoder and a decoder that attends to it, with biases by relative position."""
    attention_shapes = {f"w{n}": (h, h) for n in "qkvo"}
    crossed = {f"c{n}": (h, h) for n in "qkvo"}
    rest = {"up": (h, 4 * h), "down": (4 * h, h), "n1": (h,), "n2": (h,)}
    shapes = {"embed": (vocab, h), "head": (h, vocab), "near": (heads, length, length)}
    shapes |= {f"encoder{i}": attention_shapes | rest for i in range(layers)}
    shapes |= {
        f"decoder{i}": attention_shapes | crossed | rest | {"n3": (h,)} for i in range(layers)
    }

    def attend(w, x, source, prefix, bias):
        q = _heads(x @ bf16(w[prefix + "q"]), heads)
        k, v = (_heads(source @ bf16(w[prefix + n]), heads) for n in "kv")
        scores = jnp.einsum("bqhd,bshd->bhqs", q, k).astype(jnp.float32) + bias
        mixed = jnp.einsum("bhqs,bshd->bqhd", bf16(jax.nn.softmax(scores, -1)), v)
        return mixed.reshape(x.shape) @ bf16(w[prefix + "o"])

    def feed(w, x):
        return jax.nn.relu(norm(x, w["n2"]) @ bf16(w["up"])) @ bf16(w["down"])

    def loss(params, source, text, labels):
        near = params["near"][None]
        y = bf16(params["embed"])[source]
        for i in range(layers):
            w = params[f"encoder{i}"]
            z = norm(y, w["n1"])
            y = y + attend(w, z, z, "w", near)
            y = y + feed(w, y)
        x = bf16(params["embed"])[text]
        causal = jnp.where(jnp.tril(jnp.ones((length, length), bool)), near, -1e9)
        for i in range(layers):
            w = params[f"decoder{i}"]
            z = norm(x, w["n1"])
            x = x + attend(w, z, z, "w", causal)
            x = x + attend(w, norm(x, w["n3"]), y, "c", 0)
            x = x + feed(w, x)
        return cross_entropy(x @ bf16(params["head"]), labels)

    batches = generator.integers(0, vocab, (3, batch, length), np.int32)
    return adam(loss), (_state(generator, _weights(generator, shapes)), *batches)


def scan(generator, **sizes):
    """LLaMA with scanned and recomputed layers."""
    return llama(generator, scanned=True, **sizes)


def llama(
    generator,
    layers=2,
    h=32,
    heads=4,
    kv_heads=2,
    ffn=64,
    vocab=64,
    length=16,
    batch=8,
    scanned=False,
    parts=1,
):
    """Shared key and value heads, gated layers."""
    layer_shapes = {"gate": (h, ffn), "up": (h, ffn), "down": (ffn, h)}
    layer_shapes |= _attention_shapes(h, h // heads * kv_heads)
    stacked = {name: (layers, *shape) for name, shape in layer_shapes.items()}
    shapes = {"embed": (vocab, h), "head": (h, vocab), "norm": (h,), "layers": stacked}

    def layer(x, w):
        x = x + attention(w, norm(x, w["n1"]), heads, kv_heads)
        y = norm(x, w["n2"])
        return x + (jax.nn.silu(y @ bf16(w["gate"])) * (y @ bf16(w["up"]))) @ bf16(w["down"]), None

    def loss(params, text, labels):
        x = bf16(params["embed"])[text]
        if scanned:
            x, _ = jax.lax.scan(jax.checkpoint(layer), x, params["layers"])
        else:
            for number in range(layers):
                x, _ = layer(x, jax.tree.map(lambda w, n=number: w[n], params["layers"]))
        return cross_entropy(norm(x, params["norm"]) @ bf16(params["head"]), labels)

    text, labels = generator.integers(0, vocab, (2, batch, length), np.int32)
    return adam(loss, parts), (_state(generator, _weights(generator, shapes)), text, labels)


def moe(generator, h=32, ffn=64, experts=8, group=32, vocab=64, length=16, batch=8):
    """Experts with a capacity, dispatched by products as in GShard."""
    shapes = {"embed": (vocab, h), "head": (h, vocab), "router": (h, experts)}
    shapes |= {"up": (experts, h, ffn), "down": (experts, ffn, h)}
    capacity = 2 * group // experts

    def loss(params, text, labels):
        x = bf16(params["embed"])[text].reshape(-1, group, h)
        odds = jax.nn.softmax((x @ bf16(params["router"])).astype(jnp.float32), -1)
        # Routed by position: a router's choice between near equals would hang on rounding.
        chosen = jnp.broadcast_to(jax.nn.one_hot(jnp.arange(group) % experts, experts), odds.shape)
        place = ((jnp.cumsum(chosen, 1) - 1) * chosen).sum(-1).astype(jnp.int32)
        dispatch = jax.nn.one_hot(place, capacity)[:, :, None, :] * chosen[..., None]
        combine = bf16(dispatch * (odds * chosen).sum(-1)[..., None, None])
        y = jnp.einsum("gtec,gth->egch", bf16(dispatch), x)
        y = jax.nn.gelu(jnp.einsum("egch,ehf->egcf", y, bf16(params["up"])))
        y = jnp.einsum("egcf,efh->egch", y, bf16(params["down"]))
        x = (x + jnp.einsum("gtec,egch->gth", combine, y)).reshape(batch, length, h)
        return cross_entropy(x @ bf16(params["head"]), labels)

    text, labels = generator.integers(0, vocab, (2, batch, length), np.int32)
    return adam(loss), (_state(generator, _weights(generator, shapes)), text, labels)


def wide_resnet(generator, filters=8, classes=16, image=16, batch=8):
    """A stem and one block that halves the image, batch statistics, momentum."""
    shapes = {"stem": (3, 3, 3, filters), "middle": (3, 3, filters, 2 * filters)}
    shapes |= {"expand": (1, 1, 2 * filters, 4 * filters), "shortcut": (1, 1, filters, 4 * filters)}
    shapes |= {"head": (4 * filters, classes)}

    def convolve(x, kernel, stride=1):
        x = jax.lax.conv_general_dilated(
            x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        mean = x.mean((0, 1, 2))
        return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean((0, 1, 2)) + 1e-2)

    def loss(params, images, labels):
        x = jax.nn.relu(convolve(images, params["stem"]))
        y = convolve(jax.nn.relu(convolve(x, params["middle"], 2)), params["expand"])
        x = jax.nn.relu(y + convolve(x, params["shortcut"], 2))
        return cross_entropy(x.mean((1, 2)) @ params["head"], labels)

    def step(state, images, labels):
        params, momentum = state
        value, grads = jax.value_and_grad(loss)(params, images, labels)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
        return (jax.tree.map(lambda p, m: p - 0.1 * m, params, momentum), momentum), value

    params = _weights(generator, shapes)
    images = generator.standard_normal((batch, image, image, 3)).astype(np.float32)
    labels = generator.integers(0, classes, batch, np.int32)
    return step, ((params, jax.tree.map(jnp.zeros_like, params)), images, labels)
