"""Models of transformers and others, small and with random weights: planned, run back, and compared with DTensor.

    python bench/torch/models.py [MODEL...] [--processes] [--meshes 8 2x4] > table.md

Each is planned with AdamW for every mesh with half of the memory that its fastest plan takes, run by the plan
on 8 devices (simulated in this process; with --processes, as many gloo processes), and compared with the same step
on one. Beside it runs DTensor's own propagation of the same placements of parameters, state and inputs: its
collectives, and their bytes on a device. Needs transformers. Exits with 1 if a model
that was planned does not agree, or moves more than DTensor does.
"""

from __future__ import annotations

import argparse
import dataclasses
import logging
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
import transformers
from meshwright.torch._placements import Layouts
from meshwright.torch._sharded_runs import run_simulated
from meshwright.torch._verifying import _values, _wanted
from torch import nn

import meshwright as mw

DEVICES = 8
BATCH, LENGTH, WORDS = 8, 16, 128
WIDTHS = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 8, "vocab_size": WORDS}
WIDE = {**WIDTHS, "intermediate_size": 128}
GROUPED = {**WIDE, "num_key_value_heads": 4}
IDS = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
EXPERTS = {"num_experts_per_tok": 2}


@dataclasses.dataclass
class Case:
    module: nn.Module
    inputs: Any
    targets: tuple[Any, ...] = ()
    loss: Callable[..., Any] | None = None


def words() -> torch.Tensor:
    return torch.randint(1, WORDS, (BATCH, LENGTH))


def text(model: str, config: str, **sizes: Any) -> Callable[[], Case]:
    """A language model with its own loss."""

    def make() -> Case:
        settings = getattr(transformers, config)(**sizes)
        module = getattr(transformers, model)._from_config(settings).train()
        ids = words()
        inputs = {"input_ids": ids, "labels": ids}
        return Case(module, inputs)

    return make


def vit() -> Case:
    config = transformers.ViTConfig(
        hidden_size=64, num_hidden_layers=2, num_attention_heads=8, intermediate_size=128,
        image_size=32, patch_size=8, num_labels=16,
    )  # fmt: skip
    module = transformers.ViTForImageClassification(config).train()
    images = torch.randn(BATCH, 3, 32, 32)
    return Case(module, {"pixel_values": images, "labels": torch.arange(BATCH) % 16})


def clip() -> Case:
    text = {**WIDE, "max_position_embeddings": 32, **IDS, "eos_token_id": 2}
    vision = {**text, "image_size": 32, "patch_size": 8}
    config = transformers.CLIPConfig(text_config=text, vision_config=vision, projection_dim=64)
    module = transformers.CLIPModel(config).train()
    inputs = {
        "input_ids": words(),
        "pixel_values": torch.randn(BATCH, 3, 32, 32),
        "return_loss": True,
    }
    return Case(module, inputs)


def whisper() -> Case:
    config = transformers.WhisperConfig(
        d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=8, decoder_attention_heads=8,
        encoder_ffn_dim=128, decoder_ffn_dim=128, vocab_size=WORDS, num_mel_bins=16, max_source_positions=16,
        max_target_positions=32, decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None, **IDS,
    )  # fmt: skip
    module = transformers.WhisperForConditionalGeneration(config).train()
    return Case(module, {"input_features": torch.randn(BATCH, 16, 32), "labels": words()})


def t5() -> Case:
    config = transformers.T5Config(
        d_model=64, d_kv=8, d_ff=128, num_layers=2, num_heads=8, vocab_size=WORDS, decoder_start_token_id=0,
    )  # fmt: skip
    return Case(
        transformers.T5ForConditionalGeneration(config).train(),
        {"input_ids": words(), "labels": words()},
    )


def bart() -> Case:
    config = transformers.BartConfig(
        d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=8, decoder_attention_heads=8,
        encoder_ffn_dim=128, decoder_ffn_dim=128, vocab_size=WORDS, max_position_embeddings=32, decoder_start_token_id=1,
    )  # fmt: skip
    return Case(
        transformers.BartForConditionalGeneration(config).train(),
        {"input_ids": words(), "labels": words()},
    )


class Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.last = nn.BatchNorm2d(channels)

    def forward(self, x: Any) -> Any:
        return F.relu(x + self.last(self.second(F.relu(self.norm(self.first(x))))))


def resnet() -> Case:
    module = nn.Sequential(
        *(nn.Conv2d(3, 32, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(3, 2, 1)),
        *(Residual(32), Residual(32), nn.Conv2d(32, 64, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(64)),
        *(nn.ReLU(), Residual(64), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 16)),
    )  # fmt: skip
    return Case(module, (torch.randn(16, 3, 32, 32),), (torch.arange(16),), F.cross_entropy)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.SiLU())
        self.deep = nn.Sequential(
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.GroupNorm(4, 32), nn.SiLU()
        )
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.out = nn.Conv2d(32, 3, 3, padding=1)

    def forward(self, x: Any) -> Any:
        wide = self.down(x)
        return self.out(torch.cat([self.up(self.deep(wide)), wide], 1))


def unet() -> Case:
    images = torch.randn(8, 3, 16, 16)
    return Case(UNet(), (images,), (images,), F.mse_loss)


class DLRM(nn.Module):
    """Tables of embeddings, whose dot products with one another and with a dense part are ranked."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(256, 16) for _ in range(4))
        self.bottom = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(41, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, dense: Any, sparse: Any) -> Any:
        x = self.bottom(dense)
        features = torch.stack(
            [x, *(table(sparse[:, i]) for i, table in enumerate(self.tables))], 1
        )
        pairs = features @ features.transpose(1, 2)
        return self.top(torch.cat([x, pairs.flatten(1)], 1)).squeeze(1)


def dlrm() -> Case:
    inputs = (torch.randn(32, 8), torch.randint(0, 256, (32, 4)))
    return Case(DLRM(), inputs, (torch.rand(32),), F.binary_cross_entropy_with_logits)


def transformer() -> Case:
    module = nn.Transformer(32, 4, 1, 1, 64, dropout=0.0, batch_first=True)
    source = torch.randn(8, 8, 32)
    return Case(module, (source, source), (source,), F.mse_loss)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, 32)
        self.lstm = nn.LSTM(32, 64, batch_first=True)
        self.head = nn.Linear(64, WORDS)

    def forward(self, ids: Any) -> Any:
        return self.head(self.lstm(self.words(ids))[0])


def lstm() -> Case:
    ids = torch.randint(0, WORDS, (BATCH, 4))

    def loss(scores: Any, labels: Any) -> Any:
        return F.cross_entropy(scores.flatten(0, -2), labels.flatten())

    return Case(Recurrent(), (ids,), (ids,), loss)


GPT2 = {"n_layer": 2, "n_embd": 64, "n_head": 8, "vocab_size": WORDS, "n_positions": 32}
MODELS = {
    "GPT-2": text("GPT2LMHeadModel", "GPT2Config", **GPT2, **IDS),
    "GPT-NeoX": text("GPTNeoXForCausalLM", "GPTNeoXConfig", **WIDE, **IDS),
    "Llama": text("LlamaForCausalLM", "LlamaConfig", **GROUPED, **IDS),
    "Mistral": text("MistralForCausalLM", "MistralConfig", **GROUPED, **IDS),
    "Qwen2": text("Qwen2ForCausalLM", "Qwen2Config", **GROUPED, **IDS),
    "Qwen3": text("Qwen3ForCausalLM", "Qwen3Config", **GROUPED, head_dim=8, **IDS),
    "Gemma 2": text("Gemma2ForCausalLM", "Gemma2Config", **GROUPED, head_dim=8, **IDS),
    "Gemma 3": text("Gemma3ForCausalLM", "Gemma3TextConfig", **GROUPED, head_dim=8, **IDS),
    "Phi-3": text("Phi3ForCausalLM", "Phi3Config", **GROUPED, **IDS),
    "OLMo 2": text("Olmo2ForCausalLM", "Olmo2Config", **GROUPED, **IDS),
    "Falcon": text("FalconForCausalLM", "FalconConfig", **WIDTHS, **IDS),
    "BERT": text("BertForMaskedLM", "BertConfig", **WIDE, pad_token_id=0),
    "RoBERTa": text("RobertaForMaskedLM", "RobertaConfig", **WIDE, **IDS),
    "T5": t5,
    "BART": bart,
    "ViT": vit,
    "CLIP": clip,
    "Whisper": whisper,
    "Mixtral": text("MixtralForCausalLM", "MixtralConfig", **GROUPED, **EXPERTS, num_local_experts=4, **IDS),
    "Qwen3-MoE": text(
        "Qwen3MoeForCausalLM", "Qwen3MoeConfig", **GROUPED, **EXPERTS, num_experts=4, head_dim=8, moe_intermediate_size=64,
        **IDS,
    ),
    "Mamba": text("MambaForCausalLM", "MambaConfig", hidden_size=64, num_hidden_layers=2, vocab_size=WORDS, state_size=8, **IDS),
    "ResNet": resnet,
    "U-Net": unet,
    "DLRM": dlrm,
    "nn.Transformer": transformer,
    "LSTM": lstm,
}  # fmt: skip


class Propagated(Layouts):
    """Says how leaves are kept, and nothing of what is computed."""

    def shared(self, index: int) -> None:
        return None

    def operand(self, node: Any, argument: Any) -> Any:
        return [], set()

    def result(self, made: Any) -> None:
        return None

    def computed(self, made: Any) -> None:
        return None


def propagated(plan: Any) -> tuple[int, int] | None:
    """Collectives and their bytes if DTensor places all but parameters, state and inputs. None: it cannot."""
    values, wanted = _values(plan.subject, 0), _wanted(plan.subject.step)
    try:
        ran = run_simulated(plan, values, wanted, 0, Propagated(plan, plan.subject.lowered))
    except Exception as error:
        print(f"    DTensor by itself: {type(error).__name__}: {str(error)[:200]}", file=sys.stderr)
        return None
    return sum(ran.collectives.values()), ran.bytes


def row(name: str, make: Callable[[], Case], mesh: str, processes: bool) -> tuple[str, bool]:
    """A line of the table, and whether all is as planned."""
    torch.manual_seed(0)
    case = make()
    optimizer = torch.optim.AdamW(case.module.parameters(), lr=1e-3, eps=1e-6)
    given = {"loss": case.loss, "targets": case.targets, "optimizer": optimizer, "mesh": mesh}
    given["cluster"] = f"{DEVICES}xh100-sxm"
    started = time.process_time()
    fastest = mw.torch.plan(case.module, case.inputs, **given)
    once = time.process_time() - started
    plan = mw.torch.plan(case.module, case.inputs, **given, memory=fastest.peak_bytes // 2)
    sharded = sum(any(row["spec"]) for row in plan.parameters)
    report = plan.verify(simulate=not processes)
    planned, ran = sum(report.planned.values()), sum(report.ran.values())
    alone = propagated(plan)
    fewer = alone is None or (ran <= alone[0] and report.ran_bytes <= alone[1])
    if report.replicated:
        print(f"    replicated: {report.replicated}", file=sys.stderr)
    if not report.passed:
        print(report, file=sys.stderr)
    its = "- | -" if alone is None else f"{alone[0]} | {alone[1] / 1024:.0f}"
    verdict = "yes" if report.passed else "NO"
    return (
        f"| {name} | {mesh} | {once:.1f} | {sharded} of {len(plan.parameters)} | {planned} | {ran} | "
        f"{report.ran_bytes / 1024:.0f} | {its} | {report.worst[1]:.1g} | {verdict} |"
    ), report.passed and fewer


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument(
        "--processes", action="store_true", help="gloo's instead of simulated devices"
    )
    parser.add_argument("--meshes", nargs="+", default=["8", "2x4"])
    asked = parser.parse_args()
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    print(
        "| model | mesh | plan, s | sharded | planned | ran | KiB | DTensor alone | KiB | error | as on one |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    good = True
    for name in asked.models or MODELS:
        for mesh in asked.meshes:
            try:
                line, well = row(name, MODELS[name], mesh, asked.processes)
            except mw.Error as error:
                print(error, file=sys.stderr)
                line, well = f"| {name} | {mesh} | refused: {str(error).splitlines()[0]} |", False
            except Exception:
                traceback.print_exc()
                line, well = f"| {name} | {mesh} | FAILED |", False
            good = good and well
            print(line, flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    raise SystemExit(main())
