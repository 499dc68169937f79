#include "meshwright/intra/candidates.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/cost/kernel_rates.h"
#include "meshwright/hlo/element_value.h"
#include "meshwright/intra/alpa_space.h"

namespace meshwright {
namespace {

std::string ShapeKey(const Shape& shape) {
  return StrCat(ElementTypeName(shape.type), "[", absl::StrJoin(shape.dims, ","), "]");
}

bool UsesPending(const Rule& rule, const Strategy& strategy) {
  return std::any_of(strategy.begin(), strategy.end(), [&](FactorIndex f) {
    return f != kNoFactor && rule.factors[f].kind == FactorKind::kPending;
  });
}

// Groups of a ragged product.
double GroupsOf(const Rule& rule) {
  for (const Factor& factor : rule.factors) {
    if (factor.label == 'g') return static_cast<double>(factor.size);
  }
  return 1;
}

// Every sharding that keeps some of `stored`'s axes in their places and gathers the others. Axes
// leave a dimension from its minor end, so that what is left is again a sharding of contiguous
// blocks.
std::vector<Sharding> Gatherings(const Sharding& stored) {
  std::vector<Sharding> result = {stored};
  for (size_t d = 0; d < stored.dims.size(); ++d) {
    const size_t known = result.size();
    for (size_t keep = 0; keep < stored.dims[d].size(); ++keep) {
      for (size_t i = 0; i < known; ++i) {
        Sharding next = result[i];
        next.dims[d].resize(keep);
        result.push_back(std::move(next));
      }
    }
  }
  return result;
}

}  // namespace

ShardingListId ShardingLists::Intern(std::vector<Sharding> list) {
  auto [it, inserted] = ids_.try_emplace(list, ShardingListId(lists_.size()));
  if (inserted) lists_.push_back(std::make_shared<const std::vector<Sharding>>(std::move(list)));
  return it->second;
}

Rule ValueRule(const Shape& shape) {
  Rule rule;
  TensorFactors tensor;
  for (size_t d = 0; d < shape.dims.size(); ++d) {
    tensor.dims.emplace_back();
    if (shape.dims[d] == 1) continue;
    tensor.dims.back().push_back(static_cast<FactorIndex>(rule.factors.size()));
    rule.factors.push_back({.size = shape.dims[d], .label = static_cast<char>('a' + d % 26)});
  }
  rule.operands = {tensor};
  rule.results = {tensor};
  return rule;
}

void SetContractionSizes(const Rule& rule, const Strategy& strategy, const Mesh& mesh, Work* work) {
  if (rule.operands.size() < 2 || rule.results.empty()) return;
  const auto has = [](const TensorFactors& tensor, FactorIndex factor) {
    for (const auto& dim : tensor.dims) {
      if (std::find(dim.begin(), dim.end(), factor) != dim.end()) return true;
    }
    return false;
  };
  work->m = work->n = work->k = work->batch = 1;
  int64_t results = 1, features = 1;
  for (FactorIndex f = 0; f < static_cast<FactorIndex>(rule.factors.size()); ++f) {
    if (rule.factors[f].kind == FactorKind::kPending || rule.factors[f].joint) continue;
    int64_t size = rule.factors[f].size;
    for (size_t axis = 0; axis < strategy.size(); ++axis) {
      if (strategy[axis] != f) continue;
      const int64_t pieces = mesh.axes[axis].size;
      const bool padded = rule.factors[f].uneven && size % pieces != 0;
      size = std::max<int64_t>(1, size / pieces + (padded ? 1 : 0));
    }
    const bool lhs = has(rule.operands[0], f), rhs = has(rule.operands[1], f),
               result = has(rule.results[0], f);
    if (!lhs && !rhs && !result) continue;
    // Groups of a ragged product, each with a result of its own. Those that are summed over are
    // contracted: XLA multiplies with all groups' rows at once.
    const bool group = result && !lhs && !rhs && rule.factors[f].kind == FactorKind::kParallel;
    // Of a head of attention: its depth, which gradients of queries have too, and positions.
    const bool head = lhs && rhs && result && IsAttention(rule.kernel) &&
                      rule.factors[f].kind != FactorKind::kParallel;
    const bool last =
        !rule.results[0].dims.empty() &&
        std::find(rule.results[0].dims.back().begin(), rule.results[0].dims.back().end(), f) !=
            rule.results[0].dims.back().end();
    if (result) results *= size;
    if (result && rhs && !lhs) features *= size;
    if (!result) {
      work->k *= size;
    } else if (head) {
      (last ? work->n : work->m) *= size;
    } else if (group || (lhs && rhs)) {
      work->batch *= size;
    } else if (lhs) {
      work->m *= size;
    } else {
      work->n *= size;
    }
  }
  if (work->opcode == Opcode::kConvolution) {
    // One product of all windows: n are features, m places, k what a result is the sum of.
    // Of results without elements nothing is computed.
    const bool empty = results == 0;
    work->n = features;
    work->m = empty ? 1 : std::max<int64_t>(1, results / (features * work->batch));
    work->k = empty ? 1
                    : std::max<int64_t>(
                          1, static_cast<int64_t>(work->flops / 2 / static_cast<double>(results)));
  }
  // What the joint factor cuts, queries and their heads, are rows.
  for (FactorIndex f = 0; f < static_cast<FactorIndex>(rule.factors.size()); ++f) {
    if (rule.factors[f].joint)
      work->m = std::max<int64_t>(1, work->m / mesh.Size(AxesOf(f, strategy, mesh)));
  }
}

Scratch ScratchOf(const CandidateSet& set, size_t strategy, const Mesh& mesh) {
  const Rule& rule = set.rule;
  const Strategy& chosen = set.strategies[strategy];
  Scratch scratch;
  scratch.bytes = rule.scratch / static_cast<double>(ComputeShards(rule, chosen, mesh));
  if (rule.masked <= 0 || mesh.cluster.device.grouped_products) return scratch;
  scratch.masked = rule.masked;
  for (FactorIndex f = 0; f < static_cast<FactorIndex>(rule.factors.size()); ++f) {
    const bool of_rows = std::any_of(
        rule.operands[0].dims.begin(), rule.operands[0].dims.end(),
        [f](const auto& dim) { return std::find(dim.begin(), dim.end(), f) != dim.end(); });
    if (of_rows || rule.factors[f].label == 'g')
      scratch.masked /= static_cast<double>(mesh.Size(AxesOf(f, chosen, mesh)));
  }
  scratch.bytes += scratch.masked * rule.masked_copies;
  return scratch;
}

OpId LastWithSameRows(const Graph& graph, OpId op) {
  const std::vector<ValueId>& operands = graph[op].operands;
  OpId last = op;
  for (OpId user : graph[operands[0]].users) {
    const Op& other = graph[user];
    if (other.kind != OpKind::kInstruction || other.instruction->opcode != Opcode::kRaggedDot ||
        other.operands[0] != operands[0] || other.operands[2] != operands[2])
      continue;
    if (user < op) return op;
    last = std::max(last, user);
  }
  return last;
}

Rule CandidateSets::RuleOf(OpId op) const {
  Rule rule = RuleFor(graph_, graph_[op]);
  if (graph_[op].kind != OpKind::kOutput && space_ == StrategySpace::kFull) cuts_.Allow(&rule);
  return rule;
}

double CandidateSets::FollowerBytes(OpId leader) const {
  double bytes = 0;
  for (OpId follower : groups_.followers[leader.index()]) {
    const FusionInfo::Traffic& traffic = fusion_.traffic[follower.index()];
    for (double b : traffic.operand_bytes) bytes += b;
    for (double b : traffic.result_bytes) bytes += b;
    bytes += WrittenBytes(follower);
  }
  return bytes;
}

double CandidateSets::WrittenBytes(OpId op) const {
  const std::vector<double>& written = fusion_.traffic[op.index()].result_bytes;
  const Instruction* const instruction = graph_[op].instruction;
  if (written.empty() || instruction == nullptr || instruction->opcode == Opcode::kReduce) return 0;
  const double width = ElementBytes(graph_[graph_[op].results[0]].shape.type);
  return width > 0 ? written[0] / width * std::max(0.0, kWrittenBytes - 2 * width) : 0;
}

bool CandidateSets::IsExact(const Op& op) const {
  if (op.kind != OpKind::kInstruction || op.operands.empty()) return false;
  const std::string* const precision = FindAttribute(*op.instruction, "operand_precision");
  return precision != nullptr && absl::StrContains(*precision, "highest") &&
         graph_[op.operands[0]].shape.type == ElementType::kF32;
}

std::string CandidateSets::Signature(OpId leader, const Rule& rule, bool pending) const {
  const Op& op = graph_[leader];
  const FusionInfo::Traffic& traffic = fusion_.traffic[leader.index()];
  std::string key = StrCat(
      static_cast<int>(op.kind), op.instruction ? OpcodeName(op.instruction->opcode) : "", "|",
      pending, rule.supported, bool{fusion_.kernel[leader.index()]}, op.multiplicity > 1,
      IsExact(op), "|", rule.flops, "|", static_cast<int>(rule.kernel), ":", rule.bytes, ":",
      rule.scratch, ":", rule.masked, "|", FollowerBytes(leader), ":", traffic.repeated, "|");
  for (const Factor& f : rule.factors) {
    StrAppend(&key, f.size, ".", static_cast<int>(f.kind), ".", static_cast<int>(f.reduction),
              f.exchanges ? "x" : "", f.uneven ? "u," : ",");
  }
  const auto append = [&](const TensorFactors& tensor, const Shape& shape, double bytes,
                          bool free) {
    StrAppend(&key, "|", ShapeKey(shape), tensor.pending, tensor.unreduced, free, ":", bytes, ":");
    for (const auto& dim : tensor.dims) {
      StrAppend(&key,
                absl::StrJoin(dim, "*", [](std::string* out, FactorIndex f) { StrAppend(out, f); }),
                ",");
    }
  };
  for (size_t i = 0; i < op.operands.size(); ++i) {
    append(rule.operands[i], graph_[op.operands[i]].shape, traffic.operand_bytes[i],
           fusion_.free[op.operands[i].index()]);
    if (traffic.copy_bytes[i] > 0) StrAppend(&key, "copy:", traffic.copy_bytes[i]);
  }
  key += "->";
  for (size_t i = 0; i < op.results.size(); ++i) {
    append(rule.results[i], graph_[op.results[i]].shape, traffic.result_bytes[i], false);
  }
  return key;
}

// Bytes one device moves of an array, an operand or result with the factors of `tensor` and the
// shardings of `list`, of which all devices together would move `total` unsharded.
double CandidateSets::DeviceShare(double total, const TensorFactors& tensor, ShardingListId list,
                                  const CandidateSet& set, size_t s) const {
  const Mesh& mesh = cost_model_.mesh();
  return total / static_cast<double>(lists_[list][s].shards(mesh)) *
         Padding(set.rule, set.strategies[s], &tensor, mesh);
}

double CandidateSets::ComputeCost(OpId leader, const CandidateSet& set, size_t s) const {
  const Op& op = graph_[leader];
  if (op.kind != OpKind::kInstruction) return 0;
  const Mesh& mesh = cost_model_.mesh();
  const FusionInfo::Traffic& traffic = fusion_.traffic[leader.index()];
  Work work;
  work.opcode = op.instruction->opcode;
  work.kernels = fusion_.kernel[leader.index()] ? 1 : 0;
  work.in_loop = op.multiplicity > 1;
  const bool contraction = work.opcode == Opcode::kDot || work.opcode == Opcode::kConvolution ||
                           work.opcode == Opcode::kRaggedDot || IsProduct(set.rule.kernel);
  work.kernel = set.rule.kernel;
  const std::vector<ValueId>& typical =
      (contraction || op.results.empty()) ? op.operands : op.results;
  if (!typical.empty()) work.element_type = graph_[typical.front()].shape.type;
  const auto shards = static_cast<double>(ComputeShards(set.rule, set.strategies[s], mesh));
  // Where operations are none of plain units, they take longer than what is recomputed.
  const bool loop = !contraction && !HasUnitRate(set.rule.kernel);
  const double repeated = loop ? kRepeatedFlops * traffic.repeated : 0;
  work.flops =
      (set.rule.flops + repeated) / shards * Padding(set.rule, set.strategies[s], nullptr, mesh);
  if (work.opcode == Opcode::kRaggedDot && !mesh.cluster.device.grouped_products)
    work.flops *= GroupsOf(set.rule);
  for (size_t i = 0; i < op.operands.size(); ++i) {
    work.bytes +=
        DeviceShare(traffic.operand_bytes[i], set.rule.operands[i], set.operands[i], set, s);
  }
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (traffic.copy_bytes[i] == 0) continue;
    work.copy_bytes +=
        DeviceShare(traffic.copy_bytes[i], set.rule.operands[i], set.operands[i], set, s);
    work.copies += 1;
  }
  for (size_t i = 0; i < op.results.size(); ++i) {
    work.bytes += DeviceShare(traffic.result_bytes[i], set.rule.results[i], set.results[i], set, s);
  }
  if (!op.results.empty()) {
    const double more = FollowerBytes(leader) + (loop ? WrittenBytes(leader) : 0);
    work.bytes += DeviceShare(more, set.rule.results[0], set.results[0], set, s);
  }
  if (set.rule.bytes >= 0) work.bytes = set.rule.bytes / shards;
  const Scratch scratch = ScratchOf(set, s, mesh);  // written and, but for copies, read by itself
  const double masked = scratch.masked * set.rule.masked_copies;
  work.bytes += 2 * (scratch.bytes - masked);
  work.copy_bytes += masked;  // they are read while the product computes
  work.copies += masked > 0 ? set.rule.masked_copies : 0;
  if (contraction) {
    SetContractionSizes(set.rule, set.strategies[s], mesh, &work);
    if (IsExact(op)) work.plain_share = kExactProducts;
    if (work.opcode == Opcode::kDot) AddAlignmentCopies(op, set, s, &work);
    if (work.opcode == Opcode::kConvolution) SetConvolutionKernel(op, set.rule, &work);
  } else if (work.bytes == 0 && work.copies == 0) {
    return 0;  // fused into its users: no kernel of its own
  }
  return cost_model_.ComputeSeconds(work) + ExchangeSeconds(op, set, s);
}

void CandidateSets::SetConvolutionKernel(const Op& op, const Rule& rule, Work* work) const {
  if (!rule.supported) return;  // of a window and dimensions that do not go together, say
  const Instruction& convolution = *op.instruction;
  const ConvolutionDimensions& dims = convolution.convolution;
  const Shape& filter = graph_[op.operands[1]].shape;
  const Shape& result = graph_[op.result()].shape;
  // Dimensions that a window passes over are never sharded; those of one size are one factor.
  int64_t places = result.elements();
  absl::flat_hash_set<FactorIndex> seen;
  for (const auto& dim : rule.results[0].dims) {
    for (const FactorIndex f : dim) {
      if (seen.insert(f).second) places /= std::max<int64_t>(1, rule.factors[f].size);
    }
  }
  places = std::max<int64_t>(1, places);
  work->m *= places;
  work->k = std::max<int64_t>(1, work->k / places);
  // A gradient of a filter, of which XLA makes a backward convolution: a window that is larger than
  // what it leaves.
  bool backward = true;
  double window = 1;
  for (size_t d = 0; d < convolution.window.size(); ++d) {
    const WindowDimension& along = convolution.window[d];
    backward &= along.stride == 1 && along.base_dilation == 1 && !along.reversal &&
                (along.window_dilation > 1 || along.size > result.dims[dims.output_spatial[d]]);
    window *= static_cast<double>(along.size);
  }
  const int64_t features = filter.dims[dims.kernel_input_feature];
  const bool by_feature = features == 1 && convolution.feature_group_count > 1,
             filter_by_feature = convolution.batch_group_count > 1 &&
                                 convolution.batch_group_count == result.dims[dims.output_feature];
  constexpr size_t kImage = 2;  // dimensions that cuDNN has kernels for
  if ((by_feature && convolution.window.size() != kImage) ||
      (filter_by_feature && (!backward || convolution.window.size() != kImage))) {
    work->plain_share = kDirectConvolutions;
    return;
  }
  if (backward) return;
  // Of what a device sums, its share.
  const double summed = rule.flops / 2 / static_cast<double>(result.elements());
  work->window = window * std::min(1.0, static_cast<double>(work->k) / summed);
  // Tensor cores take eight features at a time (cuDNN); fewer are left to plain units.
  constexpr int64_t kFeatures = 8;
  if (features * convolution.feature_group_count < kFeatures) work->plain_share = kPlainProducts;
}

// XLA pads both operands of products of 16-bit types to multiples of eight, which tensor cores
// want, and cuts the result out of the padded one
// (xla/service/gpu/transforms/cublas_pad_for_gemms): a kernel that copies each.
void CandidateSets::AddAlignmentCopies(const Op& op, const CandidateSet& set, size_t s,
                                       Work* work) const {
  constexpr int64_t kAligned = 8;
  const Mesh& mesh = cost_model_.mesh();
  if (op.operands.size() < 2 || op.results.empty() || ElementBytes(work->element_type) != 2) return;
  const bool m = work->m % kAligned != 0, n = work->n % kAligned != 0, k = work->k % kAligned != 0;
  const bool vector = work->m == 1 || work->n == 1;  // a product of a matrix and a vector
  if (vector) return;
  const auto copy = [&](bool copied, ValueId value, ShardingListId list) {
    if (!copied) return;
    work->copy_bytes +=
        2 * static_cast<double>(BytesPerDevice(graph_[value].shape, lists_[list][s], mesh));
    work->copies += 1;
  };
  copy(m || k, op.operands[0], set.operands[0]);
  copy(k || n, op.operands[1], set.operands[1]);
  copy(m || n, op.result(), set.results[0]);
}

// What devices send each other inside of the operator, along factors that say so.
double CandidateSets::ExchangeSeconds(const Op& op, const CandidateSet& set, size_t s) const {
  const Mesh& mesh = cost_model_.mesh();
  const Strategy& strategy = set.strategies[s];
  double seconds = 0;
  for (FactorIndex f = 0; f < static_cast<FactorIndex>(set.rule.factors.size()); ++f) {
    if (!set.rule.factors[f].exchanges) continue;
    AxisList axes;
    for (size_t a = 0; a < strategy.size(); ++a) {
      if (strategy[a] == f && mesh.axes[a].size > 1) axes.push_back(static_cast<AxisIndex>(a));
    }
    if (axes.empty()) continue;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const auto& dims = set.rule.operands[i].dims;
      const bool has = std::any_of(dims.begin(), dims.end(), [&](const auto& dim) {
        return std::find(dim.begin(), dim.end(), f) != dim.end();
      });
      if (!has) continue;
      const int64_t bytes =
          BytesPerDevice(graph_[op.operands[i]].shape, lists_[set.operands[i]][s], mesh);
      seconds += cost_model_.CollectiveSeconds(CollectiveKind::kCollectivePermute, axes, bytes);
    }
  }
  return seconds;
}

CandidateSet CandidateSets::Build(OpId leader, Rule rule, bool pending) {
  const Op& op = graph_[leader];
  const Mesh& mesh = cost_model_.mesh();
  CandidateSet set;
  const bool alpa = space_ == StrategySpace::kAlpa;
  set.rule = alpa ? PaddedForMesh(std::move(rule), mesh) : std::move(rule);
  set.strategies = EnumerateStrategies(set.rule, mesh, cuts_.orders);
  std::erase_if(set.strategies, [&](const Strategy& s) {
    return (UsesPending(set.rule, s) && !pending) ||
           (alpa && !AllowedByAlpa(op, set.rule, s, mesh));
  });
  const auto list = [&](size_t i, auto sharding_of) {
    std::vector<Sharding> shardings;
    for (const Strategy& s : set.strategies)
      shardings.push_back(*sharding_of(set.rule, s, i, mesh));
    return shardings;
  };
  std::vector<double> at_once(set.strategies.size(), 0);
  for (size_t i = 0; i < op.operands.size(); ++i)
    set.operands.push_back(lists_.Intern(list(i, OperandSharding)));
  for (size_t i = 0; i < op.results.size(); ++i) {
    std::vector<Sharding> shardings = list(i, ResultSharding);
    if (alpa) {
      for (size_t s = 0; s < shardings.size(); ++s) {
        at_once[s] += ReduceAtOnce(graph_[op.results[i]].shape, cost_model_, &shardings[s]);
      }
    }
    set.results.push_back(lists_.Intern(std::move(shardings)));
  }
  for (size_t s = 0; s < set.strategies.size(); ++s) {
    set.cost.push_back(ComputeCost(leader, set, s) + at_once[s]);
  }
  return set;
}

const CandidateSet* CandidateSets::ForGroup(OpId leader, bool pending) {
  Rule rule = RuleOf(leader);
  std::unique_ptr<CandidateSet>& set = sets_[Signature(leader, rule, pending)];
  if (set == nullptr) set = std::make_unique<CandidateSet>(Build(leader, std::move(rule), pending));
  return set.get();
}

const CandidateSet* CandidateSets::ForValue(const Shape& shape) {
  std::unique_ptr<CandidateSet>& set = sets_[StrCat("value:", ShapeKey(shape))];
  if (set != nullptr) return set.get();
  set = std::make_unique<CandidateSet>();
  const Mesh& mesh = cost_model_.mesh();
  set->rule = ValueRule(shape);
  if (space_ == StrategySpace::kAlpa) {
    set->rule = PaddedForMesh(std::move(set->rule), mesh);
  } else {
    cuts_.Allow(&set->rule);
  }
  set->strategies = EnumerateStrategies(set->rule, mesh, cuts_.orders);
  std::vector<Sharding> shardings;
  for (const Strategy& s : set->strategies)
    shardings.push_back(*ResultSharding(set->rule, s, 0, mesh));
  set->operands = {lists_.Intern(shardings)};
  set->results = set->operands;
  set->cost.assign(set->strategies.size(), 0);
  return set.get();
}

const CandidateSet* CandidateSets::ForParameter(const Shape& shape, bool gathered) {
  const CandidateSet& alone =
      *ForValue(shape);  // before taking a reference into sets_, which it may grow
  std::unique_ptr<CandidateSet>& set = sets_[StrCat("parameter:", gathered, ShapeKey(shape))];
  if (set != nullptr) return set.get();
  set = std::make_unique<CandidateSet>();
  set->rule = alone.rule;
  std::vector<Sharding> stored, seen;
  for (size_t s = 0; s < alone.strategies.size(); ++s) {
    const Sharding& sharding = lists_[alone.results[0]][s];
    if (space_ == StrategySpace::kAlpa ? !ParameterAllowedByAlpa(sharding)
                                       : !DividesEvenly(shape, sharding, cost_model_.mesh()))
      continue;
    const double cost = cost_model_.ParameterSeconds(shape, sharding);
    for (const Sharding& gathering :
         gathered ? Gatherings(sharding) : std::vector<Sharding>{sharding}) {
      set->strategies.push_back(alone.strategies[s]);
      stored.push_back(sharding);
      seen.push_back(gathering);
      set->cost.push_back(cost + cost_model_.Reshard(shape, sharding, gathering).seconds);
    }
  }
  set->stored = lists_.Intern(std::move(stored));
  set->results = {lists_.Intern(std::move(seen))};
  return set.get();
}

}  // namespace meshwright
