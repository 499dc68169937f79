"""Writes parameters.json: what transformers' own classes have for random configurations.

Every row has the number of parameters. Some have the tensors, by name (numbers of layers as {layer}), with
shape and count, where the class names them as checkpoints do; and the floating-point operations of a
forward pass over one sequence of TOKENS tokens (images: one image) as torch counts them, rotations left out.

Needs PyPI's transformers and torch; models are made on torch's meta device, without memory for weights.

    python make_parameters.py > parameters.json
"""

import json
import random
import re
import sys

import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

CONFIGURATIONS_PER_CLASS = 10
DETAILED_PER_CLASS = 2
TOKENS = 24

# Whose parameters in memory have other names than in checkpoints: experts in one tensor, prefixes.
RENAMED = {
    "GPT2Model",
    "BertModel",
    "ViTModel",
    "ViTForImageClassification",
    "GPTNeoXForCausalLM",
    "MixtralForCausalLM",
    "Qwen2MoeForCausalLM",
    "Qwen3MoeForCausalLM",
    "PhimoeForCausalLM",
    "DeepseekV2ForCausalLM",
    "DeepseekV3ForCausalLM",
    "OlmoeForCausalLM",
    "GraniteMoeForCausalLM",
    "Dots1ForCausalLM",
    "Glm4MoeForCausalLM",
    "MiniMaxM2ForCausalLM",
    "StableLmForCausalLM",
    "CohereForCausalLM",
    "JambaForCausalLM",
    "GraniteMoeHybridForCausalLM",
    "NemotronHForCausalLM",
    "Qwen3NextForCausalLM",
    "RobertaModel",
    "DbrxForCausalLM",
    "DeepseekV32ForCausalLM",
    "Ernie4_5_MoeForCausalLM",
    "HunYuanMoEV1ForCausalLM",
    "MiniMaxForCausalLM",
    "ApertusForCausalLM",
    "RwkvForCausalLM",
    "Gemma3nForCausalLM",
    "CLIPTextModel",
    "CLIPVisionModel",
    "CLIPTextModelWithProjection",
    "CLIPVisionModelWithProjection",
    "SiglipTextModel",
    "SiglipVisionModel",
}
# Scans are no matmuls there.
SCANNED = {
    "MambaForCausalLM",
    "FalconMambaForCausalLM",
    "Mamba2ForCausalLM",
    "JambaForCausalLM",
    "BambaForCausalLM",
    "GraniteMoeHybridForCausalLM",
    "NemotronHForCausalLM",
    "Qwen3NextForCausalLM",
    "Lfm2ForCausalLM",
    "RecurrentGemmaForCausalLM",
    "MiniMaxForCausalLM",
    "RwkvForCausalLM",
}
# Which cannot run without data: routers decide by values. Classifiers of sequences look for padding.
ROUTED = {
    "MixtralForCausalLM",
    "Qwen2MoeForCausalLM",
    "Qwen3MoeForCausalLM",
    "PhimoeForCausalLM",
    "DeepseekV2ForCausalLM",
    "DeepseekV3ForCausalLM",
    "GptOssForCausalLM",
    "Llama4ForCausalLM",
    "LlamaForSequenceClassification",
    "OlmoeForCausalLM",
    "GraniteMoeForCausalLM",
    "Dots1ForCausalLM",
    "Glm4MoeForCausalLM",
    "MiniMaxM2ForCausalLM",
    "DbrxForCausalLM",
    "DeepseekV32ForCausalLM",
    "Ernie4_5_MoeForCausalLM",
    "HunYuanMoEV1ForCausalLM",
}
# Whose classes do more than is described: queries of probes, streams that are mixed.
APPROXIMATE = {"SiglipVisionModel", "Gemma3nForCausalLM"}


def heads(r, hidden_per_head=(8, 16, 24)):
    """A number of heads, one of heads of keys and values that divides it, and a hidden size."""
    n = r.choice([2, 4, 6, 8, 12])
    kv = r.choice([d for d in range(1, n + 1) if n % d == 0])
    return n, kv, n * r.choice(hidden_per_head)


def llama_like(r, **more):
    n, kv, hidden = heads(r)
    return {
        "hidden_size": hidden,
        "num_hidden_layers": r.randint(1, 6),
        "num_attention_heads": n,
        "num_key_value_heads": kv,
        "intermediate_size": r.randint(5, 200),
        "vocab_size": r.randint(50, 300),
        "max_position_embeddings": r.choice([64, 128]),
        "tie_word_embeddings": r.random() < 0.5,
        **more,
    }


def gpt2(r):
    n, _, hidden = heads(r)
    c = {
        "n_embd": hidden,
        "n_layer": r.randint(1, 6),
        "n_head": n,
        "n_positions": r.choice([32, 64]),
        "vocab_size": r.randint(50, 300),
    }
    if r.random() < 0.5:
        c["n_inner"] = r.randint(5, 200)
    if r.random() < 0.3:
        c["tie_word_embeddings"] = False
    return c


def opt(r):
    n, _, hidden = heads(r)
    before = r.random() < 0.6
    return {
        "hidden_size": hidden,
        "num_hidden_layers": r.randint(1, 6),
        "num_attention_heads": n,
        "ffn_dim": r.randint(5, 200),
        "vocab_size": r.randint(50, 300),
        "max_position_embeddings": 64,
        "word_embed_proj_dim": r.choice([hidden, hidden // 2]),
        "do_layer_norm_before": before,
        "enable_bias": r.random() < 0.7,
        "layer_norm_elementwise_affine": r.random() < 0.7,
    }


def llama(r):
    c = llama_like(r, attention_bias=r.random() < 0.5, mlp_bias=r.random() < 0.5)
    if r.random() < 0.4:
        c["head_dim"] = r.choice([8, 20, 64])
    if r.random() < 0.3:
        del c["num_key_value_heads"]
    return c


def llama4(r):
    layers = r.randint(1, 8)
    c = llama_like(
        r,
        num_hidden_layers=layers,
        intermediate_size_mlp=r.randint(5, 100),
        head_dim=16,
        num_local_experts=r.choice([2, 4, 8]),
        num_experts_per_tok=r.randint(1, 2),
        interleave_moe_layer_step=r.randint(1, 3),
        use_qk_norm=r.random() < 0.5,
        attention_bias=r.random() < 0.5,
    )
    if r.random() < 0.3:
        c["moe_layers"] = sorted(r.sample(range(layers), r.randint(0, layers)))
    return c


def mixtral(r):
    return llama_like(r, num_local_experts=r.choice([2, 4, 8]), num_experts_per_tok=2)


def qwen2(r):
    return llama_like(
        r, use_sliding_window=r.random() < 0.5, sliding_window=32, max_window_layers=2
    )


def qwen2_moe(r):
    c = llama_like(
        r,
        num_experts=r.choice([4, 7]),
        num_experts_per_tok=2,
        moe_intermediate_size=r.randint(5, 60),
        shared_expert_intermediate_size=r.randint(5, 60),
        decoder_sparse_step=r.randint(1, 3),
        qkv_bias=r.random() < 0.7,
    )
    c["mlp_only_layers"] = sorted(r.sample(range(c["num_hidden_layers"]), r.randint(0, 1)))
    return c


def qwen3(r):
    c = llama_like(r, attention_bias=r.random() < 0.5)
    if r.random() < 0.7:
        c["head_dim"] = r.choice([8, 32])
    return c


def qwen3_moe(r):
    c = llama_like(
        r,
        attention_bias=r.random() < 0.5,
        num_experts=r.choice([4, 7]),
        num_experts_per_tok=2,
        moe_intermediate_size=r.randint(5, 60),
        decoder_sparse_step=r.randint(1, 3),
        head_dim=16,
    )
    c["mlp_only_layers"] = sorted(r.sample(range(c["num_hidden_layers"]), r.randint(0, 1)))
    return c


def gemma(r):
    return llama_like(r, head_dim=r.choice([8, 32]), attention_bias=r.random() < 0.3)


def gemma3(r):
    return llama_like(
        r, head_dim=r.choice([8, 32]), sliding_window=16, sliding_window_pattern=r.randint(1, 4)
    )


def phi(r):
    return llama_like(r, qk_layernorm=r.random() < 0.5)


def phi3(r):
    return llama_like(r, pad_token_id=0)


def phimoe(r):
    return llama_like(
        r,
        num_local_experts=r.choice([2, 4]),
        num_experts_per_tok=2,
        attention_bias=r.random() < 0.5,
        lm_head_bias=r.random() < 0.5,
    )


def deepseek(r, version):
    n = r.choice([2, 4, 8])
    c = {
        "hidden_size": r.choice([32, 48]),
        "num_hidden_layers": r.randint(1, 6),
        "num_attention_heads": n,
        "num_key_value_heads": n,
        "intermediate_size": r.randint(5, 100),
        "vocab_size": r.randint(50, 300),
        "moe_intermediate_size": r.randint(5, 40),
        "n_shared_experts": r.randint(1, 3),
        "n_routed_experts": 8,
        "num_experts_per_tok": 2,
        "kv_lora_rank": r.choice([8, 24]),
        "qk_rope_head_dim": 8,
        "qk_nope_head_dim": r.choice([8, 16]),
        "v_head_dim": r.choice([8, 12]),
        "first_k_dense_replace": r.randint(0, 2),
        "attention_bias": r.random() < 0.3,
        "q_lora_rank": r.choice([None, 16]),
        "n_group": 1,
        "topk_group": 1,
        "tie_word_embeddings": r.random() < 0.3,
    }
    if version == 2:
        c["mlp_bias"] = r.random() < 0.3
    return c


def gpt_oss(r):
    return llama_like(
        r,
        num_local_experts=r.choice([2, 4]),
        num_experts_per_tok=2,
        head_dim=r.choice([8, 16]),
        attention_bias=r.random() < 0.7,
    )


def falcon(r):
    new = r.random() < 0.4
    n, kv, hidden = heads(r)
    c = {
        "hidden_size": hidden,
        "num_hidden_layers": r.randint(1, 6),
        "num_attention_heads": n,
        "vocab_size": r.randint(50, 300),
        "bias": r.random() < 0.5,
        "new_decoder_architecture": new,
        "parallel_attn": new or r.random() < 0.6,
        "multi_query": r.random() < 0.5,
        "alibi": r.random() < 0.3,
    }
    if new:
        c["num_kv_heads"] = kv
        if r.random() < 0.5:
            c["num_ln_in_parallel_attn"] = r.choice([1, 2])
    if r.random() < 0.4:
        c["ffn_hidden_size"] = r.randint(5, 200)
    return c


def mpt(r):
    n, _, hidden = heads(r)
    return {
        "d_model": hidden,
        "n_heads": n,
        "n_layers": r.randint(1, 6),
        "vocab_size": r.randint(50, 300),
        "max_seq_len": 64,
        "no_bias": True,
        "attn_config": {"alibi": True},
    }


def bert(r):
    n, _, hidden = heads(r)
    return {
        "hidden_size": hidden,
        "num_hidden_layers": r.randint(1, 6),
        "num_attention_heads": n,
        "intermediate_size": r.randint(5, 200),
        "vocab_size": r.randint(50, 300),
        "max_position_embeddings": r.choice([32, 64]),
        "type_vocab_size": r.randint(1, 3),
    }


def t5(r):
    c = {
        "d_model": r.choice([16, 32, 48]),
        "d_kv": r.choice([4, 8, 16]),
        "d_ff": r.randint(5, 200),
        "num_layers": r.randint(1, 5),
        "num_heads": r.choice([2, 3, 4]),
        "vocab_size": r.randint(50, 300),
        "relative_attention_num_buckets": r.choice([8, 32]),
        "feed_forward_proj": r.choice(["relu", "gated-gelu"]),
        "tie_word_embeddings": True,
    }
    if r.random() < 0.5:
        c["num_decoder_layers"] = r.randint(1, 5)
    return c


def vit(r):
    n, _, hidden = heads(r)
    return {
        "hidden_size": hidden,
        "num_hidden_layers": r.randint(1, 6),
        "num_attention_heads": n,
        "intermediate_size": r.randint(5, 200),
        "image_size": r.choice([32, 50]),
        "patch_size": r.choice([8, 16]),
        "num_channels": r.choice([1, 3]),
        "qkv_bias": r.random() < 0.5,
        "id2label": {str(i): f"label {i}" for i in range(r.randint(2, 5))},
    }


def bloom(r):
    n, _, hidden = heads(r)
    return {
        "hidden_size": hidden,
        "n_layer": r.randint(1, 6),
        "n_head": n,
        "vocab_size": r.randint(50, 300),
    }


def gpt_neox(r):
    n, _, hidden = heads(r)
    return {
        "hidden_size": hidden,
        "num_hidden_layers": r.randint(1, 6),
        "num_attention_heads": n,
        "intermediate_size": r.randint(5, 200),
        "vocab_size": r.randint(50, 300),
        "attention_bias": r.random() < 0.5,
        "use_parallel_residual": r.random() < 0.5,
        "tie_word_embeddings": r.random() < 0.5,
    }


def nemotron(r):
    return llama_like(r, attention_bias=r.random() < 0.5, mlp_bias=r.random() < 0.5)


def maybe(r, fields, **more):
    """Each of `more` is there half the time."""
    return {**fields, **{k: v for k, v in more.items() if r.random() < 0.5}}


def granite(r):
    return llama_like(r, attention_bias=r.random() < 0.5, mlp_bias=r.random() < 0.5)


def olmo(r):
    return llama_like(r, attention_bias=r.random() < 0.5)


def glm(r):
    return llama_like(r, attention_bias=r.random() < 0.5, head_dim=r.choice([8, 20]))


def glm4(r):
    return maybe(r, llama_like(r, head_dim=r.choice([8, 20])), attention_bias=False)


def starcoder2(r):
    return maybe(r, llama_like(r), use_bias=False)


def smollm3(r):
    return llama_like(r, attention_bias=r.random() < 0.5, mlp_bias=r.random() < 0.5)


def exaone4(r):
    return maybe(r, llama_like(r), head_dim=24)


def seed_oss(r):
    return maybe(
        r,
        llama_like(r, head_dim=r.choice([8, 20])),
        attention_bias=False,
        attention_out_bias=True,
        mlp_bias=True,
    )


def hunyuan(r):
    return llama_like(r, attention_bias=r.random() < 0.5, head_dim=r.choice([8, 20]))


def ernie(r):
    return maybe(r, llama_like(r, head_dim=r.choice([8, 20])), use_bias=True)


def cohere(r):
    return llama_like(r, attention_bias=r.random() < 0.5, use_qk_norm=r.random() < 0.5)


def cohere2(r):
    return llama_like(r, attention_bias=r.random() < 0.5)


def stablelm(r):
    return maybe(r, llama_like(r), use_qkv_bias=True, qk_layernorm=True, use_parallel_residual=True)


def experts_in_all(r):
    return llama_like(r, num_experts=r.choice([4, 8]), num_experts_per_tok=2)


def local_experts_in_all(r):
    return llama_like(r, num_local_experts=r.choice([4, 8]), num_experts_per_tok=2)


def dense_first(r):
    c = llama_like(r, attention_bias=r.random() < 0.5)
    return {
        **c,
        "n_routed_experts": r.choice([4, 8]),
        "num_experts_per_tok": 2,
        "n_shared_experts": r.choice([1, 2]),
        "moe_intermediate_size": r.randint(5, 60),
        "first_k_dense_replace": r.randint(0, c["num_hidden_layers"]),
    }


def glm4_moe(r):
    return {**dense_first(r), "use_qk_norm": r.random() < 0.5, "num_mtp_layers": 0}


def minimax_m2(r):
    return local_experts_in_all(r) | {"head_dim": r.choice([8, 20])}


def mamba(r):
    return {
        "hidden_size": r.choice([16, 40, 64]),
        "num_hidden_layers": r.randint(1, 5),
        "vocab_size": r.randint(50, 300),
        "state_size": r.choice([4, 16]),
        "conv_kernel": r.choice([3, 4]),
        "expand": r.choice([2, 3]),
        "use_bias": r.random() < 0.3,
        "use_conv_bias": r.random() < 0.7,
        "time_step_rank": r.choice(["auto", 5]),
    }


def mamba2(r):
    hidden, head = r.choice([16, 32, 64]), r.choice([4, 8])
    return {
        "hidden_size": hidden,
        "num_hidden_layers": r.randint(1, 5),
        "vocab_size": r.randint(50, 300),
        "state_size": r.choice([8, 16]),
        "head_dim": head,
        "num_heads": 2 * hidden // head,
        "n_groups": r.choice([1, 2]),
        "use_bias": r.random() < 0.3,
        "use_conv_bias": r.random() < 0.7,
        "tie_word_embeddings": r.random() < 0.3,
        "chunk_size": 8,
    }


def hybrid(r, **more):
    """Of attention and Mamba-2."""
    n = r.choice([2, 4])
    hidden = n * 16
    return {
        "hidden_size": hidden,
        "num_hidden_layers": r.randint(2, 6),
        "num_attention_heads": n,
        "num_key_value_heads": r.choice([1, 2]),
        "intermediate_size": r.randint(5, 100),
        "vocab_size": r.randint(50, 300),
        "mamba_n_heads": 2 * hidden // 8,
        "mamba_d_head": r.choice(["auto", 8]),
        "mamba_n_groups": r.choice([1, 2]),
        "mamba_d_state": r.choice([8, 16]),
        "mamba_conv_bias": r.random() < 0.5,
        "mamba_proj_bias": r.random() < 0.5,
        "attention_bias": r.random() < 0.5,
        "tie_word_embeddings": r.random() < 0.3,
        **more,
    }


def bamba(r):
    c = hybrid(r, mlp_bias=r.random() < 0.5)
    c["attn_layer_indices"] = sorted(
        r.sample(range(c["num_hidden_layers"]), r.randint(1, c["num_hidden_layers"] - 1))
    )
    return c


def granite_hybrid(r):
    c = hybrid(r, shared_intermediate_size=r.randint(5, 60), num_experts_per_tok=2)
    c["num_local_experts"] = r.choice([0, 4])
    c["layer_types"] = [
        r.choice(["linear_attention", "full_attention"]) for _ in range(c["num_hidden_layers"])
    ]
    return c


def jamba(r):
    n = r.choice([2, 4])
    return {
        "hidden_size": n * 16,
        "num_hidden_layers": r.randint(2, 9),
        "num_attention_heads": n,
        "num_key_value_heads": r.choice([1, 2]),
        "intermediate_size": r.randint(5, 100),
        "vocab_size": r.randint(50, 300),
        "mamba_d_state": r.choice([4, 16]),
        "mamba_dt_rank": r.choice(["auto", 5]),
        "mamba_conv_bias": r.random() < 0.5,
        "mamba_proj_bias": r.random() < 0.5,
        "num_experts": r.choice([1, 4]),
        "num_experts_per_tok": 1,
        "attn_layer_period": 4,
        "attn_layer_offset": r.randint(0, 3),
        "expert_layer_period": 2,
        "expert_layer_offset": r.randint(0, 1),
    }


def nemotron_h(r):
    n, kinds = r.choice([2, 4]), ["linear_attention", "full_attention", "mlp", "moe"]
    return {
        "hidden_size": n * 16,
        "num_attention_heads": n,
        "num_key_value_heads": r.choice([1, 2]),
        "head_dim": r.choice([8, 16]),
        "intermediate_size": r.randint(5, 100),
        "vocab_size": r.randint(50, 300),
        "layers_block_type": [r.choice(kinds) for _ in range(r.randint(2, 8))],
        "ssm_state_size": r.choice([8, 16]),
        "mamba_num_heads": r.choice([4, 6]),
        "mamba_head_dim": r.choice([8, 12]),
        "n_groups": r.choice([1, 2]),
        "use_conv_bias": r.random() < 0.5,
        "use_bias": r.random() < 0.5,
        "mlp_bias": r.random() < 0.5,
        "n_routed_experts": r.choice([2, 4]),
        "moe_intermediate_size": r.randint(5, 60),
        "moe_shared_expert_intermediate_size": r.randint(5, 60),
        "num_experts_per_tok": 2,
    }


def qwen3_next(r):
    return llama_like(
        r,
        num_hidden_layers=r.randint(1, 9),
        head_dim=r.choice([8, 16]),
        attention_bias=r.random() < 0.5,
        linear_num_key_heads=2,
        linear_num_value_heads=r.choice([2, 4]),
        linear_key_head_dim=r.choice([4, 8]),
        linear_value_head_dim=r.choice([4, 8]),
        num_experts=r.choice([4, 7]),
        num_experts_per_tok=2,
        moe_intermediate_size=r.randint(5, 60),
        shared_expert_intermediate_size=r.randint(5, 60),
        decoder_sparse_step=r.randint(1, 2),
    )


def lfm2(r):
    layers = r.randint(2, 6)
    return llama_like(
        r,
        num_hidden_layers=layers,
        intermediate_size=r.randint(20, 200),
        conv_bias=r.random() < 0.5,
        conv_L_cache=r.choice([3, 4]),
        block_auto_adjust_ff_dim=r.random() < 0.5,
        block_multiple_of=16,
        layer_types=[r.choice(["conv", "full_attention"]) for _ in range(layers)],
    )


def recurrent_gemma(r):
    n = r.choice([2, 4])
    return {
        "hidden_size": n * 16,
        "num_hidden_layers": r.randint(1, 7),
        "num_attention_heads": n,
        "num_key_value_heads": r.choice([1, 2]),
        "intermediate_size": 2 * r.randint(5, 100),
        "vocab_size": r.randint(50, 300),
        "lru_width": r.choice([n * 16, n * 12]),
        "attention_window_size": 16,
        "attention_bias": r.random() < 0.5,
    }


def gpt_neo(r):
    n, _, hidden = heads(r)
    c = {
        "hidden_size": hidden,
        "num_layers": 2 * r.randint(1, 3),
        "num_heads": n,
        "vocab_size": r.randint(50, 300),
        "max_position_embeddings": 64,
        "window_size": 8,
    }
    c["attention_types"] = [[["global", "local"], c["num_layers"] // 2]]
    return maybe(r, c, intermediate_size=r.randint(5, 200))


def gptj(r):
    n, _, hidden = heads(r)
    return maybe(
        r,
        {
            "n_embd": hidden,
            "n_layer": r.randint(1, 6),
            "n_head": n,
            "n_positions": 64,
            "rotary_dim": 4,
            "vocab_size": r.randint(50, 300),
        },
        n_inner=r.randint(5, 200),
    )


def dbrx(r):
    n, kv, hidden = heads(r)
    return {
        "d_model": hidden,
        "n_layers": r.randint(1, 5),
        "n_heads": n,
        "max_seq_len": 64,
        "vocab_size": r.randint(50, 300),
        "attn_config": {"kv_n_heads": kv, "rope_theta": 10000.0},
        "ffn_config": {
            "hidden_size": hidden,
            "ffn_hidden_size": r.randint(5, 100),
            "moe_num_experts": r.choice([2, 4]),
            "moe_top_k": r.choice([1, 2]),
        },
    }


def gpt2_cross(r):
    return {**gpt2(r), "add_cross_attention": True}


def mpt_expanded(r):
    return {**mpt(r), "expansion_ratio": 2}


def apertus(r):
    return llama_like(r, attention_bias=r.random() < 0.5)


def ernie_moe(r):
    c = llama_like(r)
    layers = c["num_hidden_layers"]
    return maybe(
        r,
        {
            **c,
            "moe_num_experts": r.choice([4, 8]),
            "moe_k": 2,
            "moe_num_shared_experts": r.choice([0, 2]),
            "moe_intermediate_size": r.randint(5, 60),
            "moe_layer_start_index": r.randint(0, layers),
        },
        use_bias=True,
        moe_layer_end_index=r.choice([-1, r.randint(0, layers)]),
        moe_layer_interval=2,
    )


def hunyuan_moe(r):
    return {**hunyuan(r), "num_experts": r.choice([2, 4]), "moe_topk": r.choice([1, 2])}


def minimax(r):
    c = {**local_experts_in_all(r), "block_size": 8}
    kinds = [
        r.choice(["full_attention", "linear_attention"]) for _ in range(c["num_hidden_layers"])
    ]
    return maybe(r, c, layer_types=kinds, head_dim=16)


def deepseek_sparse(r):
    return {
        **deepseek(r, 3),
        "q_lora_rank": 16,
        "index_n_heads": r.choice([2, 4]),
        "index_head_dim": r.choice([16, 32]),
        "index_topk": 8,
    }


def rwkv(r):
    hidden = r.choice([16, 40, 64])
    return maybe(
        r,
        {
            "hidden_size": hidden,
            "num_hidden_layers": r.randint(1, 5),
            "vocab_size": r.randint(50, 300),
            "context_length": 64,
        },
        attention_hidden_size=hidden + 8,
        intermediate_size=r.randint(5, 200),
        tie_word_embeddings=True,
    )


def gemma3n(r):
    layers = r.randint(2, 12)
    c = llama_like(
        r,
        num_hidden_layers=layers,
        head_dim=r.choice([8, 32]),
        attention_bias=r.random() < 0.3,
        tie_word_embeddings=True,
        sliding_window=16,
        vocab_size_per_layer_input=r.randint(50, 300),
        hidden_size_per_layer_input=r.choice([8, 12]),
        altup_num_inputs=r.choice([2, 4]),
        laurel_rank=r.choice([4, 8]),
        num_kv_shared_layers=r.randint(0, layers // 2),
    )
    first = layers - c["num_kv_shared_layers"]
    # Layers that share keys need one of their kind before.
    c["layer_types"] = ["sliding_attention", "full_attention"] + [
        r.choice(["sliding_attention", "full_attention"]) for _ in range(layers - 2)
    ]
    if first < 2:
        c["layer_types"] = ["full_attention"] * layers
    if r.random() < 0.5:
        c["intermediate_size"] = [c["intermediate_size"]] * layers
    return c


def whisper(r):
    n, _, hidden = heads(r)
    return {
        "d_model": hidden,
        "encoder_layers": r.randint(1, 5),
        "decoder_layers": r.randint(1, 5),
        "encoder_attention_heads": n,
        "decoder_attention_heads": n,
        "encoder_ffn_dim": r.randint(5, 200),
        "decoder_ffn_dim": r.randint(5, 200),
        "vocab_size": r.randint(50, 300),
        "num_mel_bins": r.choice([8, 20]),
        "max_source_positions": r.choice([20, 30]),
        "max_target_positions": r.choice([32, 64]),
    }


def tower(r, **more):
    n, _, hidden = heads(r)
    return {
        "hidden_size": hidden,
        "num_hidden_layers": r.randint(1, 6),
        "num_attention_heads": n,
        "intermediate_size": r.randint(5, 200),
        **more,
    }


def image_tower(r):
    return tower(r, image_size=r.choice([32, 50]), patch_size=r.choice([8, 16]), projection_dim=24)


def text_tower(r):
    return tower(
        r, vocab_size=r.randint(50, 300), max_position_embeddings=TOKENS, projection_dim=24
    )


def siglip_image(r):
    c = maybe(r, image_tower(r), vision_use_head=False)
    del c["projection_dim"]
    return c


def siglip_text(r):
    c = maybe(r, text_tower(r), projection_size=12)
    del c["projection_dim"]
    return c


CLASSES = [
    ("gpt2", "GPT2LMHeadModel", gpt2),
    ("gpt2", "GPT2Model", gpt2),
    ("opt", "OPTForCausalLM", opt),
    ("llama", "LlamaForCausalLM", llama),
    ("llama", "LlamaForSequenceClassification", llama),
    ("llama4_text", "Llama4ForCausalLM", llama4),
    ("mistral", "MistralForCausalLM", llama_like),
    ("mixtral", "MixtralForCausalLM", mixtral),
    ("qwen2", "Qwen2ForCausalLM", qwen2),
    ("qwen2_moe", "Qwen2MoeForCausalLM", qwen2_moe),
    ("qwen3", "Qwen3ForCausalLM", qwen3),
    ("qwen3_moe", "Qwen3MoeForCausalLM", qwen3_moe),
    ("gemma", "GemmaForCausalLM", gemma),
    ("gemma2", "Gemma2ForCausalLM", gemma),
    ("gemma3_text", "Gemma3ForCausalLM", gemma3),
    ("phi", "PhiForCausalLM", phi),
    ("phi3", "Phi3ForCausalLM", phi3),
    ("phimoe", "PhimoeForCausalLM", phimoe),
    ("deepseek_v2", "DeepseekV2ForCausalLM", lambda r: deepseek(r, 2)),
    ("deepseek_v3", "DeepseekV3ForCausalLM", lambda r: deepseek(r, 3)),
    ("gpt_oss", "GptOssForCausalLM", gpt_oss),
    ("falcon", "FalconForCausalLM", falcon),
    ("mpt", "MptForCausalLM", mpt),
    ("bert", "BertModel", bert),
    ("bert", "BertForPreTraining", bert),
    ("bert", "BertForMaskedLM", bert),
    ("t5", "T5ForConditionalGeneration", t5),
    ("vit", "ViTModel", vit),
    ("vit", "ViTForImageClassification", vit),
    ("bloom", "BloomForCausalLM", bloom),
    ("gpt_neox", "GPTNeoXForCausalLM", gpt_neox),
    ("nemotron", "NemotronForCausalLM", nemotron),
    ("mt5", "MT5ForConditionalGeneration", t5),
    ("t5", "T5EncoderModel", t5),
    ("granite", "GraniteForCausalLM", granite),
    ("olmo2", "Olmo2ForCausalLM", olmo),
    ("olmo3", "Olmo3ForCausalLM", olmo),
    ("glm", "GlmForCausalLM", glm),
    ("glm4", "Glm4ForCausalLM", glm4),
    ("starcoder2", "Starcoder2ForCausalLM", starcoder2),
    ("smollm3", "SmolLM3ForCausalLM", smollm3),
    ("exaone4", "Exaone4ForCausalLM", exaone4),
    ("seed_oss", "SeedOssForCausalLM", seed_oss),
    ("hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM", hunyuan),
    ("ernie4_5", "Ernie4_5ForCausalLM", ernie),
    ("cohere", "CohereForCausalLM", cohere),
    ("cohere2", "Cohere2ForCausalLM", cohere2),
    ("stablelm", "StableLmForCausalLM", stablelm),
    ("olmoe", "OlmoeForCausalLM", experts_in_all),
    ("granitemoe", "GraniteMoeForCausalLM", local_experts_in_all),
    ("dots1", "Dots1ForCausalLM", dense_first),
    ("glm4_moe", "Glm4MoeForCausalLM", glm4_moe),
    ("minimax_m2", "MiniMaxM2ForCausalLM", minimax_m2),
    ("mamba", "MambaForCausalLM", mamba),
    ("falcon_mamba", "FalconMambaForCausalLM", mamba),
    ("mamba2", "Mamba2ForCausalLM", mamba2),
    ("jamba", "JambaForCausalLM", jamba),
    ("bamba", "BambaForCausalLM", bamba),
    ("granitemoehybrid", "GraniteMoeHybridForCausalLM", granite_hybrid),
    ("nemotron_h", "NemotronHForCausalLM", nemotron_h),
    ("qwen3_next", "Qwen3NextForCausalLM", qwen3_next),
    ("lfm2", "Lfm2ForCausalLM", lfm2),
    ("recurrent_gemma", "RecurrentGemmaForCausalLM", recurrent_gemma),
    ("gpt_neo", "GPTNeoForCausalLM", gpt_neo),
    ("gptj", "GPTJForCausalLM", gptj),
    ("roberta", "RobertaForMaskedLM", bert),
    ("roberta", "RobertaModel", bert),
    ("dbrx", "DbrxForCausalLM", dbrx),
    ("gpt2", "GPT2LMHeadModel", gpt2_cross),
    ("mpt", "MptForCausalLM", mpt_expanded),
    ("apertus", "ApertusForCausalLM", apertus),
    ("ernie4_5_moe", "Ernie4_5_MoeForCausalLM", ernie_moe),
    ("hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM", hunyuan_moe),
    ("minimax", "MiniMaxForCausalLM", minimax),
    ("deepseek_v32", "DeepseekV32ForCausalLM", deepseek_sparse),
    ("rwkv", "RwkvForCausalLM", rwkv),
    ("gemma3n_text", "Gemma3nForCausalLM", gemma3n),
    ("whisper", "WhisperForConditionalGeneration", whisper),
    ("clip_vision_model", "CLIPVisionModel", image_tower),
    ("clip_vision_model", "CLIPVisionModelWithProjection", image_tower),
    ("clip_text_model", "CLIPTextModel", text_tower),
    ("clip_text_model", "CLIPTextModelWithProjection", text_tower),
    ("siglip_vision_model", "SiglipVisionModel", siglip_image),
    ("siglip_text_model", "SiglipTextModel", siglip_text),
]


def build(model_type, class_name, fields):
    # Tokens of padding that are usual are beyond vocabularies this small.
    config = transformers.AutoConfig.for_model(model_type, **{"pad_token_id": 0, **fields})
    config._attn_implementation = "eager"
    with torch.device("meta"):
        return getattr(transformers, class_name)(config).eval()


def tensors(model):
    found = {}
    for name, parameter in model.named_parameters():
        key = re.sub(r"\.\d+\.", ".{layer}.", name, count=1)
        row = found.setdefault(f"{key} {list(parameter.shape)}", [key, list(parameter.shape), 0])
        row[2] += 1
    return list(found.values())


def forward_flops(model, class_name):
    with torch.device("meta"):
        ids = torch.zeros(1, TOKENS, dtype=torch.long)
        inputs = {"input_ids": ids}
        c = model.config
        if class_name.startswith(("ViT", "CLIPVision", "SiglipVision")):
            inputs = {"pixel_values": torch.zeros(1, c.num_channels, c.image_size, c.image_size)}
        elif class_name.startswith("Whisper"):
            frames = 2 * c.max_source_positions
            inputs = {"input_features": torch.zeros(1, c.num_mel_bins, frames)}
            inputs["decoder_input_ids"] = ids
        elif class_name.endswith("ForConditionalGeneration"):
            inputs["decoder_input_ids"] = ids
        if class_name.startswith(("Mpt", "Falcon", "Bloom", "GPT", "OPT")):
            inputs["attention_mask"] = torch.ones(1, TOKENS)
        if getattr(c, "add_cross_attention", False):
            inputs["encoder_hidden_states"] = torch.zeros(1, TOKENS, c.n_embd)
    counter = FlopCounterMode(display=False, depth=None)
    with torch.no_grad(), counter:
        model(**inputs)
    rotations = sum(
        sum(counts.values())
        for name, counts in counter.get_flop_counts().items()
        if name.endswith("rotary_emb")
    )
    return counter.get_total_flops() - rotations


def main():
    r = random.Random(7)
    rows = []
    for model_type, class_name, make in CLASSES:
        for i in range(CONFIGURATIONS_PER_CLASS):
            fields = make(r)
            model = build(model_type, class_name, dict(fields))
            row = {
                "config": {"model_type": model_type, "architectures": [class_name], **fields},
                "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
            }
            if i < DETAILED_PER_CLASS and class_name not in RENAMED:
                row["tensors"] = tensors(model)
            if class_name not in ROUTED | SCANNED | APPROXIMATE:
                row["tokens"] = TOKENS
                row["forward_flops"] = forward_flops(model, class_name)
            rows.append(json.dumps(row))
    source = (
        f"make_parameters.py with transformers {transformers.__version__}, torch {torch.__version__}; "
        "trained parameters of the class in `architectures`, tied ones once"
    )
    print('{{"source": {},\n "rows": [\n  {}\n]}}'.format(json.dumps(source), ",\n  ".join(rows)))


if __name__ == "__main__":
    sys.exit(main())
