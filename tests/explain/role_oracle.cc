#include "tests/explain/role_oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "meshwright/explain/parallelism.h"
#include "meshwright/sharding/rule.h"

namespace meshwright {
namespace {

bool Contains(const AxisList& axes, AxisIndex axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

bool Cuts(const Sharding& sharding, AxisIndex axis) {
  return std::any_of(sharding.dims.begin(), sharding.dims.end(),
                     [&](const AxisList& axes) { return Contains(axes, axis); });
}

// The result is the operand with other types, places or parts of its elements.
bool Rearranges(const Op& op) {
  if (op.kind == OpKind::kLoopParameter) return true;
  if (op.kind != OpKind::kInstruction || op.operands.empty()) return false;
  switch (op.instruction->opcode) {
    case Opcode::kBitcast:
    case Opcode::kConvert:
    case Opcode::kCopy:
    case Opcode::kDynamicSlice:
    case Opcode::kReshape:
    case Opcode::kSlice:
    case Opcode::kTranspose:
      return true;
    default:
      return false;
  }
}

}  // namespace

RoleOracle::RoleOracle(const PlannedProgram& planned)
    : planned_(planned), graph_(planned.program.graph) {}

// The first in program order: in a training step that is one of the forward pass.
std::optional<RoleOracle::Product> RoleOracle::FirstProduct(ValueId weight) const {
  std::set<ValueId> shown = {weight};
  std::optional<Product> first;
  bool grew = true;
  while (grew) {
    grew = false;
    for (const Carry& carry : graph_.carries) {
      if (shown.contains(carry.init)) grew |= shown.insert(carry.parameter).second;
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const Op& op = graph_.ops[i];
      if (op.operands.empty() || !shown.contains(op.operands[0])) continue;
      if (Rearranges(op) && !op.results.empty()) grew |= shown.insert(op.results[0]).second;
    }
  }
  for (size_t i = 0; i < graph_.ops.size() && !first.has_value(); ++i) {
    const Op& op = graph_.ops[i];
    if (op.kind != OpKind::kInstruction || op.instruction->opcode != Opcode::kDot) continue;
    for (size_t k = 0; k < op.operands.size(); ++k) {
      if (!first.has_value() && shown.contains(op.operands[k])) first = Product{OpId(i), k};
    }
  }
  return first;
}

// Whether a parameter of the optimizer that has the weight's shape, and a name that ends like the
// weight's, is cut along `axis`.
bool RoleOracle::StateIsCut(size_t parameter, AxisIndex axis) const {
  const auto key = [&](size_t p) {
    const std::string name = ParameterName(graph_, graph_.parameters[p]);
    // "state[1]['layer0']['wq']", or "state_1___layer0____wq__.1" where there is no metadata.
    const size_t begin = std::min(name.find("['"), name.find("___"));
    return begin == std::string::npos ? name : name.substr(begin, name.rfind('.') - begin);
  };
  const auto value = [&](size_t p) { return graph_[graph_.parameters[p]].results[0]; };
  for (size_t p = 0; p < graph_.parameters.size(); ++p) {
    if (p == parameter || key(p) != key(parameter) ||
        graph_[value(p)].shape.dims != graph_[value(parameter)].shape.dims)
      continue;
    if (Cuts(planned_.intra.shardings[value(p).index()], axis)) return true;
  }
  return false;
}

std::string RoleOracle::RoleOf(size_t parameter, const Product& product, AxisIndex axis) const {
  const Op& op = graph_[product.op];
  const PlannedOp& planned = planned_.intra.ops[product.op.index()];
  const DotDimensions& dot = op.instruction->dot;
  const bool left = product.operand == 0;
  const auto& batch = left ? dot.lhs_batch : dot.rhs_batch;
  const auto& contracting = left ? dot.lhs_contracting : dot.rhs_contracting;
  const Sharding weight =
      *OperandSharding(planned.rule, planned.strategy, product.operand, planned_.mesh);
  const Sharding other =
      *OperandSharding(planned.rule, planned.strategy, 1 - product.operand, planned_.mesh);
  const auto in = [](const std::vector<int64_t>& list, size_t d) {
    return std::find(list.begin(), list.end(), static_cast<int64_t>(d)) != list.end();
  };
  for (size_t d = 0; d < weight.dims.size(); ++d) {
    if (!Contains(weight.dims[d], axis)) continue;
    return in(contracting, d) ? "tensor row" : in(batch, d) ? "expert" : "tensor column";
  }
  // Of the dimensions that only the activations have, the first runs over the batch.
  const auto& other_batch = left ? dot.rhs_batch : dot.lhs_batch;
  const auto& other_contracting = left ? dot.rhs_contracting : dot.lhs_contracting;
  std::string work = "replicated";
  bool batch_seen = false;
  for (size_t d = 0; d < other.dims.size(); ++d) {
    if (in(other_batch, d) || in(other_contracting, d)) continue;
    if (Contains(other.dims[d], axis)) work = batch_seen ? "sequence" : "data";
    batch_seen = true;
  }
  const ValueId kept = graph_[graph_.parameters[parameter]].results[0];
  const bool stored = Cuts(planned_.intra.shardings[kept.index()], axis);
  if (work == "replicated") return stored ? "stored" : "replicated";
  if (stored) return "FSDP";
  return StateIsCut(parameter, axis) ? "ZeRO-1" : work;
}

std::optional<std::vector<std::string>> RoleOracle::RolesOf(size_t parameter) const {
  const std::optional<Product> product =
      FirstProduct(graph_[graph_.parameters[parameter]].results[0]);
  if (!product.has_value()) return std::nullopt;
  std::vector<std::string> roles;
  for (size_t a = 0; a < planned_.mesh.rank(); ++a)
    roles.push_back(RoleOf(parameter, *product, static_cast<AxisIndex>(a)));
  return roles;
}

std::map<std::string, int> ExpectAsOracle(const PlannedProgram& planned) {
  const std::vector<PlanPart> parts = PartsOf(planned.plan);
  const std::vector<ParameterParallelism> judged = JudgeParameters(parts[0]);
  const RoleOracle oracle(planned);
  std::map<std::string, int> kinds;
  for (size_t p = 0; p < judged.size(); ++p) {
    if (planned.plan.program.parameters[p].category != MemoryCategory::kParameters) continue;
    const std::optional<std::vector<std::string>> expected = oracle.RolesOf(p);
    if (!expected.has_value()) continue;
    std::vector<std::string> roles;
    for (AxisRole role : judged[p].roles) roles.emplace_back(AxisRoleName(role));
    EXPECT_EQ(roles, *expected) << planned.plan.program.parameters[p].name;
    ++kinds[KindName(judged[p].roles)];
  }
  return kinds;
}

}  // namespace meshwright
