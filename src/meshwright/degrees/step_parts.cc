// Operators by roofline. A matmul takes the longer of its arithmetic, at the efficiency of its
// shape, and its memory traffic; everything between matmuls is memory traffic. Backward, a matmul
// has two of the same size and elementwise operations read about twice as much. Flash attention
// recomputes the scores: 5 matmuls backward for 2 forward (Dao et al. 2022).

#include "meshwright/degrees/step_parts.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "meshwright/model/recurrence.h"
#include "meshwright/model/tensors.h"

namespace meshwright::transformer {
namespace {

constexpr double kFlashBackward = 2.5;
constexpr double kFlashBackwardEfficiency = 0.8;  // of the forward's: more shared memory traffic
constexpr double kFlashHalfSequence = 512;        // keys at which attention reaches half
constexpr double kFlashHeadDim = 128;             // for which kernels are made
// Kept of a score where they go through memory, beside softmax and dropout's result: its mask
// (Korthikanti et al. 2022, section 4.1).
constexpr double kMaskBytes = 1;
constexpr double kNvFp4Bytes = 9.0 / 16;  // 4 bits, and 8 of a scale for each 16 elements
constexpr double kSumBytes = 8;  // of a row, for a norm over several GPUs: two sums in 4 bytes

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
    case Part::kMtpProjection:
    case Part::kRecurrenceInput:
    case Part::kRecurrenceGate:
    case Part::kTimeStep:
    case Part::kTimeStepBias:
    case Part::kInputGate:
    case Part::kInputGateBias:
    case Part::kDecayGate:
    case Part::kDecayGateBias:
    case Part::kConvolution:
    case Part::kDecay:
    case Part::kSkip:
    case Part::kRecurrenceNorm:
    case Part::kReceptance:
    case Part::kLayerEmbedding:
    case Part::kIndexQuery:
      return {.column = true};
    case Part::kAttentionOutput:
    case Part::kCrossAttentionOutput:
    case Part::kMlpDown:
    case Part::kExpertDown:
    case Part::kSharedExpertDown:
    case Part::kSelection:
    case Part::kRecurrenceOutput:
      return {.row = true};
    default:
      return {};
  }
}

bool IsExpert(Part part) {
  return part == Part::kExpertGate || part == Part::kExpertUp || part == Part::kExpertGateUp ||
         part == Part::kExpertDown;
}

// Sums costs of operators.
class Adder {
 public:
  explicit Adder(const BlockSettings& settings)
      : s_(settings),
        c_(settings.configuration),
        sequences_(static_cast<double>(settings.configuration.micro_batch)) {}

  void AddMatmul(const Matmul& matmul, bool low_precision);
  void AddGridMatmul(const Matmul& matmul);
  void Attention(const Matmul& scores);
  void Scan(const Matmul& matmul);
  // Flops alone: of scores, or of values, whose time Attention has.
  void AddPairs(const Matmul& matmul);
  // `elements` read and written, forward.
  void Elementwise(double elements);

  BlockCost cost;
  double matmul_forward = 0;                    // seconds of `cost.forward`
  double latent_forward = 0, latent_flops = 0;  // of the matmuls behind latents, forward
  double attention_flops = 0;                   // forward
  double kept_scores = 0;                       // of one GPU, with every pair

 private:
  const BlockSettings& s_;
  const Configuration& c_;
  const double sequences_;
};

void Adder::AddPairs(const Matmul& matmul) {
  cost.flops += 3 * sequences_ * matmul.Flops(/*dense=*/false);
}

void Adder::AddMatmul(const Matmul& matmul, bool low_precision) {
  const bool expert = matmul.kind == MatmulKind::kExperts;
  const Side side = SideOf(matmul.part);
  const double group = static_cast<double>(expert ? c_.etp : c_.tp);
  double m = sequences_ * static_cast<double>(matmul.m) / static_cast<double>(c_.cp);
  double experts = 1;
  if (expert) {
    // Every GPU brings its own share of the tokens, and gets as many rows back, of its experts.
    experts = static_cast<double>(matmul.batch) / static_cast<double>(c_.ep);
    m *= static_cast<double>(c_.etp) / static_cast<double>(c_.tp);
  } else if (!side.column && !side.row && c_.sequence_parallel) {
    m /= static_cast<double>(c_.tp);
  }
  const double n = static_cast<double>(matmul.n) / (side.column ? group : 1);
  const double k = static_cast<double>(matmul.k) / (side.row ? group : 1);
  const double flops = 2 * m * n * k;
  const double arithmetic = flops / ((low_precision ? s_.rates.matmuls : s_.rates.matmuls_16) *
                                     SideEfficiency(m / experts, n, k, s_.rates.half_side));
  const double traffic =
      s_.rates.element_bytes * (m * k + experts * n * k + m * n) / s_.rates.memory_bytes;
  const double kernels = expert ? std::max(1.0, experts * s_.framework.expert_kernels) : 1;
  const double seconds = std::max(arithmetic, traffic) + s_.rates.kernel_seconds * kernels;
  cost.forward += seconds;
  matmul_forward += seconds;
  if (matmul.part == Part::kQueryUp || matmul.part == Part::kKeyValueUp) {
    latent_forward += seconds;
    latent_flops += sequences_ * matmul.Flops(/*dense=*/false);
  }
  cost.backward += matmul.backward_matmuls * seconds;
  cost.flops += sequences_ * matmul.Flops(/*dense=*/false) * (1 + matmul.backward_matmuls);
}

// SUMMA (van de Geijn and Watts 1997): every panel of the inner size is a matmul that adds to the
// same outputs, which are read and written each time. Backward has two such matmuls.
void Adder::AddGridMatmul(const Matmul& matmul) {
  const double panels = static_cast<double>(c_.panels);
  const double m = sequences_ * static_cast<double>(matmul.m) / static_cast<double>(c_.cp * c_.tp2);
  const double n = static_cast<double>(matmul.n) / static_cast<double>(c_.tp1());
  const double k = static_cast<double>(matmul.k);
  const double arithmetic =
      2 * m * n * k / (s_.rates.matmuls * SideEfficiency(m, n, k / panels, s_.rates.half_side));
  const double traffic =
      s_.rates.element_bytes * (m * k + n * k + (2 * panels - 1) * m * n) / s_.rates.memory_bytes;
  const double seconds = std::max(arithmetic, traffic) + s_.rates.kernel_seconds * panels;
  cost.forward += seconds;
  matmul_forward += seconds;
  cost.backward += matmul.backward_matmuls * seconds;
  cost.flops += sequences_ * matmul.Flops(/*dense=*/false) * (1 + matmul.backward_matmuls);
  cost.grid.push_back({.input_bytes = s_.rates.element_bytes * m * k,
                       .weight_bytes = s_.rates.element_bytes * n * k,
                       .forward = seconds,
                       .backward = matmul.backward_matmuls * seconds});
}

// Attention's speed by the number of keys, as a multiple of DeviceRates::attention. Up to
// kFittedKeys it was fitted to runs, in which it stands for much that is done once a token, too;
// beyond that, kernels that do all else beside matmuls approach `most`.
double AttentionSpeed(double keys, double most) {
  constexpr double kFittedKeys = 8192;
  const auto fitted = [](double n) { return n / (n + kFlashHalfSequence); };
  if (keys <= kFittedKeys || most <= 1) return fitted(keys);
  const double half = kFittedKeys * (most / fitted(kFittedKeys) - 1);
  return most * keys / (keys + half);
}

void Adder::Attention(const Matmul& scores) {
  const double batch = sequences_ * static_cast<double>(scores.batch) /
                       static_cast<double>(c_.cp * c_.tp);  // a GPU's heads
  const double pairs = static_cast<double>(scores.pairs) * batch;
  // Each of a ring's turns sees the keys of one chunk.
  const double turns = c_.context == ContextKind::kRing ? static_cast<double>(c_.cp) : 1;
  const double keys = static_cast<double>(scores.n) / turns;
  const double head = static_cast<double>(scores.k);
  const double flops = 4 * pairs * head;
  const double efficiency =
      s_.framework.attention *
      AttentionSpeed(keys, s_.framework.long_attention ? s_.rates.attention_long : 1) *
      std::min(1.0, std::sqrt(head / kFlashHeadDim));
  const double scores_bytes = s_.rates.element_bytes * s_.framework.score_traffic *
                              static_cast<double>(scores.m) * static_cast<double>(scores.n) * batch;
  const double forward = flops / (s_.rates.attention * efficiency) +
                         scores_bytes / s_.rates.memory_bytes + turns * s_.rates.kernel_seconds;
  const double backward = forward * kFlashBackward / kFlashBackwardEfficiency;
  cost.forward += forward;
  cost.backward += backward;
  cost.attention_forward += forward;
  cost.attention_backward += backward;
  attention_flops += 2 * sequences_ * scores.Flops(/*dense=*/false);
  kept_scores += static_cast<double>(scores.m) * static_cast<double>(scores.n) * batch;
}

// A matmul of each chunk and head in a fused kernel; what it reads and writes is
// RecurrenceTraffic's.
void Adder::Scan(const Matmul& matmul) {
  const double flops = sequences_ * matmul.Flops(/*dense=*/false);
  const double efficiency =
      SideEfficiency(static_cast<double>(matmul.m), static_cast<double>(matmul.n),
                     static_cast<double>(matmul.k), s_.rates.half_side);
  const double seconds =
      flops / static_cast<double>(c_.tp * c_.cp) / (s_.rates.matmuls_16 * efficiency) +
      s_.rates.kernel_seconds;
  cost.forward += seconds;
  cost.backward += matmul.backward_matmuls * seconds;
  matmul_forward += seconds;
  cost.flops += flops * (1 + matmul.backward_matmuls);
}

void Adder::Elementwise(double elements) {
  const double seconds =
      s_.framework.elementwise * s_.rates.element_bytes * elements / s_.rates.memory_bytes +
      s_.rates.kernel_seconds;
  cost.forward += seconds;
  cost.backward += 2 * seconds;
}

void AddParameters(const std::vector<Tensor>& tensors, Block* block) {
  for (const Tensor& tensor : tensors) {
    const Side side = SideOf(tensor.part);
    double& sum = IsExpert(tensor.part)     ? block->over_experts
                  : side.column || side.row ? block->over_tensor
                                            : block->whole;
    sum += static_cast<double>(tensor.elements());
  }
}

// The part of the head that multi-token prediction has as well; returns the logits on one GPU.
double AddHead(const Model& model, const Block& block, const BlockSettings& s, Adder* adder) {
  const Configuration& c = s.configuration;
  for (const Matmul& matmul : block.matmuls) adder->AddMatmul(matmul, /*low_precision=*/false);
  const double rows = static_cast<double>(c.micro_batch * s.sequence) / static_cast<double>(c.cp);
  const double logits = model.head.every_token ? rows * static_cast<double>(model.head.outputs) /
                                                     static_cast<double>(c.tp)
                                               : 0;
  // Softmax in f32: read, written in 4 bytes, read for the sum and for the gradient.
  adder->Elementwise(4 * logits);
  return logits;
}

// Tensors of no layer that are, or are not, of the embedding.
std::vector<Tensor> EndTensors(const Model& model, bool embedding) {
  std::vector<Tensor> tensors;
  for (const Tensor& tensor : Tensors(model)) {
    if (tensor.layer_kind >= 0 || tensor.mtp) continue;
    if ((GroupOf(tensor.part) == PartGroup::kEmbedding) == embedding) tensors.push_back(tensor);
  }
  return tensors;
}

// Parameters on one GPU.
void SetParameters(const Block& block, const Configuration& c, BlockCost* cost) {
  cost->parameters = block.whole + block.over_tensor / static_cast<double>(c.tp);
  cost->expert_parameters = block.over_experts / static_cast<double>(c.ep * c.etp);
}

}  // namespace

namespace {

// The type of matmuls that are not of 8 or 4 bits.
std::string_view WideType(Precision precision) {
  if (precision == Precision::kF32) return "f32";
  return precision == Precision::kFp16 ? "f16" : "bf16";
}

}  // namespace

double SideEfficiency(double m, double n, double k, double half_side) {
  return m / (m + half_side) * n / (n + half_side) * k / (k + half_side);
}

DeviceRates::DeviceRates(const DeviceType& device, const DeviceParameters& parameters,
                         Precision precision)
    : element_bytes(ElementBytes(precision)),
      low_precision(precision != Precision::kBf16 && precision != Precision::kFp16 &&
                    precision != Precision::kF32),
      matmuls_16(device.PeakFlops(WideType(precision)) * parameters.matmul_16),
      attention(device.PeakFlops(WideType(precision)) * parameters.attention),
      attention_long(
          parameters.attention_long > 0 ? parameters.attention_long / parameters.attention : 1),
      memory_bytes(device.memory_bytes_per_second * parameters.memory),
      half_side(parameters.half_side),
      kernel_seconds(parameters.kernel_seconds) {
  switch (precision) {
    case Precision::kBf16:
    case Precision::kFp16:
    case Precision::kF32:
      peak_flops = device.PeakFlops(WideType(precision));
      matmuls = matmuls_16;
      break;
    case Precision::kFp8:
    case Precision::kMxFp8:
      peak_flops = device.PeakFlops("f8e4m3fn");
      matmuls = peak_flops * parameters.matmul_8;
      break;
    case Precision::kNvFp4:
      peak_flops = device.PeakFlops("f4e2m1fn");
      matmuls = peak_flops * parameters.matmul_4;
      break;
  }
}

Block LayerBlock(const Model& model, const Stack& stack, const Layer& layer, int64_t sequence) {
  Block block;
  const Batch batch = {.sequences = 1, .tokens = sequence};
  block.matmuls = LayerMatmuls(model, stack, layer, batch);
  block.tokens = TokensOfStack(model, stack, batch);
  AddParameters(LayerTensors(model, stack, layer), &block);
  return block;
}

Block EmbeddingBlock(const Model& model, int64_t sequence) {
  Block block;
  block.matmuls = EmbeddingMatmuls(model, {.sequences = 1, .tokens = sequence});
  AddParameters(EndTensors(model, /*embedding=*/true), &block);
  return block;
}

Block HeadBlock(const Model& model, int64_t sequence) {
  Block block;
  block.matmuls = HeadMatmuls(model, {.sequences = 1, .tokens = sequence});
  AddParameters(EndTensors(model, /*embedding=*/false), &block);
  return block;
}

Block MtpBlock(const Model& model, int64_t sequence) {
  Block block;
  if (model.mtp.modules == 0) return block;
  Model one = model;
  one.mtp.modules = 1;
  for (const Matmul& matmul : MtpMatmuls(one, {.sequences = 1, .tokens = sequence})) {
    if (matmul.part == Part::kMtpProjection) block.matmuls.push_back(matmul);
  }
  std::vector<Tensor> tensors;
  for (const Tensor& tensor : Tensors(one)) {
    const bool own = tensor.part == Part::kMtpProjection || tensor.part == Part::kMtpHiddenNorm ||
                     tensor.part == Part::kMtpEmbeddingNorm || tensor.part == Part::kMtpFinalNorm;
    if (own) tensors.push_back(tensor);
  }
  AddParameters(tensors, &block);
  return block;
}

namespace {

// Elements on all GPUs of a tensor parallel group, but where a name says otherwise.
struct LayerSizes {
  double rows;                          // tokens on one GPU: no elements
  double residual;                      // on one GPU
  double queries, keys_values, values;  // of a token
  double recurrence;                    // of a token: what a recurrence keeps
  double halves;                        // of the layer: along the sequence, and MLP or experts
  double inner;         // on one GPU: enters and leaves the MLP's activation function
  double kept_matmuls;  // on one GPU: what matmuls put out
};

// Bytes of an element that enters a matmul of 8 or 4 bits.
double KeptInputBytes(Precision precision, const FrameworkParameters& framework) {
  const bool converted = framework.kept_input < ElementBytes(precision);
  return precision == Precision::kNvFp4 && converted ? kNvFp4Bytes : framework.kept_input;
}

// Sets what a layer keeps for the backward phase (Korthikanti et al. 2022, section 4.1, without
// dropout and scores where attention is flash attention's). Elements that enter a matmul may be
// kept in fewer bytes than those that anything else reads.
void SetKept(const Layer& layer, const BlockSettings& s, const Adder& adder, const LayerSizes& n,
             BlockCost* cost) {
  const Configuration& c = s.configuration;
  const Attention& a = layer.attention;
  const double tp = static_cast<double>(c.tp);
  const double rows = n.rows;
  const double bytes = s.rates.element_bytes;
  const double read = s.rates.low_precision ? KeptInputBytes(c.precision, s.framework) : bytes;
  const bool early = s.framework.score_traffic > 0;  // before flash attention

  const double input = n.residual * bytes;
  // Before and behind both norms; masks of two dropouts.
  const double before_norms = n.halves * input, behind_norms = n.halves * n.residual * read;
  const double masks = early ? n.residual * bytes : 0;
  double latents = 0, made_latents = 0;  // of latent attention: before and behind their norms
  if (a.latent.has_value()) {
    const double ranks = static_cast<double>(a.latent->q_rank + a.latent->kv_rank);
    const double spread = c.sequence_parallel ? tp : 1;
    latents = rows * (ranks + static_cast<double>(a.latent->rope_head_dim)) / spread * bytes;
    made_latents = rows * ranks / spread * read;
  }
  const double attended = rows * (n.queries + n.keys_values) / tp * bytes;
  // Attention's result is read by its own backward phase, and by the next matmul.
  const double result = rows * n.values / tp * (bytes + (read < bytes ? read : 0));
  const bool gated =
      layer.moe.has_value() ? layer.moe->expert.gated : layer.mlp.has_value() && layer.mlp->gated;
  const double along = rows * n.recurrence / tp * bytes;
  const double behind_activation = n.inner / (gated ? 3 : 2);
  const double before_activation = n.inner - behind_activation;
  // Tokens as they were sent to the experts. What experts give is not read again: probabilities
  // scale the activation function's result.
  const double at_experts = std::max(cost->expert_bytes, cost->expert_tensor_bytes);
  const double sent = at_experts / bytes * read;
  const double scores = early ? (2 * bytes + kMaskBytes) * adder.kept_scores : 0;
  const double statistics = 4 * rows * static_cast<double>(a.heads) / tp;  // of the softmax

  const double activations = behind_activation * read;
  const double all = before_norms + behind_norms + masks + latents + made_latents + attended +
                     result + along + before_activation * bytes + activations + sent;
  // Gradients of the half that has more, and of what enters it; tokens on their way to experts.
  const double gradients =
      std::max(attended + rows * n.values / tp * bytes + along, n.inner * bytes + at_experts) +
      2 * input + at_experts;
  Recomputation& none = cost->again[static_cast<size_t>(Recompute::kNone)];
  Recomputation& selective = cost->again[static_cast<size_t>(Recompute::kSelective)];
  Recomputation& modules = cost->again[static_cast<size_t>(Recompute::kModules)];
  Recomputation& full = cost->again[static_cast<size_t>(Recompute::kFull)];
  none.saved_bytes = all + (early ? scores : statistics);
  none.transient_bytes = gradients;
  if (s.framework.keeps_every_other_matmul) {
    selective.saved_bytes =
        input + bytes * (rows * n.values / tp + n.kept_matmuls / 2) + along + statistics;
    selective.seconds = cost->forward - adder.matmul_forward / 2 - cost->attention_forward;
    selective.transient_bytes = none.saved_bytes;
  } else {
    // Attention's result is what the next matmul reads: it is kept in any case.
    selective.saved_bytes = all;
    selective.seconds = cost->attention_forward;
    selective.flops = adder.attention_flops;
    selective.transient_bytes = gradients + scores;
  }
  modules.saved_bytes = none.saved_bytes - behind_norms - made_latents - activations;
  modules.seconds = cost->forward - adder.matmul_forward - cost->attention_forward;
  if (a.latent.has_value()) {
    modules.saved_bytes -= attended;
    modules.seconds += adder.latent_forward;
    modules.flops = adder.latent_flops;
  }
  modules.transient_bytes = gradients + none.saved_bytes - modules.saved_bytes;
  full.saved_bytes = input;
  full.seconds = cost->forward;
  full.flops = cost->flops / 3;
  // Recomputed values go as their gradients come, of which the first comes from outside.
  full.transient_bytes = none.saved_bytes + input;
}

}  // namespace

BlockCost LayerCost(const Model& model, const Layer& layer, const Block& block,
                    const BlockSettings& s) {
  const Configuration& c = s.configuration;
  const double tp = static_cast<double>(c.tp);
  const double rows = static_cast<double>(c.micro_batch * block.tokens) / static_cast<double>(c.cp);
  const double hidden = static_cast<double>(model.hidden);
  const Attention& a = layer.attention;
  const double queries = static_cast<double>(a.heads * a.qk_head_dim);
  const double values = static_cast<double>(a.heads * a.v_head_dim);
  const double keys_values = static_cast<double>(a.kv_heads * (a.qk_head_dim + a.v_head_dim));

  Adder adder(s);
  double kept_matmuls = 0;  // elements that matmuls put out
  for (const Matmul& matmul : block.matmuls) {
    if (matmul.kind == MatmulKind::kScores) {
      adder.Attention(matmul);
      adder.AddPairs(matmul);
    } else if (matmul.kind == MatmulKind::kValues) {
      adder.AddPairs(matmul);
    } else if (matmul.kind == MatmulKind::kScan) {
      adder.Scan(matmul);
    } else {
      if (c.tp2 > 1) {
        adder.AddGridMatmul(matmul);
      } else {
        adder.AddMatmul(matmul, /*low_precision=*/matmul.part != Part::kRouter);
      }
      const bool split = SideOf(matmul.part).column || matmul.kind == MatmulKind::kExperts;
      kept_matmuls += static_cast<double>(c.micro_batch * matmul.m) / static_cast<double>(c.cp) *
                      static_cast<double>(matmul.n) / (split || c.sequence_parallel ? tp : 1);
    }
  }
  // Norms and residual sums of the two halves; rotation, or convolution and scan; activation of the
  // MLP.
  const double spread = c.sequence_parallel ? tp : 1;
  const double residual = rows * hidden / spread;
  const bool mixes = layer.attends() || layer.recurrence.has_value();
  if (mixes) adder.Elementwise(5 * residual);
  if (layer.feeds_forward()) adder.Elementwise(5 * residual);
  if (layer.attends()) adder.Elementwise(2 * rows * (queries + keys_values / 2) / tp);
  double recurrence = 0;
  if (layer.recurrence.has_value()) {
    adder.Elementwise(rows * RecurrenceTraffic(*layer.recurrence) / tp);
    recurrence = RecurrenceKept(*layer.recurrence);
  }
  double inner = 0;  // elements that enter and leave the activation
  if (layer.mlp.has_value()) {
    inner = rows * static_cast<double>(layer.mlp->ffn) * (layer.mlp->gated ? 3 : 2) / tp;
  } else if (layer.moe.has_value()) {
    const Moe& moe = *layer.moe;
    const double chosen = rows / tp * static_cast<double>(moe.top_k);
    inner = chosen * static_cast<double>(moe.expert.ffn) * (moe.expert.gated ? 3 : 2) +
            rows / tp * static_cast<double>(moe.shared.ffn) * 3;
    adder.Elementwise(4 * chosen * hidden);  // sorting by expert and back
    adder.cost.expert_bytes = chosen * hidden * s.rates.element_bytes;
    if (c.etp > 1) {
      adder.cost.expert_tensor_bytes = static_cast<double>(c.etp) * adder.cost.expert_bytes;
    }
    adder.cost.experts_per_token = static_cast<double>(moe.top_k);
  }
  if (layer.feeds_forward()) adder.Elementwise(inner);
  BlockCost cost = adder.cost;
  if (c.tp2 > 1) {
    const double rows_bytes = rows / static_cast<double>(c.tp2) * kSumBytes;
    cost.norm_bytes = c.tp1() > 1 ? rows_bytes : 0;
    cost.row_context_bytes =
        rows * keys_values / static_cast<double>(c.tp1()) * s.rates.element_bytes;
  } else if (c.tp > 1) {
    cost.tensor_bytes = rows * hidden * s.rates.element_bytes;
    const bool experts_only = layer.moe.has_value() && layer.moe->shared.ffn == 0;
    cost.tensor_passes = (mixes ? 2 : 0) + (layer.feeds_forward() && !experts_only ? 2 : 0);
  }
  if (c.cp > 1) {
    // Rows of a grid gather keys and values among themselves, and pass them on whole.
    cost.context_bytes = rows * keys_values / static_cast<double>(c.tp1()) * s.rates.element_bytes;
    cost.context_out_bytes = rows * (queries + values) / tp * s.rates.element_bytes;
  }
  SetParameters(block, c, &cost);

  const double halves = (mixes ? 1 : 0) + (layer.feeds_forward() ? 1 : 0);
  SetKept(layer, s, adder,
          {rows, residual, queries, keys_values, values, recurrence, halves, inner, kept_matmuls},
          &cost);
  // Keys and values of the whole sequence, and their gradients; the panels at work.
  double beside = 0;
  if (c.cp > 1 && c.context == ContextKind::kAllGather) {
    beside += 2 * static_cast<double>(c.cp) * cost.context_bytes;
  }
  if (c.tp2 > 1) {
    double panels = 0;
    for (const GridMatmul& matmul : cost.grid) {
      panels = std::max(panels, matmul.input_bytes + matmul.weight_bytes);
    }
    beside += 2 * cost.row_context_bytes + 2 * panels / static_cast<double>(c.panels);
  }
  for (Recomputation& again : cost.again) again.transient_bytes += beside;
  return cost;
}

BlockCost EmbeddingCost(const Model& model, const Block& block, const BlockSettings& s) {
  const Configuration& c = s.configuration;
  Adder adder(s);
  const double rows = static_cast<double>(c.micro_batch * s.sequence) / static_cast<double>(c.cp);
  for (const Matmul& matmul : block.matmuls) adder.AddMatmul(matmul, /*low_precision=*/false);
  adder.Elementwise(3 * rows * static_cast<double>(model.hidden));
  SetParameters(block, c, &adder.cost);
  return adder.cost;
}

BlockCost HeadCost(const Model& model, const Block& block, const BlockSettings& s) {
  Adder adder(s);
  adder.cost.logits = AddHead(model, block, s, &adder);
  SetParameters(block, s.configuration, &adder.cost);
  return adder.cost;
}

BlockCost MtpCost(const Model& model, const Block& block, const Block& head,
                  const BlockSettings& s) {
  const Configuration& c = s.configuration;
  const double residual = static_cast<double>(c.micro_batch * s.sequence) *
                          static_cast<double>(model.hidden) /
                          static_cast<double>(c.cp * (c.sequence_parallel ? c.tp : 1));
  Adder adder(s);
  for (const Matmul& matmul : block.matmuls) adder.AddMatmul(matmul, /*low_precision=*/true);
  // Norms of the hidden state, of the next token's embedding and before the head; the lookup.
  adder.Elementwise(9 * residual);
  adder.cost.logits = AddHead(model, head, s, &adder);
  BlockCost cost = adder.cost;
  SetParameters(block, c, &cost);
  // Both inputs, and both normed.
  for (Recomputation& again : cost.again) again.saved_bytes = 4 * residual * s.rates.element_bytes;
  Recomputation& full = cost.again[static_cast<size_t>(Recompute::kFull)];
  full.saved_bytes = 2 * residual * s.rates.element_bytes;
  return cost;
}

}  // namespace meshwright::transformer
