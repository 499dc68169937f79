// Layers share a device's memory and the values between them, so they cannot be planned separately
// without more. Both couplings are given a form that leaves every kind of layer a small problem of
// its own:
//
//  * Memory gets a Lagrange multiplier a byte, the same for all layers. Each multiplier gives a
//    variant of the stage; the search for stages takes the fastest variant that fits.
//  * Values between layers get the layout that suits the heaviest kind best: planned with its
//  outputs
//    tied to its inputs, as in a long row of such layers, it says how it wants its borders; all
//    other kinds keep to that. Layers of one kind in a row, the rule in deep networks, lose nothing
//    by it.
//
// What this may miss is bounded: every kind is also planned with free borders and free memory.

#include "meshwright/inter/stages/layer_costs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "meshwright/base/infinity.h"
#include "meshwright/base/status.h"
#include "meshwright/inter/stages/overlapped.h"
#include "meshwright/inter/stages/submeshes.h"
#include "meshwright/intra/priced_planner.h"

namespace meshwright {
namespace {

// How near to the optimum layers are planned, and the work that may go into one.
constexpr double kLayerGap = 5e-3;
constexpr int64_t kLayerSteps = 50'000'000;

// Multipliers of memory that are tried, in seconds a byte of the plan without one.
constexpr double kRelativeMultipliers[] = {0.02, 0.1, 0.5, 2.5};

bool CrossesLayers(SliceRole role) {
  return role == SliceRole::kActivation || role == SliceRole::kGradient;
}

// Reads one plan of a slice.
class SliceReader {
 public:
  SliceReader(const ProgramSlice& slice, const IntraPlan& plan, int64_t micro_batches)
      : slice_(slice), graph_(slice.graph), plan_(plan), micro_batches_(micro_batches) {}

  SliceCost Read() {
    FindAwaited();
    ReadSeconds();
    ReadMemory();
    return cost_;
  }

 private:
  Phase PhaseOf(OpId op) const { return slice_.phase[op.index()]; }

  // By op the ops [begin, end) that run with it in one operator: those of the outermost loop or
  // conditional that it is inside.
  std::vector<std::pair<size_t, size_t>> FindOperators() const {
    std::vector<std::pair<size_t, size_t>> operators;
    for (size_t i = 0; i < graph_.ops.size(); ++i) operators.emplace_back(i, i + 1);
    const auto add = [&](OpId begin, OpId end) {
      const std::pair<size_t, size_t> all = {begin.index(), end.index()};
      for (size_t i = all.first; i < all.second; ++i) {
        if (operators[i].second - operators[i].first < all.second - all.first) operators[i] = all;
      }
    };
    for (const Loop& loop : graph_.loops) add(loop.begin, loop.end);
    for (const Conditional& conditional : graph_.conditionals)
      add(conditional.begin, conditional.end);
    return operators;
  }

  // Ops that a gradient for another layer is computed from. What runs a stage cuts its backward
  // phase between operators, so that a loop or conditional is awaited as a whole.
  void FindAwaited() {
    awaited_.assign(graph_.ops.size(), false);
    const std::vector<std::pair<size_t, size_t>> operators = FindOperators();
    bool changed = false;
    const auto mark = [&](OpId op) {
      for (size_t i = operators[op.index()].first; i < operators[op.index()].second; ++i) {
        if (awaited_[i]) continue;
        awaited_[i] = changed = true;
      }
    };
    for (size_t i = 0; i < slice_.outputs.size(); ++i) {
      if (slice_.outputs[i].role == SliceRole::kGradient)
        mark(graph_[OutputOf(slice_, i)].producer);
    }
    std::vector<OpId> next_of(graph_.values.size());  // carried values: what makes them
    for (const Carry& carry : graph_.carries) {
      next_of[carry.parameter.index()] = graph_[carry.next].producer;
      next_of[carry.exit.index()] = graph_[carry.next].producer;
    }
    do {
      changed = false;
      for (size_t i = graph_.ops.size(); i-- > 0;) {
        if (!awaited_[i]) continue;
        for (ValueId v : graph_.ops[i].operands) mark(graph_[v].producer);
        for (ValueId v : graph_.ops[i].results) {
          if (next_of[v.index()].valid()) mark(next_of[v.index()]);
        }
        for (const Carry& carry : graph_.carries) {
          if (graph_[carry.parameter].producer == OpId(i) || graph_[carry.exit].producer == OpId(i))
            mark(graph_[carry.init].producer);
        }
      }
      // One pass backwards sees everything where no operator marks what comes after it.
    } while (changed && !(graph_.carries.empty() && graph_.conditionals.empty()));
  }

  void Add(Phase phase, bool awaited, double seconds) {
    switch (phase) {
      case Phase::kForward:
        cost_.forward += seconds;
        return;
      case Phase::kBackward:
        cost_.backward += seconds;
        if (!awaited) cost_.weight_gradient += seconds;
        return;
      case Phase::kUpdate:
        cost_.update += seconds * static_cast<double>(micro_batches_);
        return;
    }
  }

  void ReadSeconds() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      Add(slice_.phase[i], awaited_[i], plan_.ops[i].compute_seconds * graph_.ops[i].multiplicity);
    }
    for (const PlannedCollective& c : plan_.collectives)
      Add(PhaseOfCollective(slice_, c), awaited_[c.user.index()], c.seconds * c.multiplicity);
  }

  bool Stored(ValueId v) const {
    return plan_.intervals[v.index()].begin < plan_.intervals[v.index()].end;
  }

  // Stored values of the forward phase that `v`, read by the backward phase, is or is made from.
  void Keep(ValueId v) {
    const OpId producer = graph_[v].producer;
    if (PhaseOf(producer) != Phase::kForward || kept_.contains(v) || states_.contains(v)) return;
    if (Stored(v)) {
      kept_.insert(v);
      return;
    }
    for (ValueId operand : graph_[producer].operands) Keep(operand);
    // What a loop leaves lies in the buffer that it was carried in.
    for (const Carry& carry : graph_.carries) {
      if (carry.exit != v) continue;
      for (ValueId carried : {carry.parameter, carry.next, carry.init}) {
        if (!Stored(carried)) continue;
        kept_.insert(carried);
        return;
      }
    }
  }

  void ReadMemory() {
    for (size_t i = 0; i < slice_.inputs.size(); ++i) {
      const ValueId v = InputOf(slice_, i);
      const int64_t bytes = plan_.bytes[v.index()];
      switch (slice_.inputs[i].role) {
        case SliceRole::kState:
        case SliceRole::kSum:
        case SliceRole::kShared:
          states_.insert(v);
          cost_.state_bytes += bytes;
          break;
        case SliceRole::kData:
        case SliceRole::kActivation:
        case SliceRole::kSaved:
          kept_.insert(v);
          cost_.input_bytes += bytes;
          break;
        case SliceRole::kGradient:
        case SliceRole::kResult:
        case SliceRole::kNumber:
          break;
      }
    }
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      for (ValueId v : graph_.ops[i].operands) {
        if (slice_.phase[i] == Phase::kBackward) Keep(v);
        const bool sum = slice_.phase[i] == Phase::kUpdate && micro_batches_ > 1 &&
                         PhaseOf(graph_[v].producer) == Phase::kBackward;
        if (sum && states_.insert(v).second) cost_.state_bytes += plan_.bytes[v.index()];
      }
    }
    for (const Carry& carry : graph_.carries) {
      if (PhaseOf(graph_[carry.parameter].producer) == Phase::kBackward) Keep(carry.init);
    }
    for (ValueId v : kept_) cost_.in_flight_bytes += plan_.bytes[v.index()];
    cost_.working_bytes = plan_.peak.bytes;
    for (ValueId v : plan_.peak.live) {
      if (states_.contains(v) || kept_.contains(v)) cost_.working_bytes -= plan_.bytes[v.index()];
    }
    cost_.working_bytes = std::max<int64_t>(0, cost_.working_bytes);
    for (size_t i = 0; i < slice_.outputs.size(); ++i) {
      const int64_t bytes = plan_.bytes[OutputOf(slice_, i).index()];
      if (slice_.outputs[i].role == SliceRole::kActivation) cost_.activation_bytes += bytes;
      if (slice_.outputs[i].role == SliceRole::kGradient) cost_.gradient_bytes += bytes;
    }
  }

  const ProgramSlice& slice_;
  const Graph& graph_;
  const IntraPlan& plan_;
  const int64_t micro_batches_;
  std::vector<bool> awaited_;
  absl::flat_hash_set<ValueId> states_, kept_;
  SliceCost cost_;
};

// The border of `slice` with the most bytes, as `plan` lays it out.
BorderLayout LayoutOf(const ProgramSlice& slice, const IntraPlan& plan) {
  BorderLayout layout;
  int64_t most = -1;
  const auto look = [&](const SliceValue& border, ValueId v) {
    const Shape& shape = slice.graph[v].shape;
    if (!CrossesLayers(border.role) || border.dimension < 0 || shape.bytes() <= most) return;
    most = shape.bytes();
    layout.dims = shape.dims;
    layout.batch_dimension = border.dimension;
    layout.sharding = plan.shardings[v.index()];
    layout.sharding.unreduced.clear();
    layout.sharding.reduction = Reduction::kNone;
    layout.batch = layout.sharding.dims[border.dimension];
  };
  for (size_t i = 0; i < slice.inputs.size(); ++i) look(slice.inputs[i], InputOf(slice, i));
  for (size_t i = 0; i < slice.outputs.size(); ++i) look(slice.outputs[i], OutputOf(slice, i));
  return layout;
}

Sharding BorderSharding(const BorderLayout& layout, const SliceValue& border, const Shape& shape,
                        const Mesh& mesh) {
  if (shape.dims == layout.dims && border.dimension == layout.batch_dimension)
    return layout.sharding;
  Sharding sharding = Sharding::Replicated(shape.rank());
  if (border.dimension >= 0) sharding.dims[border.dimension] = layout.batch;
  return DividesEvenly(shape, sharding, mesh) ? sharding : Sharding::Replicated(shape.rank());
}

// A bound of the forward and backward phases of a micro-batch, whatever the rest does.
absl::StatusOr<double> BoundOf(const ProgramSlice& slice, const CostModel& cost_model,
                               const PlannerOptions& options) {
  Graph graph = slice.graph;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (slice.phase[i] == Phase::kUpdate) graph.ops[i].multiplicity = 0;
  }
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<PricedPlanner> planner,
                      PricedPlanner::Make(graph, cost_model, options, TurnOf(slice)));
  MW_ASSIGN_OR_RETURN(const IntraPlan plan, planner->Plan(0));
  return plan.bound;
}

constexpr SliceCost kImpossible = {.forward = -1};

class LayerCoster {
 public:
  LayerCoster(const KindsByParts& kinds, const CostModel& cost_model, int64_t micro_batches,
              int64_t memory_bytes, const PlannerOptions& options, const Worth& worth)
      : by_parts_(kinds),
        cost_model_(cost_model),
        micro_batches_(micro_batches),
        memory_bytes_(memory_bytes),
        options_(options),
        worth_(worth) {}

  absl::StatusOr<MeshCosts> Run() {
    const std::vector<LayerKind>& whole = by_parts_.at(1);
    for (size_t k = 1; k < whole.size(); ++k) {
      if (whole[k].flops > whole[lead_].flops) lead_ = k;
    }
    costs_.variants.resize(whole.size());
    costs_.overlapped.resize(whole.size());
    costs_.bound.assign(whole.size(), kInfinity);
    for (const auto& [parts, kinds] : by_parts_) {
      if (!HasDegree(cost_model_.mesh(), parts)) continue;
      kinds_ = &kinds;
      parts_ = parts;
      borders_.clear();
      const absl::Status planned = AddVariants();
      if (parts == 1 && !planned.ok()) return planned;
      if (costs_.layouts.empty()) break;  // not worth it
    }
    return std::move(costs_);
  }

 private:
  const LayerKind& Kind(size_t k) const { return (*kinds_)[k]; }

  // The variants of the kinds at hand.
  absl::Status AddVariants() {
    std::vector<double> bounds(kinds_->size(), 0);
    MW_ASSIGN_OR_RETURN(bounds[lead_], BoundOf(Kind(lead_).slice, cost_model_, options_));
    if (parts_ == 1 && !worth_(bounds)) {
      costs_.bound = std::move(bounds);
      return absl::OkStatus();
    }
    for (size_t k = 0; k < kinds_->size(); ++k) {
      if (k == lead_) continue;
      MW_ASSIGN_OR_RETURN(bounds[k], BoundOf(Kind(k).slice, cost_model_, options_));
    }
    const ProgramSlice& slice = Kind(lead_).slice;
    PlannerOptions in_row = options_;
    in_row.ties = Kind(lead_).repeats;
    MW_ASSIGN_OR_RETURN(const std::unique_ptr<PricedPlanner> planner,
                        PricedPlanner::Make(slice.graph, cost_model_, in_row, TurnOf(slice)));
    MW_ASSIGN_OR_RETURN(const IntraPlan free, planner->Plan(0));
    // Parts are for devices that have the samples; for others whole sums are better.
    const Mesh& mesh = cost_model_.mesh();
    if (parts_ > 1 && mesh.Size(LayoutOf(slice, free).batch) != parts_) return absl::OkStatus();
    for (size_t k = 0; k < bounds.size(); ++k)
      costs_.bound[k] = std::min(costs_.bound[k], bounds[k]);
    MW_RETURN_IF_ERROR(AddVariant(0, free));
    if (EverythingFits()) return absl::OkStatus();
    const double scale =
        free.objective / static_cast<double>(std::max<int64_t>(1, free.peak.bytes));
    for (double relative : kRelativeMultipliers) {
      MW_ASSIGN_OR_RETURN(const IntraPlan plan, planner->Plan(relative * scale));
      MW_RETURN_IF_ERROR(AddVariant(relative * scale, plan));
      if (EverythingFits()) break;
    }
    return absl::OkStatus();
  }

  // A variant in which the leading kind runs as `plan` says and the others suit it.
  absl::Status AddVariant(double multiplier, const IntraPlan& plan) {
    costs_.multipliers.push_back(multiplier);
    costs_.sum_parts.push_back(parts_);
    costs_.layouts.push_back(LayoutOf(Kind(lead_).slice, plan));
    for (size_t k = 0; k < kinds_->size(); ++k) {
      if (k == lead_) {
        AddCost(k, plan);
        continue;
      }
      PricedPlanner* const planner = Bordered(k);
      absl::StatusOr<IntraPlan> other =
          planner == nullptr ? OutOfTime() : planner->Plan(multiplier);
      if (other.ok()) {
        AddCost(k, *other);
      } else {
        costs_.variants[k].push_back(kImpossible);
        costs_.overlapped[k].push_back(kImpossible);
      }
    }
    return absl::OkStatus();
  }

  void AddCost(size_t k, const IntraPlan& plan) {
    const ProgramSlice& slice = Kind(k).slice;
    const SliceCost cost = CostOfSlice(slice, plan, micro_batches_);
    costs_.variants[k].push_back(cost);
    costs_.overlapped[k].push_back(
        Overlapped(slice, plan, cost_model_, micro_batches_, /*recompute=*/false, cost));
  }

  // The planner of kind `k` with the last variant's borders, or nullptr if it cannot have them.
  // Variants often agree in their borders.
  PricedPlanner* Bordered(size_t k) {
    Borders& borders = borders_[k];
    if (!borders.layout.has_value() || !(*borders.layout == costs_.layouts.back())) {
      borders.layout = costs_.layouts.back();
      borders.planner.reset();
      borders.options = options_;
      const ProgramSlice& slice = Kind(k).slice;
      GiveBorders(slice, *borders.layout, cost_model_.mesh(), &borders.options);
      absl::StatusOr<std::unique_ptr<PricedPlanner>> planner =
          PricedPlanner::Make(slice.graph, cost_model_, borders.options, TurnOf(slice));
      if (planner.ok()) borders.planner = *std::move(planner);
    }
    return borders.planner.get();
  }

  // Whether all layers on this mesh fit in the last variant, all micro-batches in flight: then no
  // stage needs another with as many parts.
  bool EverythingFits() const {
    double bytes = 0;
    for (size_t k = 0; k < kinds_->size(); ++k) {
      const SliceCost& cost = costs_.variants[k].back();
      bytes += static_cast<double>(Kind(k).layers) * (static_cast<double>(cost.state_bytes) +
                                                      static_cast<double>(cost.in_flight_bytes) *
                                                          static_cast<double>(micro_batches_)) +
               static_cast<double>(cost.working_bytes);
    }
    return bytes <= static_cast<double>(memory_bytes_);
  }

  struct Borders {
    std::optional<BorderLayout> layout;
    PlannerOptions options;
    std::unique_ptr<PricedPlanner> planner;
  };

  const KindsByParts& by_parts_;
  const CostModel& cost_model_;
  const int64_t micro_batches_;
  const int64_t memory_bytes_;
  const PlannerOptions& options_;
  const Worth& worth_;
  const std::vector<LayerKind>* kinds_ = nullptr;  // at hand, of `parts_`
  int64_t parts_ = 1;
  size_t lead_ = 0;  // the kind with the most work
  std::map<size_t, Borders> borders_;
  MeshCosts costs_;
};

}  // namespace

SliceCost CostOfSlice(const ProgramSlice& slice, const IntraPlan& plan, int64_t micro_batches) {
  return SliceReader(slice, plan, micro_batches).Read();
}

void ScaleUpdate(ProgramSlice* slice, int64_t micro_batches) {
  Graph& graph = slice->graph;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    if (slice->phase[i] == Phase::kUpdate)
      graph.ops[i].multiplicity /= static_cast<double>(micro_batches);
  }
}

void GiveBorders(const ProgramSlice& slice, const BorderLayout& layout, const Mesh& mesh,
                 PlannerOptions* options) {
  for (size_t i = 0; i < slice.inputs.size(); ++i) {
    if (!CrossesLayers(slice.inputs[i].role)) continue;
    const Shape& shape = slice.graph[InputOf(slice, i)].shape;
    options->given_parameters.emplace_back(static_cast<int32_t>(i),
                                           BorderSharding(layout, slice.inputs[i], shape, mesh));
  }
  for (size_t i = 0; i < slice.outputs.size(); ++i) {
    if (!CrossesLayers(slice.outputs[i].role)) continue;
    const Shape& shape = slice.graph[OutputOf(slice, i)].shape;
    options->given_outputs.emplace_back(static_cast<int32_t>(i),
                                        BorderSharding(layout, slice.outputs[i], shape, mesh));
  }
}

OpId TurnOf(const ProgramSlice& slice) {
  OpId turn(0);
  for (size_t i = 0; i < slice.graph.ops.size(); ++i) {
    if (slice.phase[i] == Phase::kForward && slice.graph.ops[i].kind != OpKind::kOutput)
      turn = OpId(i);
  }
  return turn;
}

PlannerOptions LayerPlannerOptions(PlannerOptions options) {
  options.tie_outputs_by_position = false;
  options.solver.threads = 1;
  options.solver.target_gap = kLayerGap;
  options.solver.max_search_steps = kLayerSteps;
  return options;
}

absl::StatusOr<std::vector<double>> LayerBounds(const std::vector<LayerKind>& kinds,
                                                const CostModel& cost_model,
                                                const PlannerOptions& options) {
  std::vector<double> bounds;
  for (const LayerKind& kind : kinds) {
    MW_ASSIGN_OR_RETURN(const double bound, BoundOf(kind.slice, cost_model, options));
    bounds.push_back(bound);
  }
  return bounds;
}

absl::StatusOr<MeshCosts> CostLayers(const KindsByParts& kinds, const CostModel& cost_model,
                                     int64_t micro_batches, int64_t memory_bytes,
                                     const PlannerOptions& options, const Worth& worth) {
  return LayerCoster(kinds, cost_model, micro_batches, memory_bytes, options, worth).Run();
}

}  // namespace meshwright
