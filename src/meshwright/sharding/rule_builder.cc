#include "meshwright/sharding/rule_builder.h"

#include <limits>
#include <string_view>
#include <utility>

#include "meshwright/hlo/reduction.h"

namespace meshwright {
namespace {

const Shape& NoShape() {
  static const Shape* const shape = new Shape;
  return *shape;
}

Reduction ReductionOf(BodyKind body) {
  switch (body) {
    case BodyKind::kAdd:
      return Reduction::kSum;
    case BodyKind::kMultiply:
      return Reduction::kProduct;
    case BodyKind::kMaximum:
      return Reduction::kMax;
    case BodyKind::kMinimum:
      return Reduction::kMin;
    case BodyKind::kAnd:
      return Reduction::kAnd;
    case BodyKind::kOr:
      return Reduction::kOr;
    case BodyKind::kOther:
      break;
  }
  return Reduction::kOther;
}

std::vector<TensorFactors> Blank(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<TensorFactors> tensors(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    tensors[i].dims.resize(graph[values[i]].shape.dims.size());
  return tensors;
}

}  // namespace

double ElementCount(const Shape& shape) {
  double count = 1;
  for (int64_t size : shape.dims) count *= static_cast<double>(size);
  return count;
}

RuleBuilder::RuleBuilder(const Graph& graph, const Op& op) : graph_(graph), op_(op) {
  rule_.operands = Blank(graph, op.operands);
  rule_.results = Blank(graph, op.results);
}

const Shape& RuleBuilder::operand(size_t i) {
  if (i < op_.operands.size()) return graph_[op_.operands[i]].shape;
  Unsupported();
  return NoShape();
}

const Shape& RuleBuilder::result(size_t i) {
  if (i < op_.results.size()) return graph_[op_.results[i]].shape;
  Unsupported();
  return NoShape();
}

int64_t RuleBuilder::OperandSize(size_t i, int64_t dim) {
  const Shape& shape = operand(i);
  if (dim >= 0 && dim < shape.rank()) return shape.dims[dim];
  Unsupported();
  return 1;
}

int64_t RuleBuilder::ResultSize(size_t i, int64_t dim) {
  const Shape& shape = result(i);
  if (dim >= 0 && dim < shape.rank()) return shape.dims[dim];
  Unsupported();
  return 1;
}

Reduction RuleBuilder::BodyReduction(size_t i) const {
  if (graph_.module == nullptr || i >= instruction().called.size()) return Reduction::kOther;
  return ReductionOf(ClassifyBody(*graph_.module, instruction().called[i]));
}

int64_t RuleBuilder::CommonSize(Dims operand_dims, Dims result_dims) {
  int64_t size = -1;
  auto merge = [&](int64_t other) {
    if (size >= 0 && other != size) Unsupported();
    size = other;
  };
  for (size_t i = 0; i < operand_dims.size(); ++i) {
    if (operand_dims[i] != kNoDim) merge(OperandSize(i, operand_dims[i]));
  }
  for (size_t i = 0; i < result_dims.size(); ++i) {
    if (result_dims[i] != kNoDim) merge(ResultSize(i, result_dims[i]));
  }
  return size < 0 ? 1 : size;
}

void RuleBuilder::Parallel(Dims operand_dims, Dims result_dims, char label) {
  Add(FactorKind::kParallel, CommonSize(operand_dims, result_dims), operand_dims, result_dims,
      Reduction::kNone, label);
}

void RuleBuilder::Reduce(Dims operand_dims, Reduction reduction, char label) {
  if (reduction == Reduction::kOther) return;
  Add(FactorKind::kReduction, CommonSize(operand_dims, {}), operand_dims, {}, reduction, label);
}

void RuleBuilder::Add(FactorKind kind, int64_t size, Dims operand_dims, Dims result_dims,
                      Reduction reduction, char label) {
  if (size == 1) return;
  FactorIndex factor = NewFactor({size, kind, reduction, label});
  Place(rule_.operands, operand_dims, factor);
  Place(rule_.results, result_dims, factor);
}

void RuleBuilder::Pending(Reduction reduction, absl::Span<const size_t> operands, size_t result) {
  for (size_t i : operands) {
    if (i >= rule_.operands.size()) return Unsupported();
    rule_.operands[i].pending = true;
  }
  if (result >= rule_.results.size()) return Unsupported();
  rule_.results[result].pending = true;
  NewFactor({1, FactorKind::kPending, reduction, '+'});
}

void RuleBuilder::Same(size_t operand_index, size_t result_index) {
  if (operand(operand_index).dims != result(result_index).dims) return Unsupported();
  std::vector<int64_t> operand_dims(operand_index + 1, kNoDim),
      result_dims(result_index + 1, kNoDim);
  for (int64_t d = 0; d < operand(operand_index).rank(); ++d) {
    operand_dims[operand_index] = result_dims[result_index] = d;
    Parallel(operand_dims, result_dims);
  }
}

void RuleBuilder::State(std::vector<Factor> factors, std::vector<TensorFactors> operands,
                        std::vector<TensorFactors> results) {
  rule_.factors = std::move(factors);
  rule_.operands = std::move(operands);
  rule_.results = std::move(results);
}

// Rules beyond FactorIndex's range (tens of thousands of different dimensions) are not worth one.
FactorIndex RuleBuilder::NewFactor(const Factor& factor) {
  if (rule_.factors.size() >= static_cast<size_t>(std::numeric_limits<FactorIndex>::max())) {
    Unsupported();
    return kNoFactor;
  }
  rule_.factors.push_back(factor);
  return static_cast<FactorIndex>(rule_.factors.size() - 1);
}

FactorIndex RuleBuilder::WholeFactor(int64_t size) {
  auto [it, inserted] = whole_.try_emplace(size, kNoFactor);
  if (inserted) it->second = NewFactor({size, FactorKind::kWhole, Reduction::kNone, '?'});
  return it->second;
}

void RuleBuilder::Place(std::vector<TensorFactors>& tensors, Dims dims, FactorIndex factor) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == kNoDim) continue;
    if (i >= tensors.size() || dims[i] < 0 ||
        dims[i] >= static_cast<int64_t>(tensors[i].dims.size()) || factor == kNoFactor) {
      return Unsupported();
    }
    tensors[i].dims[dims[i]].push_back(factor);
  }
}

// Completes every dimension with a kWhole factor of what its factors leave. False if they do not
// divide its size.
bool RuleBuilder::FillWhole(std::vector<TensorFactors>& tensors,
                            const std::vector<ValueId>& values) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    for (size_t d = 0; d < tensors[i].dims.size(); ++d) {
      int64_t rest = graph_[values[i]].shape.dims[d];
      for (FactorIndex f : tensors[i].dims[d]) {
        if (rule_.factors[f].joint) continue;
        int64_t size = rule_.factors[f].size;
        if (size == 0 ? rest != 0 : rest % size != 0) return false;
        if (size != 0) rest /= size;
      }
      bool empty_factor = rest == 0 && !tensors[i].dims[d].empty();
      if (rest == 1 || empty_factor) continue;
      FactorIndex whole = WholeFactor(rest);
      if (whole != kNoFactor) tensors[i].dims[d].push_back(whole);
    }
  }
  return true;
}

void RuleBuilder::MakeAllWhole() {
  Rule rule;
  rule.supported = false;
  rule.flops = rule_.flops;
  rule_ = std::move(rule);
  rule_.operands = Blank(graph_, op_.operands);
  rule_.results = Blank(graph_, op_.results);
  whole_.clear();
  FillWhole(rule_.operands, op_.operands);
  FillWhole(rule_.results, op_.results);
}

// Letters for the factors that have none: capitals for kWhole, small ones for the others.
void RuleBuilder::Label() {
  constexpr std::string_view kSmall = "ijklmnopqrstuvwxyzabcdefgh";
  constexpr std::string_view kCapital = "WXYZABCDEFGHIJKLMNOPQRSTUV";
  bool taken[256] = {};
  for (const Factor& factor : rule_.factors) taken[static_cast<unsigned char>(factor.label)] = true;
  for (Factor& factor : rule_.factors) {
    if (factor.label != '?') continue;
    for (char letter : factor.kind == FactorKind::kWhole ? kCapital : kSmall) {
      if (taken[static_cast<unsigned char>(letter)]) continue;
      taken[static_cast<unsigned char>(letter)] = true;
      factor.label = letter;
      break;
    }
  }
}

Rule RuleBuilder::Build() && {
  if (supported_) {
    supported_ = FillWhole(rule_.operands, op_.operands) && FillWhole(rule_.results, op_.results) &&
                 supported_;
  }
  if (!supported_) MakeAllWhole();
  Label();
  return std::move(rule_);
}

}  // namespace meshwright
