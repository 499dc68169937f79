"""Small modules of each kind, with inputs, targets and a loss."""

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn


@dataclasses.dataclass
class Case:
    module: nn.Module
    inputs: Any
    targets: tuple = ()
    loss: Callable | None = None

    def adamw(self, **options):
        return torch.optim.AdamW(self.module.parameters(), **options)


def mlp(dropout=0.0):
    # Nothing behind the norms cancels a bias, whose gradient would be noise.
    module = nn.Sequential(
        *(nn.BatchNorm1d(64), nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256)),
        *(nn.Dropout(dropout), nn.Linear(256, 64)),
    )
    return Case(module, (torch.randn(32, 64),), (torch.randn(32, 64),), F.mse_loss)


def cnn():
    module = nn.Sequential(
        *(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, stride=2, padding=1, groups=2), nn.ReLU(), nn.AvgPool2d(2)),
        *(nn.ConvTranspose2d(32, 16, 2, stride=2), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        nn.Linear(16, 8),
    )
    return Case(module, (torch.randn(16, 3, 16, 16),), (torch.arange(16) % 8,), F.cross_entropy)


class Decoder(nn.Module):
    """Two layers with grouped queries under a causal mask."""

    def __init__(self, width=64, heads=8, groups=4, words=128):
        super().__init__()
        self.heads, self.groups, self.depth = heads, groups, width // heads
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm": nn.RMSNorm(width),
                    "qkv": nn.Linear(width, self.depth * (heads + 2 * groups), bias=False),
                    "out": nn.Linear(width, width, bias=False),
                    "up": nn.Linear(width, 4 * width),
                    "down": nn.Linear(4 * width, width),
                }
            )
            for _ in range(2)
        )

    def forward(self, ids):
        x = self.words(ids)
        for layer in self.layers:
            split = layer["qkv"](layer["norm"](x)).unflatten(-1, (-1, self.depth)).transpose(1, 2)
            q, k, v = split.split([self.heads, self.groups, self.groups], 1)
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
            x = x + layer["out"](seen.transpose(1, 2).flatten(2))
            x = x + layer["down"](F.silu(layer["up"](x)))
        return x @ self.words.weight.T


class MultiQuery(nn.Module):
    """One head of keys for eight of queries, under a mask."""

    def __init__(self, width=64, heads=8):
        super().__init__()
        self.heads, self.depth = heads, width // heads
        self.q = nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * self.depth, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x):
        q = self.q(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        k, v = self.kv(x).unsqueeze(1).chunk(2, -1)
        seen = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, enable_gqa=True)
        return self.out(y.transpose(1, 2).flatten(2))


def multi_query():
    x = torch.randn(8, 128, 64)
    return Case(MultiQuery(), (x,), (x,), F.mse_loss)


def word_loss(scores, labels):
    return F.cross_entropy(scores.flatten(0, -2), labels.flatten())


def decoder():
    ids = torch.randint(0, 128, (8, 16))
    return Case(Decoder(), (ids,), (ids,), word_loss)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(64, 32)
        self.lstm = nn.LSTM(32, 64, batch_first=True)
        self.head = nn.Linear(64, 64)

    def forward(self, ids):
        return self.head(self.lstm(self.words(ids))[0])


def lstm():
    ids = torch.randint(0, 64, (8, 4))
    return Case(Recurrent(), (ids,), (ids,), word_loss)


def transformer():
    module = nn.Transformer(32, 4, 1, 1, 64, dropout=0.0, batch_first=True)
    source = torch.randn(8, 8, 32)
    return Case(module, (source, source), (source,), F.mse_loss)


def of_transformers(model, config, **sizes):
    """A model of transformers with its own loss."""

    def make():
        import pytest

        transformers = pytest.importorskip("transformers", reason="transformers is not installed")
        settings = getattr(transformers, config)(**sizes)
        module = getattr(transformers, model)._from_config(settings)
        module.train()
        ids = torch.randint(0, 128, (8, 16))
        return Case(module, {"input_ids": ids, "labels": ids})

    return make


SIZES = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "vocab_size": 128}
SIZES |= {"num_attention_heads": 8}
GPT_SIZES = {"n_layer": 2, "n_embd": 64, "n_head": 8, "vocab_size": 128, "n_positions": 32}
GPT_SIZES |= {"attn_pdrop": 0.0, "bos_token_id": 0, "eos_token_id": 0}

gpt2 = of_transformers("GPT2LMHeadModel", "GPT2Config", **GPT_SIZES)
llama = of_transformers("LlamaForCausalLM", "LlamaConfig", num_key_value_heads=4, **SIZES)
bert = of_transformers("BertForMaskedLM", "BertConfig", attention_probs_dropout_prob=0.0, **SIZES)

ALL = [mlp, cnn, decoder, lstm, transformer, gpt2, llama, bert]
NAMES = ["mlp", "cnn", "decoder", "lstm", "transformer", "gpt2", "llama", "bert"]
