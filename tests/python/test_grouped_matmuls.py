"""Experts whose tokens are sorted by expert and multiplied by group (jax.lax.ragged_dot)."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import meshwright as mw

WIDTH, FFN, EXPERTS, CHOSEN, TOKENS = 64, 256, 8, 2, 512


def layer(weights, x):
    gates, expert = lax.top_k(jax.nn.softmax(x @ weights["router"]), CHOSEN)
    expert = expert.reshape(-1)
    order = jnp.argsort(expert)
    sizes = jnp.bincount(expert, length=EXPERTS).astype(jnp.int32)
    h = jax.nn.gelu(lax.ragged_dot(x[order // CHOSEN], weights["up"], sizes))
    y = lax.ragged_dot(h, weights["down"], sizes)
    y = jnp.zeros((TOKENS * CHOSEN, WIDTH)).at[order].set(y).reshape(TOKENS, CHOSEN, WIDTH)
    return x + (y * gates[..., None]).sum(1)


def step(layers, x, y):
    def loss(layers):
        h = x
        for weights in layers:
            h = layer(weights, h)
        return jnp.mean((h - y) ** 2)

    value, gradients = jax.value_and_grad(loss)(layers)
    return jax.tree.map(lambda w, g: w - 0.1 * g, layers, gradients), value


def arguments():
    generator = np.random.default_rng(0)

    def make(*shape):
        return jnp.asarray(generator.normal(size=shape) / np.sqrt(shape[-2]), jnp.float32)

    layers = [
        {
            "router": make(WIDTH, EXPERTS),
            "up": make(EXPERTS, WIDTH, FFN),
            "down": make(EXPERTS, FFN, WIDTH),
        }
        for _ in range(2)
    ]
    return layers, make(TOKENS, WIDTH), make(TOKENS, WIDTH)


def plan_step(**options):
    fn = jax.jit(step, donate_argnums=0)
    return mw.plan(fn, *arguments(), cluster="8xh100-sxm", mesh="x=8", deadline=5, **options)


def expert_specs(plan):
    rows = [row for row in plan.parameters if row["name"].endswith(("['up']", "['down']"))]
    assert len(rows) == 4
    return [row["spec"] for row in rows]


def test_experts_that_data_parallelism_has_no_memory_for():
    plan = plan_step(memory="5MiB")  # weights and gradients on every device: 4 MiB
    assert all(spec.count(["x"]) == 1 for spec in expert_specs(plan))
    size = EXPERTS * WIDTH * FFN * 4
    gathered = [row for row in plan.collectives if row["kind"] == "all-gather"]
    assert all(row["bytes_per_device"] < size for row in gathered), "no experts are gathered"
    report = plan.verify(repeats=0)
    assert report.passed, report


def test_devices_with_experts_of_their_own():
    plan = plan_step(fix={"*up*": "[x,_,_]", "*down*": "[x,_,_]"})
    assert expert_specs(plan) == [[["x"], [], []]] * 4
    report = plan.verify(repeats=0)
    assert report.passed, report
