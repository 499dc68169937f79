"""The same training step written in PyTorch and in JAX, planned for the same mesh: what both plans cost.

    python bench/torch/same_in_jax.py [MODEL...] [--meshes 8 2x4]

GPT-2 and a Llama of transformers with AdamW, attention with scores in memory, and functions of JAX that compute
the same, of which --check computes losses. Needs transformers and jax. Exits with 1 where steps differ by
more than 2 %.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import torch
import transformers

import meshwright as mw

BATCH, LENGTH, WORDS, WIDTH, LAYERS, HEADS, GROUPS, INNER = 64, 1024, 8192, 1024, 4, 16, 8, 4096
IDS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
RATE, BETAS, EPS, DECAY = 1e-3, (0.9, 0.999), 1e-8, 1e-2


def gpt2() -> Any:
    config = transformers.GPT2Config(
        n_layer=LAYERS, n_embd=WIDTH, n_head=HEADS, vocab_size=WORDS, n_positions=LENGTH,
        attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, attn_implementation="eager", **IDS,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel._from_config(config, attn_implementation="eager").train()


def llama() -> Any:
    config = transformers.LlamaConfig(
        hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_key_value_heads=GROUPS,
        intermediate_size=INNER, vocab_size=WORDS, max_position_embeddings=LENGTH, **IDS,
    )  # fmt: skip
    return transformers.LlamaForCausalLM._from_config(config, attn_implementation="eager").train()


def attention(q: Any, k: Any, v: Any) -> Any:
    """Of [batch, heads, length, depth], causal, with scores in memory."""
    scores = q @ k.swapaxes(-1, -2) / q.shape[-1] ** 0.5
    seen = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jax.nn.softmax(jnp.where(seen, scores, jnp.finfo(scores.dtype).min), -1) @ v


def heads(x: Any, count: int) -> Any:
    return x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2)


def merged(x: Any) -> Any:
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def next_word_loss(scores: Any, ids: Any) -> Any:
    """As transformers has it: labels are moved and the last has none."""
    labels = jnp.pad(ids[:, 1:], ((0, 0), (0, 1)), constant_values=-100)
    picked = jnp.take_along_axis(scores, jnp.maximum(labels, 0)[..., None], -1)[..., 0]
    losses = jax.nn.logsumexp(scores, -1) - picked
    return jnp.where(labels >= 0, losses, 0).sum() / (labels >= 0).sum()


def layer_norm(x: Any, w: dict[str, Any], name: str) -> Any:
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    normal = (x - mean) * jax.lax.rsqrt(variance + 1e-5)
    return normal * w[f"{name}.weight"] + w[f"{name}.bias"]


def gpt2_loss(w: dict[str, Any], ids: Any) -> Any:
    def dense(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"] + w[f"{name}.bias"]

    x = w["transformer.wte.weight"][ids] + w["transformer.wpe.weight"][: ids.shape[1]]
    for i in range(LAYERS):
        at = f"transformer.h.{i}"
        qkv = jnp.split(dense(layer_norm(x, w, f"{at}.ln_1"), f"{at}.attn.c_attn"), 3, -1)
        seen = attention(*(heads(part, HEADS) for part in qkv))
        x = x + dense(merged(seen), f"{at}.attn.c_proj")
        inner = dense(layer_norm(x, w, f"{at}.ln_2"), f"{at}.mlp.c_fc")
        x = x + dense(jax.nn.gelu(inner, approximate=True), f"{at}.mlp.c_proj")
    x = layer_norm(x, w, "transformer.ln_f")
    return next_word_loss(x @ w["transformer.wte.weight"].T, ids)


def llama_loss(w: dict[str, Any], ids: Any) -> Any:
    def dense(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"].T

    def norm(x: Any, name: str) -> Any:
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w[f"{name}.weight"]

    depth = WIDTH // HEADS
    rates = 1.0 / 10000.0 ** (jnp.arange(0, depth, 2) / depth)
    angles = jnp.arange(ids.shape[1])[:, None] * jnp.tile(rates, 2)

    def turned(x: Any) -> Any:
        half = jnp.concatenate([-x[..., depth // 2 :], x[..., : depth // 2]], -1)
        return x * jnp.cos(angles) + half * jnp.sin(angles)

    x = w["model.embed_tokens.weight"][ids]
    for i in range(LAYERS):
        at = f"model.layers.{i}"
        y = norm(x, f"{at}.input_layernorm")
        q, k, v = (
            heads(dense(y, f"{at}.self_attn.{name}_proj"), count)
            for name, count in (("q", HEADS), ("k", GROUPS), ("v", GROUPS))
        )
        k, v = (jnp.repeat(each, HEADS // GROUPS, 1) for each in (turned(k), v))
        x = x + dense(merged(attention(turned(q), k, v)), f"{at}.self_attn.o_proj")
        y = norm(x, f"{at}.post_attention_layernorm")
        inner = jax.nn.silu(dense(y, f"{at}.mlp.gate_proj")) * dense(y, f"{at}.mlp.up_proj")
        x = x + dense(inner, f"{at}.mlp.down_proj")
    return next_word_loss(dense(norm(x, "model.norm"), "lm_head"), ids)


def jax_step(loss_of: Any) -> Any:
    """With AdamW as torch has it."""

    def step(w: Any, state: Any, rate: Any, ids: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(w, ids)
        new_w, new_state = {}, {}
        for name, g in gradients.items():
            count, first, second = state[name]
            count = count + 1
            first = BETAS[0] * first + (1 - BETAS[0]) * g
            second = BETAS[1] * second + (1 - BETAS[1]) * g * g
            size = jnp.sqrt(second) / jnp.sqrt(1 - BETAS[1] ** count) + EPS
            moved = rate / (1 - BETAS[0] ** count) * first / size
            new_w[name] = w[name] * (1 - rate * DECAY) - moved
            new_state[name] = (count, first, second)
        return loss, new_w, new_state

    return step


MODELS = {"GPT-2": (gpt2, gpt2_loss), "Llama": (llama, llama_loss)}


def jax_weights(module: Any) -> dict[str, Any]:
    return {name: jnp.asarray(x.detach().numpy()) for name, x in module.named_parameters()}


def both(name: str, mesh: str) -> tuple[Any, Any]:
    """Plans of the step in PyTorch and in JAX."""
    make, loss_of = MODELS[name]
    module = make()
    ids = torch.randint(1, WORDS, (BATCH, LENGTH))
    given: dict[str, Any] = {"cluster": "8xh100-sxm", "mesh": mesh}
    optimizer = torch.optim.AdamW(module.parameters(), lr=RATE)
    w = jax_weights(module)
    w = {key: jax.ShapeDtypeStruct(x.shape, x.dtype) for key, x in w.items()}
    number = jax.ShapeDtypeStruct((), jnp.float32)
    state = {key: (number, x, x) for key, x in w.items()}
    arguments = (w, state, number, jax.ShapeDtypeStruct(ids.shape, jnp.int32))
    step = jax.jit(jax_step(loss_of), donate_argnums=(0, 1))

    inputs = {"input_ids": ids, "labels": ids}
    ours = mw.torch.plan(module, inputs, optimizer=optimizer, **given)
    return ours, mw.plan(step, *arguments, **given)


def check() -> None:
    """Losses of both, which are the same."""
    for name, (make, loss_of) in MODELS.items():
        torch.manual_seed(0)
        module = make()
        ids = torch.randint(1, WORDS, (2, 32))
        theirs = float(loss_of(jax_weights(module), jnp.asarray(ids.numpy(), jnp.int32)))
        print(name, module(input_ids=ids, labels=ids).loss.item(), theirs)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--meshes", nargs="+", default=["8", "2x4"])
    parser.add_argument("--check", action="store_true", help="compute the losses only")
    asked = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if asked.check:
        check()
        return 0
    print("| model | mesh | PyTorch, ms | JAX, ms | difference | collectives | of JAX |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    worst = 0.0
    for name in asked.models or MODELS:
        for mesh in asked.meshes:
            plans = both(name, mesh)
            a, b = (plan.step_seconds for plan in plans)
            worst = max(worst, abs(a / b - 1))
            counts = [sum(row["count"] for row in plan.collectives) for plan in plans]
            print(
                f"| {name} | {mesh} | {1e3 * a:.2f} | {1e3 * b:.2f} | {100 * (a / b - 1):+.1f} % | "
                f"{counts[0]} | {counts[1]} |",
                flush=True,
            )
    return 0 if worst <= 0.02 else 1


if __name__ == "__main__":
    sys.exit(main())
