// Proves the rules by numbers: every strategy of an operator, run device by device on pieces of its
// operands, must give the pieces of what the operator gives on whole arrays (summed, or otherwise
// reduced, over the axes along which a result is unreduced). Shapes, attributes and values are
// random.

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/sharding/rule.h"
#include "tests/sharding/interpreter.h"
#include "tests/sharding/random_operators.h"
#include "tests/sharding/test_mesh.h"
#include "tests/testing/exhaustive.h"

namespace meshwright {
namespace {

using Dims = std::vector<int64_t>;

constexpr uint32_t kSeed = 20261128;

Tensor RandomTensor(Random& random, const Shape& shape) {
  Tensor tensor{shape.dims, {}};
  for (int64_t i = 0; i < shape.elements(); ++i) {
    int64_t value = Below(random, 9) - 4;
    if (shape.type == ElementType::kS32)
      value = Below(random, 10) - 1;  // indices, some out of bounds
    if (shape.type == ElementType::kPred) value = Below(random, 2);
    tensor.data.push_back(static_cast<double>(value));
  }
  return tensor;
}

int64_t Digits(const Mesh& mesh, int64_t device, const AxisList& axes) {
  int64_t number = 0;
  for (AxisIndex axis : axes) {
    int64_t inner = 1;
    for (size_t a = axis + 1; a < mesh.rank(); ++a) inner *= mesh.axes[a].size;
    number = number * mesh.axes[axis].size + device / inner % mesh.axes[axis].size;
  }
  return number;
}

Placement PlacementOf(const Mesh& mesh, const Sharding& sharding, const Dims& dims,
                      int64_t device) {
  Placement place = WholePlacement(dims);
  for (size_t d = 0; d < dims.size(); ++d) {
    place.size[d] = dims[d] / mesh.Size(sharding.dims[d]);
    place.offset[d] = Digits(mesh, device, sharding.dims[d]) * place.size[d];
  }
  return place;
}

std::vector<Placement> WholePlacements(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<Placement> places;
  for (ValueId value : values) places.push_back(WholePlacement(graph[value].shape.dims));
  return places;
}

// A joint factor that is cut (Factor::joint): a device computes for entries of its own along the
// dimension of `major` and what is minor to it, each with the entry of `major` that it belongs to.
struct CutJoint {
  FactorIndex joint = kNoFactor, major = kNoFactor;
  int64_t begin = 0, count = 0;  // of the device's entries
  int64_t minor = 1;             // how many belong to one of `major`

  // The dimension of a tensor that has `major` without the joint factor; -1: there is none.
  int64_t DimensionOf(const TensorFactors& tensor) const {
    if (joint == kNoFactor || HasFactor(tensor, joint)) return -1;
    for (size_t d = 0; d < tensor.dims.size(); ++d) {
      const auto& dim = tensor.dims[d];
      if (std::find(dim.begin(), dim.end(), major) != dim.end()) return static_cast<int64_t>(d);
    }
    return -1;
  }
  // `tensor` with an entry for each of the device's along `dimension`.
  Tensor Spread(const Tensor& tensor, int64_t dimension) const {
    const auto d = static_cast<size_t>(dimension);
    Tensor spread{tensor.dims, {}};
    spread.dims[d] = count;
    ForEachIndex(spread.dims, [&](Index at) {
      at[d] = (begin + at[d]) / minor;
      spread.data.push_back(At(tensor, at));
    });
    return spread;
  }
  // The sum of entries that belong together, of `dims`.
  Tensor Gathered(const Tensor& spread, const Dims& dims, int64_t dimension) const {
    const auto d = static_cast<size_t>(dimension);
    Tensor sums{dims, std::vector<double>(static_cast<size_t>(ElementCount(dims)), 0)};
    ForEachIndex(spread.dims, [&](const Index& at) {
      Index to = at;
      to[d] = (begin + at[d]) / minor;
      At(sums, to) += At(spread, at);
    });
    return sums;
  }
};

CutJoint CutJointOf(const Rule& rule, const Strategy& strategy, const Mesh& mesh, int64_t device) {
  CutJoint cut;
  for (const TensorFactors& tensor : rule.operands) {
    for (const auto& dim : tensor.dims) {
      if (dim.empty() || !rule.factors[dim.back()].joint) continue;
      const AxisList axes = AxesOf(dim.back(), strategy, mesh);
      if (axes.empty()) continue;
      cut = {dim.back(), dim[0]};
      cut.count = rule.factors[cut.joint].size / mesh.Size(axes);
      cut.begin = Digits(mesh, device, axes) * cut.count;
      cut.minor = rule.factors[cut.joint].size / rule.factors[cut.major].size;
    }
  }
  return cut;
}

class OperatorRun {
 public:
  OperatorRun(const Graph& graph, const Op& op, Random& random)
      : graph_(graph), op_(op), random_(random) {
    for (ValueId value : op.operands) operands_.push_back(Evaluate(value));
    results_ = Execute(graph, op, operands_, WholePlacements(graph, op.operands),
                       WholePlacements(graph, op.results), /*first=*/true);
  }

  // All devices under `strategy` together give what the whole operator does.
  void Check(const Rule& rule, const Strategy& strategy, const Mesh& mesh) {
    std::vector<Sharding> in, out;
    for (size_t i = 0; i < op_.operands.size(); ++i)
      in.push_back(*OperandSharding(rule, strategy, i, mesh));
    for (size_t i = 0; i < op_.results.size(); ++i)
      out.push_back(*ResultSharding(rule, strategy, i, mesh));
    AxisList reduced;
    for (size_t a = 0; a < mesh.rank(); ++a) {
      if (strategy[a] != kNoFactor && rule.factors[strategy[a]].kind == FactorKind::kReduction) {
        reduced.push_back(static_cast<AxisIndex>(a));
      }
    }
    std::vector<std::vector<Tensor>> parts;  // by operand and combination along its unreduced axes
    for (size_t i = 0; i < in.size(); ++i)
      parts.push_back(Split(operands_[i], mesh.Size(in[i].unreduced)));

    // By result, where its piece starts: the devices' partial values combined, once a partial
    // number.
    std::vector<std::map<Dims, std::map<int64_t, Tensor>>> pieces(results_.size());
    for (int64_t device = 0; device < mesh.devices(); ++device) {
      std::vector<Tensor> local;
      std::vector<Placement> in_place, out_place, made_place;
      const CutJoint cut = CutJointOf(rule, strategy, mesh, device);
      for (size_t i = 0; i < in.size(); ++i) {
        in_place.push_back(PlacementOf(mesh, in[i], operands_[i].dims, device));
        local.push_back(Piece(parts[i][Digits(mesh, device, in[i].unreduced)], in_place[i]));
        if (const int64_t d = cut.DimensionOf(rule.operands[i]); d >= 0)
          local[i] = cut.Spread(local[i], d);
      }
      for (size_t i = 0; i < out.size(); ++i) {
        out_place.push_back(PlacementOf(mesh, out[i], results_[i].dims, device));
        made_place.push_back(out_place.back());
        if (const int64_t d = cut.DimensionOf(rule.results[i]); d >= 0)
          made_place[i].size[static_cast<size_t>(d)] = cut.count;
      }
      std::vector<Tensor> made = Execute(graph_, op_, local, in_place, made_place,
                                         /*first=*/Digits(mesh, device, reduced) == 0);
      for (size_t i = 0; i < out.size(); ++i) {
        if (const int64_t d = cut.DimensionOf(rule.results[i]); d >= 0)
          made[i] = cut.Gathered(made[i], out_place[i].size, d);
      }
      for (size_t i = 0; i < out.size(); ++i) {
        auto [it, is_new] =
            pieces[i][out_place[i].offset].emplace(Digits(mesh, device, out[i].unreduced), made[i]);
        EXPECT_TRUE(is_new || it->second == made[i]) << "replicas differ on device " << device;
      }
    }
    for (size_t i = 0; i < out.size(); ++i) {
      for (const auto& [offset, partials] : pieces[i]) {
        ASSERT_EQ(static_cast<int64_t>(partials.size()), mesh.Size(out[i].unreduced));
        Tensor sum = partials.begin()->second;
        for (auto it = std::next(partials.begin()); it != partials.end(); ++it) {
          for (size_t k = 0; k < sum.data.size(); ++k) {
            sum.data[k] = Combine(out[i].reduction, sum.data[k], it->second.data[k]);
          }
        }
        Placement place = PlacementOf(mesh, out[i], results_[i].dims, 0);
        place.offset = offset;
        ASSERT_EQ(sum, Piece(results_[i], place)) << "result " << i;
      }
    }
  }

 private:
  Tensor Evaluate(ValueId value) {
    const Op& op = graph_[graph_[value].producer];
    if (op.instruction->opcode == Opcode::kParameter)
      return RandomTensor(random_, graph_[value].shape);
    std::vector<Tensor> operands;
    for (ValueId operand : op.operands) operands.push_back(Evaluate(operand));
    return Execute(graph_, op, operands, WholePlacements(graph_, op.operands),
                   WholePlacements(graph_, op.results), true)[graph_[value].result];
  }

  // Random arrays that sum to `whole`.
  std::vector<Tensor> Split(const Tensor& whole, int64_t count) {
    std::vector<Tensor> parts(static_cast<size_t>(count), whole);
    for (size_t p = 1; p < parts.size(); ++p) {
      for (size_t k = 0; k < whole.data.size(); ++k) {
        parts[p].data[k] = static_cast<double>(Below(random_, 9) - 4);
        parts[0].data[k] -= parts[p].data[k];
      }
    }
    return parts;
  }

  const Graph& graph_;
  const Op& op_;
  Random& random_;
  std::vector<Tensor> operands_, results_;
};

// Every assignment of factors to axes that the strategies must contain, found the slow way.
std::vector<Strategy> AllStrategies(const Rule& rule, const Mesh& mesh) {
  std::vector<Strategy> all = {Strategy()};
  for (size_t a = 0; a < mesh.rank(); ++a) {
    std::vector<Strategy> longer;
    for (const Strategy& strategy : all) {
      for (int f = kNoFactor; f < static_cast<int>(rule.factors.size()); ++f) {
        if (f != kNoFactor && mesh.axes[a].size == 1) continue;
        longer.push_back(strategy);
        longer.back().push_back(static_cast<FactorIndex>(f));
      }
    }
    all = std::move(longer);
  }
  std::vector<Strategy> valid;
  for (const Strategy& strategy : all) {
    bool ok = true;
    std::vector<int64_t> cut(rule.factors.size(), 1);
    for (size_t a = 0; a < mesh.rank(); ++a) {
      if (strategy[a] == kNoFactor) continue;
      const Factor& factor = rule.factors[strategy[a]];
      ok = ok && factor.kind != FactorKind::kWhole;
      if (factor.kind != FactorKind::kPending) cut[strategy[a]] *= mesh.axes[a].size;
    }
    for (size_t f = 0; f < cut.size(); ++f) {
      ok = ok && rule.factors[f].size % cut[f] == 0 &&
           (cut[f] == 1 || rule.factors[f].size >= cut[f]);
    }
    for (size_t i = 0; ok && i < rule.operands.size(); ++i) {
      ok = OperandSharding(rule, strategy, i, mesh).has_value();
    }
    for (size_t i = 0; ok && i < rule.results.size(); ++i) {
      ok = ResultSharding(rule, strategy, i, mesh).has_value();
    }
    if (ok) valid.push_back(strategy);
  }
  return valid;
}

class RuleOracle : public testing::TestWithParam<OperatorFamily> {};

TEST_P(RuleOracle, ShardsGiveTheWholeResult) {
  const std::vector<Mesh> meshes = {TestMesh({2, 2}), TestMesh({2, 4}), TestMesh({4, 1}),
                                    TestMesh({2, 2, 2})};
  const int count = RandomCases(GetParam().count);
  Random random(kSeed);
  SCOPED_TRACE(StrCat("seed ", kSeed));
  size_t checked = 0, sharded_cases = 0;
  for (int i = 0; i < count; ++i) {
    std::string text = GetParam().generate(random);
    SCOPED_TRACE(text);
    absl::StatusOr<Module> module = ParseHloText(ModuleText(text), GetParam().name);
    ASSERT_TRUE(module.ok()) << module.status();
    // With an annotation it stays an operator, even one whose operand could stand for it.
    for (Instruction& instruction : module->computations[module->entry.index()].instructions) {
      if (instruction.name == "r") instruction.sharding = "{unknown}";
    }
    absl::StatusOr<Graph> graph = BuildGraph(*module);
    ASSERT_TRUE(graph.ok()) << graph.status();
    auto op = std::find_if(graph->ops.begin(), graph->ops.end(), [](const Op& o) {
      return o.kind == OpKind::kInstruction && o.instruction->name == "r";
    });
    ASSERT_NE(op, graph->ops.end());
    Rule rule = RuleFor(*graph, *op);
    SCOPED_TRACE(rule.ToString(true));
    ASSERT_TRUE(rule.supported);
    OperatorRun run(*graph, *op, random);
    const Mesh& mesh = meshes[random() % meshes.size()];
    std::vector<Strategy> strategies = EnumerateStrategies(rule, mesh);
    ASSERT_EQ(strategies, AllStrategies(rule, mesh));
    sharded_cases += strategies.size() > 1;
    for (const Strategy& strategy : strategies) {
      SCOPED_TRACE(StrategyText(rule, strategy, mesh));
      run.Check(rule, strategy, mesh);
      if (testing::Test::HasFailure()) return;
      ++checked;
    }
  }
  std::cout << count << " operators, " << checked << " strategies\n";
  // A family whose rules never allow anything would pass the comparison.
  EXPECT_GT(sharded_cases, static_cast<size_t>(count) / 4);
}

INSTANTIATE_TEST_SUITE_P(Families, RuleOracle, testing::ValuesIn(OperatorFamilies()),
                         [](const testing::TestParamInfo<OperatorFamily>& info) {
                           return std::string(info.param.name);
                         });

}  // namespace
}  // namespace meshwright
