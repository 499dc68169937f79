#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/strings.h"
#include "meshwright/sharding/call_config.h"
#include "meshwright/sharding/call_table.h"
#include "meshwright/sharding/rule_builders.h"
#include "meshwright/sharding/rules/dimension_lists.h"

// Calls of libraries whose rules depend on more than shapes: matrix products and convolutions by
// their dimension numbers, solvers by the rank of what they are given.

namespace meshwright::rules {
namespace {

Reduction SumsOf(const Shape& shape) {
  return shape.type == ElementType::kPred ? Reduction::kOr : Reduction::kSum;
}

// Position of the only `letter` in `labels`; kNoDim if there is none.
int64_t LabelAt(std::string_view labels, char letter) {
  const size_t at = labels.find(letter);
  return at == std::string_view::npos ? kNoDim : static_cast<int64_t>(at);
}

// Bytes without a meaning: scratch memory.
bool IsWorkspace(const Shape& shape) {
  return shape.rank() == 1 && (shape.type == ElementType::kU8 || shape.type == ElementType::kS8);
}

// A product of `lhs` [m.., k..] and `rhs` [k.., n..], each the other way round where transposed;
// `lhs_cut` and `rhs_cut` are where the second half of dimensions begins.
struct ProductSides {
  size_t lhs, rhs;  // operands
  bool lhs_transposed, rhs_transposed;
  int64_t lhs_cut, rhs_cut;
};

void ProductOfSides(RuleBuilder& builder, const ProductSides& sides) {
  const int64_t lhs_rank = builder.operand(sides.lhs).rank();
  const int64_t rhs_rank = builder.operand(sides.rhs).rank();
  const int64_t lhs_k = sides.lhs_transposed ? 0 : sides.lhs_cut;
  const int64_t lhs_m = sides.lhs_transposed ? sides.lhs_cut : 0;
  const int64_t rhs_k = sides.rhs_transposed ? sides.rhs_cut : 0;
  const int64_t rhs_n = sides.rhs_transposed ? 0 : sides.rhs_cut;
  const int64_t k = sides.lhs_transposed ? sides.lhs_cut : lhs_rank - sides.lhs_cut;
  const int64_t m = lhs_rank - k;
  const int64_t rhs_ks = sides.rhs_transposed ? rhs_rank - sides.rhs_cut : sides.rhs_cut;
  const int64_t n = rhs_rank - rhs_ks;
  if (k < 1 || m < 0 || n < 0 || k != rhs_ks || builder.result(0).rank() != m + n)
    return builder.Unsupported();
  const auto operands = [&](int64_t lhs, int64_t rhs) {
    std::vector<int64_t> dims(std::max(sides.lhs, sides.rhs) + 1, kNoDim);
    dims[sides.lhs] = lhs;
    dims[sides.rhs] = rhs;
    return dims;
  };
  double flops = 2 * ElementCount(builder.result(0));
  for (int64_t d = 0; d < m; ++d) builder.Parallel(operands(lhs_m + d, kNoDim), {d});
  for (int64_t d = 0; d < n; ++d) builder.Parallel(operands(kNoDim, rhs_n + d), {m + d});
  for (int64_t d = 0; d < k; ++d) {
    flops *= static_cast<double>(builder.OperandSize(sides.lhs, lhs_k + d));
    builder.Reduce(operands(lhs_k + d, rhs_k + d), SumsOf(builder.result(0)));
  }
  builder.Flops(flops, KernelClass::kMatmul);
}

}  // namespace

// gemm(a, b, [c], [bias], ...) with a dot's dimension numbers. What is added to the product, or
// done with it, is added once: then the contracted dimensions stay whole.
void LibraryGemm(RuleBuilder& builder) {
  const std::optional<InputJson> config =
      CallConfigObject(builder.instruction(), "gemm_backend_config");
  if (!config.has_value()) return builder.Unsupported();
  const auto found = config->find("dot_dimension_numbers");
  if (found == config->end() || !found->is_object()) return builder.Unsupported();
  const std::vector<int64_t> lhs_batch = NumbersOf(*found, "lhs_batch_dimensions");
  const std::vector<int64_t> rhs_batch = NumbersOf(*found, "rhs_batch_dimensions");
  const std::vector<int64_t> lhs_contracting = NumbersOf(*found, "lhs_contracting_dimensions");
  const std::vector<int64_t> rhs_contracting = NumbersOf(*found, "rhs_contracting_dimensions");
  if (lhs_batch.size() != rhs_batch.size() || lhs_contracting.size() != rhs_contracting.size())
    return builder.Unsupported();
  const std::string epilogue = config->value("epilogue", "DEFAULT");
  const auto beta = config->find("beta");
  const bool plain = (epilogue == "DEFAULT" || epilogue.empty()) &&
                     (beta == config->end() || (beta->is_number() && beta->get<double>() == 0));
  int64_t out = 0;
  for (size_t i = 0; i < lhs_batch.size(); ++i)
    builder.Parallel({lhs_batch[i], rhs_batch[i]}, {out++}, i == 0 ? 'b' : '?');
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const auto& batch = side == 0 ? lhs_batch : rhs_batch;
    const auto& contracting = side == 0 ? lhs_contracting : rhs_contracting;
    for (int64_t d = 0; d < builder.operand(side).rank(); ++d) {
      if (Contains(batch, d) || Contains(contracting, d)) continue;
      builder.Parallel({side == 0 ? d : kNoDim, side == 1 ? d : kNoDim}, {out++},
                       side == 0 ? 'm' : 'n');
    }
  }
  if (out != builder.result(0).rank()) builder.Unsupported();
  double flops = 2 * ElementCount(builder.result(0));
  for (size_t i = 0; i < lhs_contracting.size(); ++i) {
    flops *= static_cast<double>(builder.OperandSize(0, lhs_contracting[i]));
    if (plain)
      builder.Reduce({lhs_contracting[i], rhs_contracting[i]}, SumsOf(builder.result(0)), 'k');
  }
  builder.Flops(flops, KernelClass::kMatmul);
}

// te_gemm(a, scales of a, b, scales of b, bias, ...), contracted from an axis of each on.
void TransformerEngineGemm(RuleBuilder& builder) {
  const std::string& config = builder.instruction().backend_config;
  const std::optional<int64_t> lhs = CallConfigNumber(config, "lhs_axis_boundary");
  const std::optional<int64_t> rhs = CallConfigNumber(config, "rhs_axis_boundary");
  const std::optional<bool> lhs_transposed = CallConfigFlag(config, "lhs_transposed");
  const std::optional<bool> rhs_transposed = CallConfigFlag(config, "rhs_transposed");
  if (!lhs || !rhs || !lhs_transposed || !rhs_transposed) return builder.Unsupported();
  ProductOfSides(builder, {.lhs = 0,
                           .rhs = 2,
                           .lhs_transposed = *lhs_transposed,
                           .rhs_transposed = *rhs_transposed,
                           .lhs_cut = *lhs,
                           .rhs_cut = *rhs});
}

// Forward (input, kernel) -> output, and the gradients (output, kernel) -> input and (input,
// output)
// -> kernel. Whatever the result lacks of batch, input and output features is summed over; space
// stays whole. `dim_labels` names the dimensions of input, kernel and output in all three.
void LibraryConvolution(RuleBuilder& builder) {
  const std::string* text = FindAttribute(builder.instruction(), "dim_labels");
  if (text == nullptr) return builder.Unsupported();
  const std::vector<std::string> halves = absl::StrSplit(*text, absl::ByString("->"));
  const std::vector<std::string> sides =
      halves.empty() ? std::vector<std::string>() : absl::StrSplit(halves[0], '_');
  if (halves.size() != 2 || sides.size() != 2) return builder.Unsupported();
  enum Role : size_t { kInput, kKernel, kOutput };
  const std::array<std::string_view, 3> labels = {sides[0], sides[1], halves[1]};
  const std::string& target = builder.instruction().custom_call_target;
  const bool of_input = target.find("BackwardInput") != std::string::npos;
  const bool of_kernel = target.find("BackwardFilter") != std::string::npos;
  const std::array<Role, 2> operands = {of_input ? kOutput : kInput, of_kernel ? kOutput : kKernel};
  const Role result = of_input ? kInput : of_kernel ? kKernel : kOutput;
  // A bias or an activation follows the sum.
  const bool plain = target.find("Bias") == std::string::npos;
  struct Letter {
    char label;
    std::array<char, 3> in;  // by role; 0: not there
  };
  constexpr std::array<Letter, 3> kLetters = {
      {{'b', {'b', 0, 'b'}}, {'i', {'f', 'i', 0}}, {'o', {0, 'o', 'f'}}}};
  const std::string* groups = FindAttribute(builder.instruction(), "feature_group_count");
  const bool grouped =
      builder.instruction().feature_group_count > 1 || (groups != nullptr && *groups != "1");
  double flops = 2;
  for (const Role role : {kInput, kKernel, kOutput}) {
    // Every output element meets every element of the kernel but those of other output features.
    if (role == kInput) continue;
    const size_t operand = operands[0] == role ? 0 : operands[1] == role ? 1 : 2;
    const Shape& shape = operand < 2 ? builder.operand(operand) : builder.result(0);
    if (role == kOutput) flops *= ElementCount(shape);
    if (role == kKernel) {
      const int64_t o = LabelAt(labels[kKernel], 'o');
      if (o == kNoDim || o >= shape.rank() || shape.dims[o] == 0) return builder.Unsupported();
      flops *= ElementCount(shape) / static_cast<double>(shape.dims[o]);
    }
  }
  for (const Letter& letter : kLetters) {
    // Groups tie input features to output features.
    if (grouped && letter.label != 'b') continue;
    const auto at = [&](Role role) {
      return letter.in[role] == 0 ? kNoDim : LabelAt(labels[role], letter.in[role]);
    };
    const std::vector<int64_t> dims = {at(operands[0]), at(operands[1])};
    if (letter.in[result] != 0) {
      builder.Parallel(dims, {at(result)}, letter.label);
    } else if (plain) {
      builder.Reduce(dims, SumsOf(builder.result(0)), letter.label);
    }
  }
  builder.Flops(flops, KernelClass::kMatmul);
}

// Solvers and factorizations: matrices of a batch are independent. What goes before the last two
// dimensions of the first operand goes before whatever the others hold for a matrix.
void BatchedMatrices(RuleBuilder& builder) {
  const int64_t batch = builder.operand(0).rank() - 2;
  if (batch < 0) return builder.Unsupported();
  for (int64_t d = 0; d < batch; ++d) {
    const int64_t size = builder.OperandSize(0, d);
    std::vector<int64_t> operands, results;
    bool reached = true;
    for (size_t i = 0; i < builder.operand_count(); ++i) {
      const Shape& shape = builder.operand(i);
      operands.push_back(shape.rank() >= batch && shape.dims[d] == size ? d : kNoDim);
    }
    for (size_t i = 0; i < builder.result_count(); ++i) {
      const Shape& shape = builder.result(i);
      if (IsWorkspace(shape)) continue;
      results.resize(i, kNoDim);
      results.push_back(shape.rank() >= batch && shape.dims[d] == size ? d : kNoDim);
      reached = reached && results.back() != kNoDim;
    }
    // A result that the batch does not reach would have to be made of all of it.
    if (reached) builder.Parallel(operands, results);
  }
  // Of the order of a product of the matrices; which factorization it is matters less.
  const Shape& matrix = builder.operand(0);
  const double n = static_cast<double>(matrix.dims[batch]);
  builder.Flops(ElementCount(matrix) * n);
}

// Attention of Transformer Engine: the notation says what is sharded; the mask, of how many keys a
// query sees.
void TransformerEngineAttention(RuleBuilder& builder) {
  BuildNotation(*FindCall(builder.instruction().custom_call_target), builder);
  // NVTE_Mask_Type: 0 none, 1 padding; those beyond are causal.
  const std::optional<int64_t> mask =
      CallConfigNumber(builder.instruction().backend_config, "mask_type");
  if (mask.value_or(0) > 1) builder.ScaleFlops(0.5);
}

}  // namespace meshwright::rules
