// Operators by roofline. A matrix product takes the longer of its arithmetic, at the efficiency of
// its shape, and its memory traffic; everything between products is memory traffic. Backward, a
// product has two of the same size and elementwise operations read about twice as much. Flash
// attention computes the scores again: 5 products backward for 2 forward (Dao et al. 2022).

#include "meshwright/transformer/step_parts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "meshwright/transformer/matmuls.h"
#include "meshwright/transformer/tensors.h"

namespace meshwright::transformer {
namespace {

constexpr double kBytes = 2;  // of an activation
constexpr double kFlashBackward = 2.5;
constexpr double kFlashBackwardEfficiency = 0.8;  // of the forward's: more shared memory traffic
constexpr double kFlashHalfSequence = 512;        // keys at which attention reaches half
constexpr double kFlashHeadDim = 128;             // for which kernels are made

struct Side {
  bool column = false;  // outputs are split over the group
  bool row = false;     // inputs are
};

Side SideOf(Part part) {
  switch (part) {
    case Part::kQuery:
    case Part::kKey:
    case Part::kValue:
    case Part::kQkv:
    case Part::kQueryUp:
    case Part::kKeyValueUp:
    case Part::kCrossQuery:
    case Part::kCrossKey:
    case Part::kCrossValue:
    case Part::kMlpGate:
    case Part::kMlpUp:
    case Part::kMlpGateUp:
    case Part::kExpertGate:
    case Part::kExpertUp:
    case Part::kExpertGateUp:
    case Part::kSharedExpertGate:
    case Part::kSharedExpertUp:
    case Part::kTokenEmbedding:
    case Part::kHead:
      return {.column = true};
    case Part::kAttentionOutput:
    case Part::kCrossAttentionOutput:
    case Part::kMlpDown:
    case Part::kExpertDown:
    case Part::kSharedExpertDown:
      return {.row = true};
    default:
      return {};
  }
}

bool IsExpert(Part part) {
  return part == Part::kExpertGate || part == Part::kExpertUp || part == Part::kExpertGateUp ||
         part == Part::kExpertDown;
}

bool LowPrecision(Precision precision) {
  return precision != Precision::kBf16 && precision != Precision::kFp16;
}

// Sums costs of operators.
class Adder {
 public:
  Adder(const BlockSettings& settings)
      : s_(settings),
        c_(settings.configuration),
        bandwidth_(settings.device.memory_bytes_per_second * settings.parameters.memory) {}

  void Product(const Matmul& product, bool low_precision);
  void Attention(const Matmul& scores);
  // `elements` read and written, forward.
  void Elementwise(double elements);

  BlockCost cost;
  double product_forward = 0;  // seconds of `cost.forward`

 private:
  double Rate(bool low_precision) const;

  const BlockSettings& s_;
  const Configuration& c_;
  const double bandwidth_;
};

double Adder::Rate(bool low_precision) const {
  const DeviceParameters& p = s_.parameters;
  const double wide = s_.device.PeakFlops(c_.precision == Precision::kFp16 ? "f16" : "bf16");
  if (!low_precision || !LowPrecision(c_.precision)) return wide * p.matmul_16;
  if (c_.precision == Precision::kNvFp4) return s_.device.PeakFlops("f4e2m1fn") * p.matmul_4;
  return s_.device.PeakFlops("f8e4m3fn") * p.matmul_8;
}

void Adder::Product(const Matmul& product, bool low_precision) {
  const bool expert = product.kind == MatmulKind::kExperts;
  const Side side = SideOf(product.part);
  const double group = static_cast<double>(expert ? c_.etp : c_.tp);
  double m = static_cast<double>(product.m) / static_cast<double>(c_.cp);
  double experts = 1;
  if (expert) {
    // Every GPU brings its own share of the tokens, and gets as many rows back, of its experts.
    experts = static_cast<double>(product.batch) / static_cast<double>(c_.ep);
    m *= static_cast<double>(c_.etp) / static_cast<double>(c_.tp);
  } else if (!side.column && !side.row && c_.sequence_parallel) {
    m /= static_cast<double>(c_.tp);
  }
  const double n = static_cast<double>(product.n) / (side.column ? group : 1);
  const double k = static_cast<double>(product.k) / (side.row ? group : 1);
  const double flops = 2 * m * n * k;
  const double arithmetic =
      flops / (Rate(low_precision) * SideEfficiency(m / experts, n, k, s_.parameters.half_side));
  const double traffic = kBytes * (m * k + experts * n * k + m * n) / bandwidth_;
  const double kernels = expert ? std::max(1.0, experts * s_.framework.expert_kernels) : 1;
  const double seconds = std::max(arithmetic, traffic) + s_.parameters.kernel_seconds * kernels;
  cost.forward += seconds;
  product_forward += seconds;
  cost.backward += product.backward_products * seconds;
  cost.flops += product.Flops(/*dense=*/false) * (1 + product.backward_products);
}

void Adder::Attention(const Matmul& scores) {
  const double pairs = static_cast<double>(scores.pairs) * static_cast<double>(scores.batch) /
                       static_cast<double>(c_.cp * c_.tp);
  const double keys = static_cast<double>(scores.n);
  const double head = static_cast<double>(scores.k);
  const double flops = 4 * pairs * head;
  const double efficiency = s_.parameters.attention * s_.framework.attention * keys /
                            (keys + kFlashHalfSequence) *
                            std::min(1.0, std::sqrt(head / kFlashHeadDim));
  const double scores_bytes = kBytes * s_.framework.score_traffic * static_cast<double>(scores.m) *
                              keys * static_cast<double>(scores.batch) /
                              static_cast<double>(c_.cp * c_.tp);
  const double forward = flops / (s_.device.PeakFlops("f16") * efficiency) +
                         scores_bytes / bandwidth_ + s_.parameters.kernel_seconds;
  cost.forward += forward;
  cost.attention_forward += forward;
  cost.backward += forward * kFlashBackward / kFlashBackwardEfficiency;
}

void Adder::Elementwise(double elements) {
  const double seconds =
      s_.framework.elementwise * kBytes * elements / bandwidth_ + s_.parameters.kernel_seconds;
  cost.forward += seconds;
  cost.backward += 2 * seconds;
}

void AddParameters(const std::vector<Tensor>& tensors, const Configuration& c, BlockCost* cost) {
  for (const Tensor& tensor : tensors) {
    const Side side = SideOf(tensor.part);
    const double elements = static_cast<double>(tensor.elements());
    if (IsExpert(tensor.part)) {
      cost->expert_parameters += elements / static_cast<double>(c.ep * c.etp);
    } else {
      cost->parameters += elements / static_cast<double>(side.column || side.row ? c.tp : 1);
    }
  }
}

}  // namespace

double SideEfficiency(double m, double n, double k, double half_side) {
  return m / (m + half_side) * n / (n + half_side) * k / (k + half_side);
}

BlockCost LayerCost(const Model& model, const Stack& stack, const Layer& layer,
                    const BlockSettings& s) {
  const Configuration& c = s.configuration;
  const double tp = static_cast<double>(c.tp);
  const double rows = static_cast<double>(c.micro_batch * s.sequence) / static_cast<double>(c.cp);
  const double hidden = static_cast<double>(model.hidden);
  const Attention& a = layer.attention;
  const double queries = static_cast<double>(a.heads * a.qk_head_dim);
  const double values = static_cast<double>(a.heads * a.v_head_dim);
  const double keys_values = static_cast<double>(a.kv_heads * (a.qk_head_dim + a.v_head_dim));

  Adder adder(s);
  double kept_products = 0;  // elements that products put out
  for (const Matmul& product :
       LayerMatmuls(model, stack, layer, {.sequences = c.micro_batch, .tokens = s.sequence})) {
    if (product.kind == MatmulKind::kScores) {
      adder.Attention(product);
      adder.cost.flops += 3 * product.Flops(/*dense=*/false);
    } else if (product.kind == MatmulKind::kValues) {
      adder.cost.flops += 3 * product.Flops(/*dense=*/false);
    } else {
      adder.Product(product, /*low_precision=*/product.part != Part::kRouter);
      const bool split = SideOf(product.part).column || product.kind == MatmulKind::kExperts;
      kept_products += static_cast<double>(product.m) / static_cast<double>(c.cp) *
                       static_cast<double>(product.n) / (split || c.sequence_parallel ? tp : 1);
    }
  }
  // Norms and residual sums of the two halves; rotation; activation of the MLP.
  const double spread = c.sequence_parallel ? tp : 1;
  const double residual = rows * hidden / spread;
  adder.Elementwise(5 * residual);
  adder.Elementwise(5 * residual);
  adder.Elementwise(2 * rows * (queries + keys_values / 2) / tp);
  double inner = 0;  // elements that enter and leave the activation
  if (layer.mlp.has_value()) {
    inner = rows * static_cast<double>(layer.mlp->ffn) * (layer.mlp->gated ? 3 : 2) / tp;
  } else {
    const Moe& moe = *layer.moe;
    const double chosen = rows / tp * static_cast<double>(moe.top_k);
    inner = chosen * static_cast<double>(moe.expert.ffn) * (moe.expert.gated ? 3 : 2) +
            rows / tp * static_cast<double>(moe.shared.ffn) * 3;
    adder.Elementwise(4 * chosen * hidden);  // sorting by expert and back
    adder.cost.expert_bytes = chosen * hidden * kBytes;
    adder.cost.experts_per_token = static_cast<double>(moe.top_k);
  }
  adder.Elementwise(inner);
  BlockCost cost = adder.cost;
  if (c.tp > 1) {
    cost.tensor_bytes = rows * hidden * kBytes;
    cost.tensor_passes = layer.moe.has_value() && c.etp == 1 && layer.moe->shared.ffn == 0 ? 2 : 4;
  }
  if (c.cp > 1) cost.context_bytes = rows * keys_values / tp * kBytes;
  AddParameters(LayerTensors(model, stack, layer), c, &cost);

  // What each half reads (normed and not), queries to attention's result, and the MLP's inside.
  const double input = residual * kBytes;
  const double all =
      kBytes * (5 * residual + rows * (queries + keys_values + values) / tp + inner) +
      (layer.moe.has_value() ? 2 * cost.expert_bytes : 0);
  switch (c.recompute) {
    case Recompute::kNone:
      cost.saved_bytes = all;
      break;
    case Recompute::kSelective:
      if (s.framework.framework == "fsdp") {
        // torchtitan keeps every other product and attention's result.
        cost.saved_bytes = input + kBytes * (rows * values / tp + kept_products / 2);
        cost.recompute = cost.forward - adder.product_forward / 2 - cost.attention_forward;
        cost.again_flops = 0;
      } else {
        cost.saved_bytes = all;
      }
      break;
    case Recompute::kFull:
      cost.saved_bytes = input;
      cost.recompute = cost.forward;
      cost.again_flops = cost.flops / 3;
      break;
  }
  cost.transient_bytes = all;
  return cost;
}

BlockCost EmbeddingCost(const Model& model, const BlockSettings& s) {
  const Configuration& c = s.configuration;
  Adder adder(s);
  const double rows = static_cast<double>(c.micro_batch * s.sequence) / static_cast<double>(c.cp);
  for (const Matmul& product :
       EmbeddingMatmuls(model, {.sequences = c.micro_batch, .tokens = s.sequence})) {
    adder.Product(product, /*low_precision=*/false);
  }
  adder.Elementwise(3 * rows * static_cast<double>(model.hidden));
  std::vector<Tensor> tensors;
  for (const Tensor& tensor : Tensors(model)) {
    if (tensor.layer_kind < 0 && !tensor.mtp && GroupOf(tensor.part) == PartGroup::kEmbedding) {
      tensors.push_back(tensor);
    }
  }
  AddParameters(tensors, c, &adder.cost);
  return adder.cost;
}

BlockCost HeadCost(const Model& model, const BlockSettings& s, double* logits_bytes) {
  const Configuration& c = s.configuration;
  Adder adder(s);
  const double rows = static_cast<double>(c.micro_batch * s.sequence) / static_cast<double>(c.cp);
  for (const Matmul& product :
       HeadMatmuls(model, {.sequences = c.micro_batch, .tokens = s.sequence})) {
    adder.Product(product, /*low_precision=*/false);
  }
  const double logits = model.head.every_token ? rows * static_cast<double>(model.head.outputs) /
                                                     static_cast<double>(c.tp)
                                               : 0;
  // Softmax in f32: read, written in 4 bytes, read for the sum and for the gradient.
  adder.Elementwise(4 * logits);
  // Logits and their gradient in 2 bytes, both in 4.
  *logits_bytes = 12 * logits;
  std::vector<Tensor> tensors;
  for (const Tensor& tensor : Tensors(model)) {
    if (tensor.layer_kind < 0 && !tensor.mtp && GroupOf(tensor.part) != PartGroup::kEmbedding) {
      tensors.push_back(tensor);
    }
  }
  AddParameters(tensors, c, &adder.cost);
  return adder.cost;
}

}  // namespace meshwright::transformer
