#include "meshwright/sharding/call_table.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_split.h"
#include "meshwright/base/glob.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/scan_call.h"
#include "meshwright/sharding/call_rule.h"
#include "meshwright/sharding/rule_builders.h"

// Where rows come from: XLA's thunks and rewriters (gpu/cublas_cudnn.h), JAX's lowerings
// (jax/_src/cudnn, jax/_src/lax/linalg.py, jax/_src/prng.py, jax/_src/pallas), and Transformer
// Engine's primitives (transformer_engine/jax/cpp_extensions), whose operands come in the order of
// their `lowering`.

namespace meshwright {

const std::vector<CallRow>& CallTable() {
  static const auto* const table = new std::vector<CallRow>{
      // Marks: the value itself.
      {"Sharding", "([...])->([...])", "the value itself", rules::Forward},
      {"xla.sdy.FuncResultSharding", "([...])->([...])", "the value itself", rules::Forward},
      {"xla.sdy.PropagationBarrier", "([...])->([...])", "the value itself", rules::Forward},
      {"MoveToHost", "([...])->([...])", "the value itself", rules::Forward},
      {"MoveToDevice", "([...])->([...])", "the value itself", rules::Forward},
      {"LayoutConstraint", "([...])->([...])", "the value itself", rules::Forward},
      {"annotate_device_placement", "([...])->([...])", "the value itself", rules::Forward},

      // Attention without scores in memory.
      {"__cudnn$fmha*Backward*",
       "([b, s, gr, d], [b, t, g, d], [b, t, g, e], [b, gr, s], [b, s, gr, e], [b, gr, s, t], "
       "[b, s, gr, e], [b], ...)->([b, gr, s, d], [b, g, t, d], [b, g, t, e], [b, gr, s, t], ...) "
       "reduction={r, s} need_replication={t, d, e} kernel=attention_backward",
       "cuDNN; s stays replicated where a mask counts positions; a bias, lengths of sequences and "
       "F8 "
       "scales where the call has them; the sum over what a bias is shared by is left to be added",
       rules::FusedAttentionBackward},
      {"__cudnn$fmha*",
       "([b, s, gr, d], [b, t, g, d], [b, t, g, e], [b, gr, s, t], [b], ...)->([b, gr, s, e], "
       "[b, gr, s], ...) need_replication={t, d, e} kernel=attention",
       "cuDNN; s stays replicated where a mask counts positions; a bias, lengths of sequences, "
       "pages "
       "and "
       "F8 scales where the call has them; dropout draws by the position in a shard",
       rules::FusedAttention},
      {"te_fused_attn_forward_ffi",
       "([b, s, gr, d], [b, t, g, d], [b, t, g, e], ...)->([b, s, gr, e], [b, gr, s, w], ...) "
       "need_replication={s, e} kernel=attention flops=2*b*g*r*s*t*(d+e)\n"
       "([b, s, gr, d], [b, t, x, g, d], ...)->([b, s, gr, d], [b, gr, s, w], ...) "
       "need_replication={s} kernel=attention flops=4*b*g*r*s*t*d\n"
       "([b, s, x, g, d], ...)->([b, s, g, d], [b, g, s, w], ...) need_replication={s, d} "
       "kernel=attention flops=4*b*g*s*s*d",
       "Transformer Engine; x: packed queries, keys and values; lengths of sequences are made anew "
       "for each part of a batch",
       rules::TransformerEngineAttention},
      {"te_fused_attn_backward_ffi",
       "([b, s, gr, d], [b, t, g, d], [b, t, g, e], _, _, [b, gr, s, w], _, [b, s, gr, e], "
       "[b, s, gr, e], ...)->([b, s, gr, d], [b, t, g, d], [b, t, g, e], ...) reduction={r} "
       "need_replication={s, t, d, e} kernel=attention_backward flops=b*g*r*s*t*(6*d+4*e) "
       "memory=4*b*g*r*s*d\n"
       "([b, s, gr, d], [b, t, x, g, d], _, _, _, [b, gr, s, w], _, [b, s, gr, d], "
       "[b, s, gr, d], ...)->([b, s, gr, d], [b, t, x, g, d], ...) reduction={r} "
       "need_replication={s, t, x, d} kernel=attention_backward flops=10*b*g*r*s*t*d "
       "memory=4*b*g*r*s*d\n"
       "([b, s, x, g, d], _, _, _, _, [b, g, s, w], _, [b, s, g, d], [b, s, g, d], ...)"
       "->([b, s, x, g, d], ...) need_replication={s, x, d} kernel=attention_backward "
       "flops=10*b*g*s*s*d memory=4*b*g*s*d",
       "Transformer Engine, as forward", rules::TransformerEngineAttention},

      // Products and convolutions.
      {"__cublas$*", "([b, m, k], [b, k, n], ...)->([b, m, n], ...) reduction={k} kernel=matmul",
       "cuBLAS and cuBLASLt, by their dimension numbers; k stays replicated where something is "
       "added to "
       "the product or done with it",
       rules::LibraryGemm},
      {"__cudnn$conv*", "([b, i, H], [i, o, K], ...)->([b, o, H], ...) reduction={i} kernel=matmul",
       "cuDNN, forward and gradients: what the result lacks of b, i and o is summed over",
       rules::LibraryConvolution},
      {"te_gemm_v2_ffi", "([m, k], _, [k, n], ...)->([m, n], ...) reduction={k} kernel=matmul",
       "Transformer Engine, by its axis boundaries", rules::TransformerEngineGemm},

      {"__op$block_scaled_dot",
       "([b, m, qw], [b, n, qw], [b, m, q], [b, n, q], ...)->([b, m, n]) reduction={q} "
       "need_replication={w} kernel=matmul flops=2*b*m*n*q*w",
       "jax.nn.scaled_matmul: q blocks of w elements with a scale each"},

      // Normalization, softmax, activations and quantization of Transformer Engine.
      {"te_norm_forward_ffi",
       "([..., h], _, _, [h], _)->([..., h], [..., h], _, _, _, [...], [...], ...) "
       "need_replication={h}\n"
       "([..., h], _, _, [h], _)->([..., h], [..., h], _, _, _, _, [...], ...) "
       "need_replication={h}\n"
       "([..., h], _, _, [h], _)->([..., h], _, _, _, _, [...], [...], ...) need_replication={h}\n"
       "([..., h], _, _, [h], _)->([..., h], _, _, _, _, _, [...], ...) need_replication={h}",
       "layer norm or RMS norm; h is normalized over"},
      {"te_norm_backward_ffi",
       "([..., h], [..., h], [...], [...], [h])->([..., h], [h], [h], ...) "
       "need_replication={h} reduction={...}\n"
       "([..., h], [..., h], _, [...], [h])->([..., h], [h], ...) need_replication={h} "
       "reduction={...}",
       "gradients of scale and shift are partial sums"},
      {"te_scaled_upper_triang_masked_softmax_forward_ffi",
       "([..., s, t])->([..., s, t]) need_replication={s, t}", ""},
      {"te_scaled_upper_triang_masked_softmax_backward_ffi",
       "([..., s, t], [..., s, t])->([..., s, t]) need_replication={s, t}", ""},
      {"te_scaled_masked_softmax_forward_ffi",
       "([b, h, s, t], [b, i, s, t])->([b, h, s, t]) need_replication={t}", ""},
      {"te_scaled*_softmax_forward_ffi", "([..., t])->([..., t]) need_replication={t}", ""},
      {"te_scaled*_softmax_backward_ffi", "([..., t], [..., t])->([..., t]) need_replication={t}",
       ""},
      {"te_act_lu_ffi",
       "([..., a, h], ...)->([..., h], [..., h], ...)\n([..., a, h], ...)->([..., h], ...)",
       "a: gates"},
      {"te_dact_dbias_quantize_ffi",
       "([..., h], [..., a, h], ...)->([..., a, h], [..., a, h], _, _, _, [a, h], ...) "
       "need_replication={a} reduction={...}\n"
       "([..., h], [..., a, h], ...)->([..., a, h], _, _, _, _, [a, h], ...) "
       "need_replication={a} reduction={...}\n"
       "([..., h], [..., a, h], ...)->([..., a, h], ...) need_replication={a}",
       "the bias' gradient is a partial sum"},
      {"te_dbias_quantize_ffi",
       "([..., h], ...)->([..., h], [..., h], _, _, _, [h], ...) reduction={...}\n"
       "([..., h], ...)->([..., h], _, _, _, _, [h], ...) reduction={...}\n"
       "([..., h], ...)->([..., h], ...)",
       "the bias' gradient is a partial sum"},

      // Sorts, searches, scans and random numbers.
      {kScanCall, "([..., n], ...)->([..., n], ...) need_replication={n}",
       "cumulative sums and other scans by elementwise operators: all dimensions but the scanned "
       "one, wherever it is",
       rules::Scan},
      {"TopK", "([..., n])->([..., m], [..., m]) kernel=top_k flops=rows*n",
       "the largest of the last dimension"},
      {"__gpu$TopK", "([..., n])->([..., m], [..., m], ...) kernel=top_k flops=rows*n",
       "the largest of the last dimension"},
      {"ApproxTopK", "([..., n], [..., n], _, _)->([..., m], [..., m]) kernel=top_k flops=rows*n",
       "the largest of the last dimension"},
      {"*DeviceRadixSort*",
       "([..., n], [..., n])->([..., n], [..., n], ...) need_replication={n} kernel=sort "
       "flops=rows*n\n"
       "([..., n])->([..., n], ...) need_replication={n} kernel=sort flops=rows*n",
       "CUB: keys, and values by keys"},
      {"xla.gpu.ext.cub_sort_*",
       "([..., n], [..., n])->([..., n], [..., n], ...) need_replication={n} kernel=sort "
       "flops=rows*n\n"
       "([..., n])->([..., n], ...) need_replication={n} kernel=sort flops=rows*n",
       "CUB: keys, and values by keys"},
      {"cu_threefry2x32*", "([...], [...], [...], [...])->([...], [...])",
       "keys and counters, element by element"},
      {"hip_threefry2x32*", "([...], [...], [...], [...])->([...], [...])",
       "keys and counters, element by element"},

      // Linear algebra and transforms.
      {"*lu_pivots_to_permutation*", "([..., k])->([..., n])", "of each matrix of a batch"},
      {"lapack_*", "([..., m, n], ...)->([..., m, n], ...)", "LAPACK: matrices of a batch",
       rules::BatchedMatrices},
      {"blas_*", "([..., m, n], ...)->([..., m, n], ...)", "BLAS: matrices of a batch",
       rules::BatchedMatrices},
      {"cusolver_*", "([..., m, n], ...)->([..., m, n], ...)", "cuSOLVER: matrices of a batch",
       rules::BatchedMatrices},
      {"__cusolver$*", "([..., m, n], ...)->([..., m, n], ...)", "cuSOLVER: matrices of a batch",
       rules::BatchedMatrices},
      {"cublas_*", "([..., m, n], ...)->([..., m, n], ...)",
       "batched factorizations: matrices of a batch", rules::BatchedMatrices},
      {"hipsolver_*", "([..., m, n], ...)->([..., m, n], ...)", "hipSOLVER: matrices of a batch",
       rules::BatchedMatrices},
      {"*ducc_fft*", "(_, ...)->(_)", "XLA transforms the whole array on every device",
       rules::Whole},

      // Kernels that only who wrote them knows.
      {"__gpu$xla.gpu.triton", "", "Triton and Pallas: by sdy.sharding_rule or --rules",
       rules::Unknown},
      {"triton_kernel_call", "", "Triton: by sdy.sharding_rule or --rules", rules::Unknown},
      {"mosaic_gpu*", "", "Pallas: by sdy.sharding_rule or --rules", rules::Unknown},
      {"tpu_custom_call", "", "Mosaic and Pallas: by sdy.sharding_rule or --rules", rules::Unknown},
  };
  return *table;
}

namespace {

// By row, the rules that its notation holds, in its order; none where a function builds the rule.
const std::vector<std::vector<CallRule>>& ParsedNotations() {
  static const auto* const parsed = [] {
    auto* all = new std::vector<std::vector<CallRule>>;
    for (const CallRow& row : CallTable()) {
      std::vector<CallRule>& rules = all->emplace_back();
      if (row.notation.empty()) continue;
      for (const absl::string_view line : absl::StrSplit(ToAbsl(row.notation), '\n')) {
        absl::StatusOr<CallRule> rule = ParseCallRule(FromAbsl(line), row.target);
        if (!rule.ok()) std::abort();  // rows are held by a test
        rules.push_back(*std::move(rule));
      }
    }
    return all;
  }();
  return *parsed;
}

}  // namespace

const CallRow* FindCall(std::string_view target) {
  for (const CallRow& row : CallTable()) {
    if (GlobMatch(row.target, target)) return &row;
  }
  return nullptr;
}

void BuildNotation(const CallRow& row, RuleBuilder& builder) {
  for (const CallRule& rule : ParsedNotations()[&row - CallTable().data()]) {
    if (ApplyCallRule(rule, builder).empty()) return;
  }
  builder.Unsupported();
}

void BuildCall(const CallRow& row, RuleBuilder& builder) {
  if (row.build != nullptr) return row.build(builder);
  BuildNotation(row, builder);
}

}  // namespace meshwright
