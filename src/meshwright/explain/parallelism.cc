#include "meshwright/explain/parallelism.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace meshwright {
namespace {

// Its result is its first operand in another form.
bool IsView(const PlanInstruction& instruction) {
  using enum PlanOpcode;
  constexpr auto kKinds =
      std::to_array({kBitcast, kBitcastConvert, kBroadcast, kConvert, kCopy, kDynamicSlice,
                     kLoopParameter, kReducePrecision, kReshape, kTranspose, kReverse, kSlice});
  return std::find(kKinds.begin(), kKinds.end(), instruction.opcode) != kKinds.end();
}

// Computes no element of its result from one element of each operand.
bool IsNotElementwise(const PlanInstruction& instruction) {
  using enum PlanOpcode;
  constexpr auto kKinds =
      std::to_array({kConvolution, kDot, kDynamicSlice, kGather, kLoopExit, kLoopParameter,
                     kRaggedDot, kReduce, kReduceWindow, kScatter, kSort});
  return std::find(kKinds.begin(), kKinds.end(), instruction.opcode) != kKinds.end();
}

double Elements(const std::vector<int64_t>& shape) {
  double elements = 1;
  for (int64_t size : shape) elements *= static_cast<double>(size);
  return elements;
}

struct Use {
  size_t instruction = 0, operand = 0;
};

// Where a weight is used, and what of its own dimensions is cut there.
struct WeightUse {
  size_t instruction = 0, operand = 0;
  std::vector<std::string> axes;
};

class Judge {
 public:
  explicit Judge(const PlanPart& part) : part_(part), users_(part.instructions.size()) {
    const std::vector<PlanInstruction>& instructions = part.instructions;
    for (size_t i = 0; i < instructions.size(); ++i) {
      knows_batch_ = knows_batch_ || instructions[i].batch_dimension.has_value();
      knows_phases_ = knows_phases_ || instructions[i].phase.has_value();
      if (instructions[i].opcode == PlanOpcode::kParameter) parameters_.push_back(i);
      // The second operand of a loop-parameter comes from the iteration before.
      const size_t operands = instructions[i].opcode == PlanOpcode::kLoopParameter
                                  ? std::min<size_t>(1, instructions[i].operands.size())
                                  : instructions[i].operands.size();
      for (size_t k = 0; k < operands; ++k)
        users_[static_cast<size_t>(instructions[i].operands[k])].push_back({i, k});
    }
  }

  std::vector<ParameterParallelism> Run() {
    std::vector<ParameterParallelism> all(part_.parameters.size());
    for (ParameterParallelism& one : all)
      one.roles.assign(part_.mesh.size(), AxisRole::kReplicated);
    // A document that lists other parameters than its instructions does not say how they are used.
    if (parameters_.size() != part_.parameters.size()) return all;
    FindState(all);
    for (size_t p = 0; p < all.size(); ++p) {
      const PlanTensor& tensor = part_.parameters[p];
      if (tensor.category == MemoryCategory::kOptimizerState) continue;
      if (tensor.category == MemoryCategory::kInputs && knows_batch_ && IsData(p)) {
        JudgeData(p, all[p]);
      } else {
        JudgeWeight(p, all[p]);
      }
    }
    for (size_t p = 0; p < all.size(); ++p) {
      if (part_.parameters[p].category == MemoryCategory::kOptimizerState) JudgeState(p, all);
    }
    return all;
  }

 private:
  const PlanInstruction& At(size_t i) const { return part_.instructions[i]; }
  const PlanInstruction& Parameter(size_t p) const { return At(parameters_[p]); }
  bool IsData(size_t p) const { return Parameter(p).batch_dimension.has_value(); }

  // ---- optimizer state ----

  // A weight's new value is computed elementwise from the old one and the optimizer's state of it.
  void FindState(std::vector<ParameterParallelism>& all) {
    absl::flat_hash_map<std::string_view, size_t> by_name;
    absl::flat_hash_map<size_t, size_t> by_instruction;
    for (size_t p = 0; p < all.size(); ++p) {
      by_name.try_emplace(part_.parameters[p].name, p);
      by_instruction[parameters_[p]] = p;
    }
    state_axes_.resize(all.size());
    constexpr std::string_view kTied = "as ";
    for (const PlanInstruction& output : part_.instructions) {
      if (output.opcode != PlanOpcode::kOutput || output.operands.empty() ||
          !output.strategy.starts_with(kTied))
        continue;
      const auto weight = by_name.find(std::string_view(output.strategy).substr(kTied.size()));
      if (weight == by_name.end() ||
          part_.parameters[weight->second].category != MemoryCategory::kParameters)
        continue;
      for (size_t i : UpdatedFrom(static_cast<size_t>(output.operands[0]))) {
        const size_t p = by_instruction.at(i);
        if (part_.parameters[p].category != MemoryCategory::kOptimizerState) continue;
        all[p].state_of = weight->second;
        for (std::string& axis : AxesOfSpec(part_.parameters[p].spec))
          state_axes_[weight->second].insert(std::move(axis));
      }
    }
  }

  // The parameters of as many elements that instruction `last` is computed from elementwise.
  std::vector<size_t> UpdatedFrom(size_t last) const {
    constexpr size_t kMostInstructions = 1000;  // optimizers take a few dozen
    std::vector<size_t> open = {last}, found;
    absl::flat_hash_set<size_t> seen = {last};
    const double elements = Elements(At(last).type.shape);
    while (!open.empty() && seen.size() < kMostInstructions) {
      const size_t i = open.back();
      open.pop_back();
      if (At(i).opcode == PlanOpcode::kParameter) {
        found.push_back(i);
        continue;
      }
      if (IsNotElementwise(At(i))) continue;
      for (int64_t operand : At(i).operands) {
        const auto o = static_cast<size_t>(operand);
        if (Elements(At(o).type.shape) == elements && seen.insert(o).second) open.push_back(o);
      }
    }
    return found;
  }

  // Whether `axis` cuts both in the same dimension.
  static bool CutAlike(const PlanSpec& state, const PlanSpec& weight, const std::string& axis) {
    for (size_t d = 0; d < std::min(state.size(), weight.size()); ++d) {
      if (Uses({state[d]}, axis)) return Uses({weight[d]}, axis);
    }
    return false;
  }

  void JudgeState(size_t p, std::vector<ParameterParallelism>& all) const {
    const PlanSpec& spec = part_.parameters[p].spec;
    ParameterParallelism& state = all[p];
    const ParameterParallelism* const weight =
        state.state_of.has_value() ? &all[*state.state_of] : nullptr;
    if (weight != nullptr) state.layer = weight->layer;
    for (size_t a = 0; a < part_.mesh.size(); ++a) {
      if (part_.mesh[a].size == 1) continue;
      const bool cut = Uses(spec, part_.mesh[a].name);
      const AxisRole of_weight = weight == nullptr ? AxisRole::kReplicated : weight->roles[a];
      const bool cuts_use =
          (of_weight == AxisRole::kColumn || of_weight == AxisRole::kRow ||
           of_weight == AxisRole::kTensor || of_weight == AxisRole::kExpert) &&
          CutAlike(spec, part_.parameters[*state.state_of].spec, part_.mesh[a].name);
      const bool splits_samples = of_weight == AxisRole::kData ||
                                  of_weight == AxisRole::kSequence ||
                                  of_weight == AxisRole::kFsdp || of_weight == AxisRole::kZero1;
      if (cut) {
        state.roles[a] = cuts_use || splits_samples ? of_weight : AxisRole::kStored;
      } else if (splits_samples) {
        state.roles[a] = AxisRole::kData;
      }
    }
  }

  // ---- inputs ----

  void JudgeData(size_t p, ParameterParallelism& one) const {
    const auto batch = static_cast<size_t>(*Parameter(p).batch_dimension);
    for (size_t a = 0; a < part_.mesh.size(); ++a) {
      if (part_.mesh[a].size == 1) continue;
      const PlanSpec& spec = part_.parameters[p].spec;
      for (size_t d = 0; d < spec.size(); ++d) {
        if (!Uses({spec[d]}, part_.mesh[a].name)) continue;
        one.roles[a] = d == batch                              ? AxisRole::kData
                       : IsCutAsWeights(p, part_.mesh[a].name) ? AxisRole::kTensor
                                                               : AxisRole::kSequence;
      }
    }
  }

  // Whether `axis` cuts input `p` in a dimension of features, as it cuts the weights of the product
  // that reads it, or of the one whose result it is compared with (labels).
  bool IsCutAsWeights(size_t p, const std::string& axis) const {
    const std::optional<WeightUse> use = FindUse(parameters_[p]);
    if (!use.has_value()) return false;
    const PlanInstruction& user = At(use->instruction);
    if (IsContraction(user)) return CutsWeight(user, axis);
    if (IsNotElementwise(user)) return false;
    std::vector<size_t> open;
    for (size_t k = 0; k < user.operands.size(); ++k) {
      if (k != use->operand) open.push_back(static_cast<size_t>(user.operands[k]));
    }
    absl::flat_hash_set<size_t> seen(open.begin(), open.end());
    while (!open.empty()) {
      const PlanInstruction& maker = At(open.back());
      open.pop_back();
      if (IsContraction(maker)) {
        if (CutsWeight(maker, axis)) return true;
        continue;
      }
      if (IsNotElementwise(maker) || maker.opcode == PlanOpcode::kReshape) continue;
      for (int64_t operand : maker.operands) {
        if (seen.insert(static_cast<size_t>(operand)).second)
          open.push_back(static_cast<size_t>(operand));
      }
    }
    return false;
  }

  // Whether `axis` cuts an operand of `product` that no sample is in.
  bool CutsWeight(const PlanInstruction& product, const std::string& axis) const {
    for (size_t k = 0; k < product.operands.size(); ++k) {
      const PlanSpec* const spec = NeededSpec(part_, product, k);
      if (spec != nullptr && Uses(*spec, axis) &&
          !At(static_cast<size_t>(product.operands[k])).batch_dimension.has_value())
        return true;
    }
    return false;
  }

  // ---- weights ----

  void JudgeWeight(size_t p, ParameterParallelism& one) const {
    const std::optional<WeightUse> use = FindUse(parameters_[p]);
    if (use.has_value()) {
      one.use = static_cast<int64_t>(use->instruction);
      one.layer = At(use->instruction).layer;
    }
    for (size_t a = 0; a < part_.mesh.size(); ++a) {
      if (part_.mesh[a].size > 1) one.roles[a] = RoleOf(p, use, part_.mesh[a].name);
    }
  }

  AxisRole RoleOf(size_t p, const std::optional<WeightUse>& use, const std::string& axis) const {
    const bool stored = Uses(part_.parameters[p].spec, axis);
    if (!use.has_value()) return stored ? AxisRole::kStored : AxisRole::kReplicated;
    if (std::find(use->axes.begin(), use->axes.end(), axis) != use->axes.end())
      return RoleOfCut(*use, axis);
    const AxisRole work = RoleOfWork(*use, axis);
    if (work == AxisRole::kReplicated) return stored ? AxisRole::kStored : work;
    if (stored) return AxisRole::kFsdp;
    return state_axes_[p].contains(axis) ? AxisRole::kZero1 : work;
  }

  // Of an axis that cuts the weight where it is used.
  AxisRole RoleOfCut(const WeightUse& use, const std::string& axis) const {
    const PlanInstruction& user = At(use.instruction);
    const std::vector<std::string>& reduced = user.reduced_axes;
    if (std::find(reduced.begin(), reduced.end(), axis) != reduced.end()) return AxisRole::kRow;
    if (user.opcode == PlanOpcode::kGather) return AxisRole::kColumn;
    if (!IsContraction(user)) return AxisRole::kTensor;
    for (size_t k = 0; k < user.operands.size(); ++k) {
      const PlanSpec* const other = NeededSpec(part_, user, k);
      if (k != use.operand && other != nullptr && Uses(*other, axis)) return AxisRole::kExpert;
    }
    return AxisRole::kColumn;
  }

  // Of an axis that does not: what it cuts of the work.
  AxisRole RoleOfWork(const WeightUse& use, const std::string& axis) const {
    const PlanInstruction& user = At(use.instruction);
    for (size_t k = 0; k < user.operands.size(); ++k) {
      if (k == use.operand) continue;
      const PlanInstruction& producer = At(static_cast<size_t>(user.operands[k]));
      const PlanSpec* const spec = NeededSpec(part_, user, k);
      if (spec == nullptr || spec->size() != producer.spec.size()) continue;
      const AxisRole role = RoleIn(*spec, producer.batch_dimension, axis);
      if (role != AxisRole::kReplicated) return role;
    }
    // Where partial sums come to lie once they are reduced says nothing of the work.
    if (user.computed_specs.empty() && !user.reduced_axes.empty()) return AxisRole::kReplicated;
    return RoleIn(ComputedSpec(user), user.batch_dimension, axis);
  }

  // Without a batch known, the first dimension is taken for it.
  AxisRole RoleIn(const PlanSpec& spec, std::optional<int64_t> batch,
                  const std::string& axis) const {
    if (!knows_batch_) batch = 0;
    for (size_t d = 0; d < spec.size(); ++d) {
      if (!Uses({spec[d]}, axis)) continue;
      return batch == static_cast<int64_t>(d) ? AxisRole::kData : AxisRole::kSequence;
    }
    return AxisRole::kReplicated;
  }

  // Follows the weight through views, and operators that combine it with nothing that has samples,
  // to the first of its uses: contractions before others, the forward phase before the backward.
  std::optional<WeightUse> FindUse(size_t parameter) const {
    struct Open {
      size_t instruction;
      std::optional<std::vector<std::string>> own;  // what cut it before it was broadcast
    };
    std::vector<Open> open = {{parameter, std::nullopt}};
    absl::flat_hash_set<size_t> seen = {parameter};
    std::optional<WeightUse> best;
    auto best_rank = std::array<size_t, 3>{std::numeric_limits<size_t>::max(), 0, 0};
    while (!open.empty()) {
      const Open from = std::move(open.back());
      open.pop_back();
      for (const Use& use : users_[from.instruction]) {
        const PlanInstruction& user = At(use.instruction);
        if (user.opcode == PlanOpcode::kOutput || (knows_phases_ && user.phase == Phase::kUpdate))
          continue;
        const PlanSpec* const needed = NeededSpec(part_, user, use.operand);
        std::vector<std::string> axes = from.own.has_value() ? *from.own
                                        : needed != nullptr  ? AxesOfSpec(*needed)
                                                             : std::vector<std::string>();
        if (PassesOn(use)) {
          if (!seen.insert(use.instruction).second) continue;
          const bool broadcasts = user.opcode == PlanOpcode::kBroadcast || from.own.has_value();
          open.push_back(
              {use.instruction, broadcasts ? std::optional(std::move(axes)) : std::nullopt});
          continue;
        }
        const std::array<size_t, 3> rank = {user.phase == Phase::kBackward ? size_t{1} : size_t{0},
                                            IsContraction(user) ? size_t{0} : size_t{1},
                                            use.instruction};
        if (rank >= best_rank) continue;
        best_rank = rank;
        best = WeightUse{use.instruction, use.operand, std::move(axes)};
      }
    }
    return best;
  }

  bool PassesOn(const Use& use) const {
    const PlanInstruction& user = At(use.instruction);
    if (IsView(user)) return use.operand == 0;
    if (!knows_batch_ || IsNotElementwise(user) || user.batch_dimension.has_value()) return false;
    return std::none_of(user.operands.begin(), user.operands.end(), [&](int64_t operand) {
      return At(static_cast<size_t>(operand)).batch_dimension.has_value();
    });
  }

  const PlanPart& part_;
  std::vector<size_t> parameters_;       // instructions, in the order of part_.parameters
  std::vector<std::vector<Use>> users_;  // by instruction
  bool knows_batch_ = false, knows_phases_ = false;
  std::vector<std::set<std::string>> state_axes_;  // by parameter: that cut its optimizer state
};

}  // namespace

std::string_view AxisRoleName(AxisRole role) {
  switch (role) {
    case AxisRole::kReplicated:
      return "replicated";
    case AxisRole::kData:
      return "data";
    case AxisRole::kSequence:
      return "sequence";
    case AxisRole::kColumn:
      return "tensor column";
    case AxisRole::kRow:
      return "tensor row";
    case AxisRole::kTensor:
      return "tensor";
    case AxisRole::kExpert:
      return "expert";
    case AxisRole::kFsdp:
      return "FSDP";
    case AxisRole::kZero1:
      return "ZeRO-1";
    case AxisRole::kStored:
      return "stored";
  }
  return "";
}

AxisRole FamilyOf(AxisRole role) {
  return role == AxisRole::kColumn || role == AxisRole::kRow ? AxisRole::kTensor : role;
}

std::vector<ParameterParallelism> JudgeParameters(const PlanPart& part) {
  return Judge(part).Run();
}

std::string KindName(const std::vector<AxisRole>& roles) {
  std::set<AxisRole> exact, families;
  for (AxisRole role : roles) {
    if (role == AxisRole::kReplicated) continue;
    exact.insert(role);
    families.insert(FamilyOf(role));
  }
  if (families.empty()) return "replicated";
  if (families.size() > 1) return "mixed";
  return std::string(AxisRoleName(exact.size() == 1 ? *exact.begin() : *families.begin()));
}

std::string RolesText(const std::vector<AxisRole>& roles, const std::vector<PlanAxis>& mesh) {
  std::vector<AxisRole> order;
  for (AxisRole role : roles) {
    if (role != AxisRole::kReplicated && std::find(order.begin(), order.end(), role) == order.end())
      order.push_back(role);
  }
  if (order.empty()) return "replicated";
  return absl::StrJoin(order, ", ", [&](std::string* out, AxisRole role) {
    std::vector<std::string> axes;
    for (size_t a = 0; a < roles.size(); ++a) {
      if (roles[a] == role) axes.push_back(mesh[a].name);
    }
    const std::string names = absl::StrJoin(axes, ",");
    absl::StrAppend(out, std::string(AxisRoleName(role)), " ",
                    axes.size() == 1 ? names : absl::StrCat("(", names, ")"));
  });
}

}  // namespace meshwright
