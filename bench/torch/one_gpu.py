"""Training steps of PyTorch on one GPU: planned, and measured eager and compiled.

    python bench/torch/one_gpu.py plan predictions.json [MODEL...] [--cluster 1xh200]
    python bench/torch/one_gpu.py measure predictions.json          # on the GPU; needs no meshwright

Models of transformers in bf16 with AdamW and fused attention. `measure` prints a table: the step's time (median of
ten, with CUDA's events) and the most memory that PyTorch's allocator held, beside what was planned. Needs transformers.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers

WARM, STEPS = 6, 10
IDS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}


def words(samples: int, length: int, count: int) -> dict[str, torch.Tensor]:
    ids = torch.randint(1, count, (samples, length))
    return {"input_ids": ids, "labels": ids}


def llama() -> Any:
    config = transformers.LlamaConfig(
        hidden_size=2048, num_hidden_layers=8, num_attention_heads=32, num_key_value_heads=8,
        intermediate_size=8192, vocab_size=32000, max_position_embeddings=2048, use_cache=False, **IDS,
    )  # fmt: skip
    return transformers.LlamaForCausalLM, config, words(4, 2048, 32000)


def gpt2() -> Any:
    config = transformers.GPT2Config(
        n_layer=12, n_embd=1280, n_head=20, vocab_size=50304, n_positions=1024, use_cache=False,
        attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, **IDS,
    )  # fmt: skip
    return transformers.GPT2LMHeadModel, config, words(8, 1024, 50304)


def bert() -> Any:
    config = transformers.BertConfig(
        hidden_size=1024, num_hidden_layers=12, num_attention_heads=16, intermediate_size=4096,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, pad_token_id=0,
    )  # fmt: skip
    return transformers.BertForMaskedLM, config, words(16, 512, config.vocab_size)


def vit() -> Any:
    config = transformers.ViTConfig(
        hidden_size=1024, num_hidden_layers=12, num_attention_heads=16, intermediate_size=4096, num_labels=1000,
    )  # fmt: skip
    images = torch.randn(64, 3, 224, 224, dtype=torch.bfloat16)
    labels = torch.randint(0, 1000, (64,))
    return (
        transformers.ViTForImageClassification,
        config,
        {"pixel_values": images, "labels": labels},
    )


MODELS: dict[str, Callable[[], Any]] = {"llama": llama, "gpt2": gpt2, "bert": bert, "vit": vit}


def made(name: str, device: str) -> tuple[Any, Any, dict[str, torch.Tensor]]:
    """The module, its optimizer and its inputs."""
    torch.manual_seed(0)
    kind, config, inputs = MODELS[name]()
    with torch.device(device):
        module = kind._from_config(config, attn_implementation="sdpa", dtype=torch.bfloat16).train()
    return module, torch.optim.AdamW(module.parameters(), lr=1e-3), inputs


def plan(path: Path, names: list[str], cluster: str) -> None:
    import meshwright as mw

    predictions = {}
    for name in names:
        module, optimizer, inputs = made(name, "meta")
        found = mw.torch.plan(module, inputs, optimizer=optimizer, cluster=cluster)
        summary = found.summary
        predictions[name] = {"seconds": summary["step_seconds"], "bytes": summary["peak_bytes"]}
        print(name, found)
    path.write_text(json.dumps(predictions, indent=1) + "\n")


def measured(name: str, compiled: bool) -> tuple[float, int]:
    """Seconds of a step, and the most bytes that tensors took."""
    torch._dynamo.reset()  # it keeps what it has compiled, with its weights
    gc.collect()
    torch.cuda.empty_cache()
    held = torch.cuda.memory_allocated()
    module, optimizer, inputs = made(name, "cuda")
    inputs = {key: tensor.cuda() for key, tensor in inputs.items()}
    forward = torch.compile(module) if compiled else module
    update = torch.compile(optimizer.step) if compiled else optimizer.step

    def step() -> None:
        forward(**inputs).loss.backward()
        update()
        optimizer.zero_grad()

    for _ in range(WARM):
        step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()  # of compiling nothing
    seconds = []
    for _ in range(STEPS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        step()
        end.record()
        torch.cuda.synchronize()
        seconds.append(begin.elapsed_time(end) / 1e3)
    return statistics.median(seconds), torch.cuda.max_memory_allocated() - held


def measure(path: Path, names: list[str]) -> None:
    predictions = json.loads(path.read_text())
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    print("| model | planned | eager | | compiled | | planned | eager | | compiled | |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |")
    for name in names:
        planned = predictions[name]
        runs = [measured(name, compiled) for compiled in (False, True)]
        cells = [name]
        for key, unit, index in (("seconds", 1e-3, 0), ("bytes", 2**30, 1)):
            cells.append(f"{planned[key] / unit:.2f}")
            for run in runs:
                cells += [f"{run[index] / unit:.2f}", f"{planned[key] / run[index] - 1:+.1%}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("plan", "measure"))
    parser.add_argument("predictions", type=Path)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--cluster", default="1xh200")
    arguments = parser.parse_args()
    if unknown := set(arguments.models) - set(MODELS):
        sys.exit(f"no model {', '.join(sorted(unknown))}; there are {', '.join(MODELS)}")
    if arguments.command == "plan":
        plan(arguments.predictions, arguments.models, arguments.cluster)
    else:
        measure(arguments.predictions, arguments.models)


if __name__ == "__main__":
    main()
