#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/hlo/element_value.h"
#include "meshwright/sharding/call_config.h"
#include "meshwright/sharding/rule_builders.h"

// cuDNN's fused attention as JAX calls it (jax/_src/cudnn/fused_attention_stablehlo.py): scores
// exist in registers only. Query heads come in groups of r that share the keys and values of one of
// g heads. Samples and groups are independent. Of a group, and of the queries, a part needs all
// keys and values of its group, and gives partial sums of their gradients; queries have a part of
// their own only where no mask counts them from the first. Where devices divide neither g nor r,
// they take query heads across groups (a joint factor), beside all keys and values.

namespace meshwright::rules {
namespace {

struct AttentionConfig {
  bool heads_first = false;  // [b,h,s,d]; else [b,s,h,d]
  bool causal = false;       // key t is seen by queries s >= t
  bool counted = false;      // a mask or an offset counts positions from the first query
  bool padded = false;       // lengths of sequences follow
  bool packed = false;       // several sequences in one sample: offsets follow
  bool paged = false;        // keys and values lie in pages, tables follow
  int64_t window = 0;        // of keys that a query sees; 0: all
};

std::optional<AttentionConfig> ReadConfig(const Instruction& call, bool backward) {
  const std::optional<InputJson> json = CallConfigObject(call, "cudnn_fmha_backend_config");
  if (!json.has_value()) return std::nullopt;
  const auto product =
      json->find(backward ? "bmm2_grad_gemm2_dot_dimension_numbers" : "bmm1_dot_dimension_numbers");
  if (product == json->end() || !product->is_object()) return std::nullopt;
  const std::vector<int64_t> batch = NumbersOf(*product, "lhs_batch_dimensions");
  if (batch.size() != 2) return std::nullopt;
  AttentionConfig config;
  config.heads_first = batch[1] == 1;
  const std::string mask = json->value("mask_type", "NO_MASK");
  config.causal = mask == "CAUSAL" || mask == "PADDING_CAUSAL";
  config.packed = NumberOr(*json, "max_seg_per_batch", 1) > 1;
  config.padded = mask == "PADDING" || mask == "PADDING_CAUSAL" || config.packed;
  config.window = NumberOr(*json, "sliding_window_length", 0);
  config.counted = mask != "NO_MASK" || config.window > 0 || config.packed;
  const auto paged = json->find("is_paged_attention");
  config.paged = paged != json->end() && paged->is_boolean() && paged->get<bool>();
  return config;
}

// Pairs of a query and a key that meet, of one head of one sample.
double AttendedPairs(int64_t queries, int64_t keys, const AttentionConfig& config) {
  const auto s = static_cast<double>(queries), t = static_cast<double>(keys);
  if (!config.causal) return s * (config.window > 0 ? std::min<double>(t, config.window) : t);
  // Query i sees min(i + 1, most) keys.
  const double most = config.window > 0 ? std::min<double>(t, config.window) : t;
  const double growing = std::min(s, most);
  return growing * (growing + 1) / 2 + (s - growing) * most;
}

// States the factors of one call. Tensors are named by what they hold; a factor that a tensor does
// not have, or that is not its size (a bias for all samples), is left out of it.
class AttentionFactors {
 public:
  AttentionFactors(RuleBuilder& builder, const AttentionConfig& config, bool backward)
      : builder_(builder), config_(config), backward_(backward) {
    operands_.resize(builder.operand_count());
    results_.resize(builder.result_count());
    for (size_t i = 0; i < operands_.size(); ++i)
      operands_[i].dims.resize(builder.operand(i).dims.size());
    for (size_t i = 0; i < results_.size(); ++i)
      results_[i].dims.resize(builder.result(i).dims.size());
  }

  void Build() {
    if (operands_.size() < 3 || builder_.operand(0).rank() != 4 ||
        builder_.operand(1).rank() != 4 || builder_.operand(2).rank() != 4) {
      return builder_.Unsupported();
    }
    const int64_t head = config_.heads_first ? 1 : 2, sequence = 3 - head;
    batch_ = builder_.operand(0).dims[0];
    const int64_t heads = builder_.operand(0).dims[head];
    groups_ = builder_.operand(1).dims[head];
    queries_ = builder_.operand(0).dims[sequence];
    keys_ = builder_.operand(1).dims[sequence];
    if (groups_ < 1 || heads % groups_ != 0) return builder_.Unsupported();
    shared_ = heads / groups_;
    // A backward kernel adds up the gradients of keys and values over what shares them.
    const FactorKind sharing = backward_ ? FactorKind::kReduction : FactorKind::kParallel;
    b_ = New(batch_, config_.packed ? FactorKind::kWhole : FactorKind::kParallel, 'b');
    g_ = New(groups_, FactorKind::kParallel, 'g');
    r_ = New(shared_, sharing, 'r');
    if (groups_ > 1 && shared_ > 1) {
      h_ = New(heads, sharing, 'h');
      factors_[h_].joint = true;
    }
    s_ = New(queries_, config_.counted ? FactorKind::kWhole : sharing, 's');
    t_ = New(keys_, FactorKind::kWhole, 't');
    d_ = New(builder_.operand(0).dims[3], FactorKind::kWhole, 'd');
    e_ = New(builder_.operand(2).dims[3], FactorKind::kWhole, 'e');
  }

  void Queries(TensorFactors& tensor, FactorIndex depth) { Sequences(tensor, true, s_, depth); }
  void Keys(TensorFactors& tensor, FactorIndex depth) { Sequences(tensor, false, t_, depth); }

  // Results always have heads before positions.
  void QueriesOut(TensorFactors& tensor, FactorIndex depth) {
    Dims(tensor, {{b_}, {g_, r_, h_}, {s_}, {depth}});
  }
  void KeysOut(TensorFactors& tensor, FactorIndex depth) {
    Dims(tensor, {{b_}, {g_}, {t_}, {depth}});
  }
  void Statistics(TensorFactors& tensor) { Dims(tensor, {{b_}, {g_, r_, h_}, {s_}}); }
  void Bias(TensorFactors& tensor) { Dims(tensor, {{b_}, {g_, r_, h_}, {s_}, {t_}}); }
  // One or more numbers a sample.
  void PerSample(TensorFactors& tensor) { Dims(tensor, {{b_}}); }

  std::vector<TensorFactors>& operands() { return operands_; }
  std::vector<TensorFactors>& results() { return results_; }
  FactorIndex d() const { return d_; }
  FactorIndex e() const { return e_; }

  // A bias for all samples or heads: its gradient is a sum over them.
  void ReduceWhatLacks(const TensorFactors& gradient) {
    for (const FactorIndex f : {b_, g_, r_, h_, s_}) {
      if (f != kNoFactor && !HasFactor(gradient, f)) Combine(f, Reduction::kSum);
    }
  }

  // The largest magnitudes of results, of which every part has its own. A sum and a maximum over
  // one factor do not go together.
  void ReduceMagnitudes() {
    for (const FactorIndex f : {b_, g_, r_, h_, s_}) {
      if (f == kNoFactor) continue;
      if (factors_[f].kind == FactorKind::kReduction) {
        factors_[f].kind = FactorKind::kWhole;
        factors_[f].reduction = Reduction::kNone;
      }
      Combine(f, Reduction::kMax);
    }
  }

  void Finish() {
    const double pairs = static_cast<double>(batch_) * static_cast<double>(groups_ * shared_) *
                         AttendedPairs(queries_, config_.paged ? keys_ * Pages() : keys_, config_);
    const auto depth = static_cast<double>(builder_.operand(0).dims[3]);
    const auto value_depth = static_cast<double>(builder_.operand(2).dims[3]);
    // Forward: q k' and p v. Backward: q k' again, do v', and the three gradients.
    const double products = backward_ ? 6 * depth + 4 * value_depth : 2 * depth + 2 * value_depth;
    builder_.Flops(pairs * products,
                   backward_ ? KernelClass::kAttentionBackward : KernelClass::kAttention);
    if (backward_) builder_.Scratch(GradientBytes());
    builder_.State(factors_, operands_, results_);
  }

 private:
  FactorIndex New(int64_t size, FactorKind kind, char label) {
    if (size == 1) return kNoFactor;
    const Reduction reduction = kind == FactorKind::kReduction ? Reduction::kSum : Reduction::kNone;
    factors_.push_back({.size = size, .kind = kind, .reduction = reduction, .label = label});
    return static_cast<FactorIndex>(factors_.size() - 1);
  }

  void Dims(TensorFactors& tensor, const std::vector<std::vector<FactorIndex>>& dims) {
    const Shape& shape = ShapeOf(tensor);
    for (size_t d = 0; d < dims.size() && d < tensor.dims.size(); ++d) {
      int64_t size = 1;
      for (FactorIndex f : dims[d]) size *= f == kNoFactor || f == h_ ? 1 : factors_[f].size;
      if (size != shape.dims[d]) continue;
      for (FactorIndex f : dims[d]) {
        if (f != kNoFactor) tensor.dims[d].push_back(f);
      }
    }
  }

  const Shape& ShapeOf(const TensorFactors& tensor) {
    const bool operand =
        &tensor >= operands_.data() && &tensor < operands_.data() + operands_.size();
    return operand ? builder_.operand(&tensor - operands_.data())
                   : builder_.result(&tensor - results_.data());
  }

  void Sequences(TensorFactors& tensor, bool of_queries, FactorIndex position, FactorIndex depth) {
    const bool pages = config_.paged && !of_queries;
    std::vector<FactorIndex> heads = {g_};
    if (of_queries) heads.insert(heads.end(), {r_, h_});
    const std::vector<FactorIndex> batch = {pages ? kNoFactor : b_};
    const std::vector<FactorIndex> positions = {pages ? kNoFactor : position};
    if (config_.heads_first) {
      Dims(tensor, {batch, heads, positions, {depth}});
    } else {
      Dims(tensor, {batch, positions, heads, {depth}});
    }
  }

  void Combine(FactorIndex f, Reduction reduction) {
    if (factors_[f].kind == FactorKind::kWhole) return;
    factors_[f].kind = FactorKind::kReduction;
    factors_[f].reduction = reduction;
  }

  // Pages of one sample: the table [b,1,pages,1] says.
  int64_t Pages() {
    const Shape& table = builder_.operand(builder_.operand_count() - 1);
    return table.rank() == 4 ? table.dims[2] : 1;
  }

  // The gradient of queries in f32, to which every block of keys adds; a row sum a query; and where
  // heads are shared the gradients of keys and values of every query head, before they are added.
  double GradientBytes() {
    const double rows = static_cast<double>(batch_) * static_cast<double>(groups_ * shared_);
    const auto depth = static_cast<double>(builder_.operand(0).dims[3]);
    const auto value_depth = static_cast<double>(builder_.operand(2).dims[3]);
    double bytes = 4 * rows * static_cast<double>(queries_) * (depth + 1);
    if (shared_ > 1) {
      bytes += static_cast<double>(ElementBytes(builder_.operand(1).type)) * rows *
               static_cast<double>(keys_) * (depth + value_depth);
    }
    return bytes;
  }

  RuleBuilder& builder_;
  const AttentionConfig& config_;
  const bool backward_;
  int64_t batch_ = 1, groups_ = 1, shared_ = 1, queries_ = 1, keys_ = 1;
  std::vector<Factor> factors_;
  std::vector<TensorFactors> operands_, results_;
  FactorIndex b_ = kNoFactor, g_ = kNoFactor, r_ = kNoFactor, h_ = kNoFactor, s_ = kNoFactor,
              t_ = kNoFactor, d_ = kNoFactor, e_ = kNoFactor;
};

// Which of the calls it is, by the parts of its name.
bool NameHas(RuleBuilder& builder, std::string_view part) {
  return builder.instruction().custom_call_target.find(part) != std::string::npos;
}

}  // namespace

// fmha(q, k, v, [bias], [lengths of queries, of keys], [their offsets], [pages of keys, of values])
// -> (o, [statistics], workspace)
void FusedAttention(RuleBuilder& builder) {
  const std::optional<AttentionConfig> config = ReadConfig(builder.instruction(), false);
  if (!config.has_value()) return builder.Unsupported();
  AttentionFactors factors(builder, *config, /*backward=*/false);
  factors.Build();
  std::vector<TensorFactors>& in = factors.operands();
  std::vector<TensorFactors>& out = factors.results();
  if (in.size() < 3 || out.empty()) return builder.Unsupported();
  factors.Queries(in[0], factors.d());
  factors.Keys(in[1], factors.d());
  factors.Keys(in[2], factors.e());
  size_t next = 3;
  if (NameHas(builder, "Bias") && next < in.size()) factors.Bias(in[next++]);
  if (config->padded || config->packed || config->paged) {
    for (; next < in.size(); ++next) factors.PerSample(in[next]);
  }
  factors.QueriesOut(out[0], factors.e());
  for (size_t i = 1; i < out.size(); ++i) {
    if (builder.result(i).rank() == 3) factors.Statistics(out[i]);
  }
  if (NameHas(builder, "F8")) factors.ReduceMagnitudes();
  factors.Finish();
}

// fmha_backward(q, k, v, statistics, do, [bias], o, [lengths of queries, of keys], [their offsets])
// -> (dq, dk, dv, [dbias], workspace)
void FusedAttentionBackward(RuleBuilder& builder) {
  const std::optional<AttentionConfig> config = ReadConfig(builder.instruction(), true);
  if (!config.has_value()) return builder.Unsupported();
  AttentionFactors factors(builder, *config, /*backward=*/true);
  factors.Build();
  std::vector<TensorFactors>& in = factors.operands();
  std::vector<TensorFactors>& out = factors.results();
  const bool biased = NameHas(builder, "Bias");
  const bool quantized = NameHas(builder, "F8");
  if (in.size() < (biased ? 7 : 6) || out.size() < 3) return builder.Unsupported();
  factors.Queries(in[0], factors.d());
  factors.Keys(in[1], factors.d());
  factors.Keys(in[2], factors.e());
  if (quantized) {  // o, do, statistics, then scales
    factors.Queries(in[3], factors.e());
    factors.Queries(in[4], factors.e());
    factors.Statistics(in[5]);
  } else {
    factors.Statistics(in[3]);
    factors.Queries(in[4], factors.e());
    size_t next = 5;
    if (biased) factors.Bias(in[next++]);
    factors.Queries(in[next++], factors.e());
    for (; next < in.size(); ++next) factors.PerSample(in[next]);
  }
  factors.QueriesOut(out[0], factors.d());
  factors.KeysOut(out[1], factors.d());
  factors.KeysOut(out[2], factors.e());
  if (biased && out.size() > 3 && builder.result(3).rank() == 4) {
    factors.Bias(out[3]);
    factors.ReduceWhatLacks(out[3]);
  }
  if (quantized) factors.ReduceMagnitudes();
  factors.Finish();
}

}  // namespace meshwright::rules
