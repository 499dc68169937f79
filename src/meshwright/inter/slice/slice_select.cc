#include "meshwright/inter/slice/slice_select.h"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/slice/slice_checks.h"
#include "meshwright/inter/slice/slice_members.h"
#include "meshwright/inter/slice/slice_takers.h"
#include "meshwright/intra/planner.h"

// Outputs first: what others take from ops of the slice, and outputs of the program. From these
// back to what the slice does not compute: its inputs.

namespace meshwright {
namespace {

class Selector {
 public:
  Selector(const SliceContext& context, const SliceRequest& request)
      : c_(context), graph_(context.graph), request_(request), members_(context, request) {}

  absl::StatusOr<SliceSelection> Run() {
    MW_RETURN_IF_ERROR(CheckRequest(c_, request_));
    out_.op.assign(graph_.ops.size(), false);
    out_.carry.assign(graph_.carries.size(), false);
    needed_.assign(graph_.values.size(), false);
    border_.assign(graph_.carries.size(), false);
    if (request_.part != UpdatePart::kWhole) FindAfterShared();
    MW_RETURN_IF_ERROR(AddCrossing());
    AddBorders();
    AddProgramOutputs();
    FindPhases();
    MW_RETURN_IF_ERROR(AddInputs());
    MW_RETURN_IF_ERROR(CheckStacks(c_, request_, members_, needed_, out_.op));
    const auto before = [&](const SliceValue& a, const SliceValue& b) { return Key(a) < Key(b); };
    std::sort(out_.inputs.begin(), out_.inputs.end(), before);
    std::sort(out_.outputs.begin(), out_.outputs.end(), before);
    for (const SliceValue& input : out_.inputs) {
      if (input.role == SliceRole::kNumber) {
        out_.input_phase.push_back(*number_phase_);
      } else if (input.layer >= 0) {
        out_.input_phase.push_back(c_.place[graph_[input.value].producer.index()].phase);
      } else {
        out_.input_phase.push_back(FirstPhase(input.value, Phase::kUpdate));
      }
    }
    return std::move(out_);
  }

 private:
  static std::tuple<bool, int32_t, int32_t, int32_t> Key(const SliceValue& v) {
    const int32_t index = std::max(v.parameter, v.output);
    return {index < 0, index, v.value.value, v.layer};
  }

  // Outside of loops and branches.
  bool AtTop(OpId op) const {
    const OpId whole = c_.structure.whole[op.index()];
    return graph_[op].loop < 0 &&
           c_.structure.region[op.index()] == c_.structure.region[whole.index()];
  }

  // ---- what is needed ----

  void Need(ValueId v) {
    if (needed_[v.index()]) return;
    needed_[v.index()] = true;
    open_.push_back(v);
  }

  void NeedAll() {
    while (!open_.empty()) {
      const ValueId v = open_.back();
      open_.pop_back();
      if (members_.Available(v)) TakeOp(graph_[v].producer);
    }
  }

  void TakeOp(OpId op) {
    const int32_t c = c_.structure.carry[op.index()];
    if (c >= 0) return TakeCarry(op, c);
    if (out_.op[op.index()]) return;
    out_.op[op.index()] = true;
    ForEachRead(graph_, c_.structure, op, [&](ValueId v) { Need(v); });
  }

  void TakeCarry(OpId op, int32_t c) {
    const Carry& carry = graph_.carries[c];
    const bool of_layer_loop = members_.OfLayerLoop(c);
    // What a loop only reads is the same after it.
    if (of_layer_loop && carry.invariant && graph_[op].kind == OpKind::kLoopExit) {
      return Need(carry.init);
    }
    out_.op[op.index()] = true;
    if (out_.carry[c]) return;
    out_.carry[c] = true;
    Need(carry.next);
    const LoopPart part = of_layer_loop ? members_.Part(op) : kWholeLoop;
    if (part.whole()) {
      Need(carry.init);
      return Need(c_.structure.condition[carry.loop]);
    }
    const int32_t counter = c_.stacks.counter[c_.stacks.layer_loop[carry.loop]];
    if (counter >= 0) Need(graph_.carries[counter].parameter);
    switch (KindOfCarry(c_, c)) {
      case CarryKind::kCount:
        return;
      case CarryKind::kStack:
      case CarryKind::kInvariant:
        return Need(carry.init);
      case CarryKind::kPlain:
        if (part.has_first) return Need(carry.init);
        border_[c] = true;
    }
  }

  // ---- outputs ----

  absl::Status AddCrossing() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const OpId op(i);
      if (!c_.structure.live[i] || members_.IsParameter(op) || !members_.Owns(op) || !AtTop(op))
        continue;
      for (ValueId v : graph_[op].results) {
        if (members_.CombinesPart(op)) {
          MW_RETURN_IF_ERROR(AddCombined(op, v));
          continue;
        }
        if (!members_.Available(v)) continue;
        const Takers takers = FindTakers(c_, request_, members_, v);
        if (!takers.any()) continue;
        const Phase phase = c_.place[i].phase;
        if (phase == Phase::kUpdate) {
          MW_RETURN_IF_ERROR(CheckTurn(op, v));
          if (request_.part == UpdatePart::kAfterShared) continue;
          MW_RETURN_IF_ERROR(CheckShared(op));
        }
        SliceValue value = Describe(v);
        if (phase == Phase::kUpdate) {
          value.role = SliceRole::kShared;
        } else if (takers.other_layers) {
          value.role = phase == Phase::kForward ? SliceRole::kActivation : SliceRole::kGradient;
        } else {
          value.role = takers.update ? UpdateRole(v) : SliceRole::kSaved;
        }
        AddOutput(std::move(value));
      }
    }
    return absl::OkStatus();
  }

  // The update phase comes last.
  absl::Status CheckTurn(OpId op, ValueId v) const {
    for (OpId user : graph_[v].users) {
      const OpPlace& place = c_.place[user.index()];
      if (place.floating || place.phase == Phase::kUpdate) continue;
      return absl::InvalidArgumentError(
          StrCat("\"", graph_[user].name, "\" of the ",
                 place.phase == Phase::kForward ? "forward" : "backward", " phase needs \"",
                 graph_[op].name, "\" of the update phase"));
    }
    return absl::OkStatus();
  }

  // In parts, values are shared once.
  absl::Status CheckShared(OpId op) const {
    if (request_.part == UpdatePart::kWhole || !after_shared_[op.index()]) return absl::OkStatus();
    return absl::InvalidArgumentError(
        StrCat("\"", graph_[op].name, "\" of the update phase needs values of other layers' ",
               "update phases and is needed by them in turn; where weights of layers are stacked, "
               "arrays of their own may avoid that, else plan without a pipeline"));
  }

  absl::Status AddCombined(OpId op, ValueId v) {
    if (request_.part == UpdatePart::kAfterShared) return absl::OkStatus();
    MW_RETURN_IF_ERROR(CheckShared(op));
    SliceValue value = Describe(v);
    value.role = SliceRole::kShared;
    TakeOp(op);
    NeedAll();
    out_.outputs.push_back(std::move(value));
    return absl::OkStatus();
  }

  void AddOutput(SliceValue value) {
    if (value.layer >= 0) {
      const OpId carried = graph_[value.value].producer;
      TakeCarry(carried, c_.structure.carry[carried.index()]);
    } else {
      Need(value.value);
    }
    out_.outputs.push_back(std::move(value));
    NeedAll();
  }

  // What layer loops carry on to layers of other slices.
  void AddBorders() {
    for (size_t i = 0; i < c_.layers.loops.size(); ++i) {
      const LayerLoop& loop = c_.layers.loops[i];
      const OpId exit = c_.structure.first_exit[loop.loop];
      const LoopPart part = PartOf(loop, request_.begin, request_.end);
      if (!members_.Owns(exit) || part.has_last) continue;
      const int32_t first = c_.structure.first_carry[loop.loop];
      for (int32_t c = first; c < first + c_.structure.carry_count[loop.loop]; ++c) {
        const ValueId v = graph_.carries[c].parameter;
        if (KindOfCarry(c_, c) != CarryKind::kPlain || !LiveCarry(c)) continue;
        SliceValue value = Describe(v);
        value.layer = loop.reversed ? loop.first + part.low - 1 : loop.first + part.high;
        value.role = BorderRole(exit);
        AddOutput(std::move(value));
      }
    }
  }
  bool LiveCarry(int32_t c) const {
    const Carry& carry = graph_.carries[c];
    return c_.structure.live[graph_[carry.parameter].producer.index()] ||
           c_.structure.live[graph_[carry.exit].producer.index()];
  }
  SliceRole BorderRole(OpId exit) const {
    switch (c_.place[exit.index()].phase) {
      case Phase::kForward:
        return SliceRole::kActivation;
      case Phase::kBackward:
        return SliceRole::kGradient;
      case Phase::kUpdate:
        return SliceRole::kShared;
    }
    return SliceRole::kActivation;
  }

  void AddProgramOutputs() {
    std::vector<size_t> with_state;
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
      const ValueId v = graph_[graph_.outputs[i]].operands[0];
      const OpId op = graph_[v].producer;
      const OpPlace& place = c_.place[op.index()];
      if (!InPart(op)) continue;
      if (!members_.IsParameter(op) && !place.floating && !members_.CombinesPart(op)) {
        if (members_.Owns(op) && members_.Available(v)) AddProgramOutput(i);
        continue;
      }
      const bool once = request_.update || (request_.forward && !c_.has_update);
      const bool placed =
          !members_.IsParameter(op) && !members_.CombinesPart(op) && place.begin >= 0;
      if (once && (placed ? members_.Overlaps(place) : request_.begin == 0)) {
        AddProgramOutput(i);
      } else if (once && c_.tied[i] >= 0) {
        with_state.push_back(i);
      }
    }
    for (size_t i : with_state) {
      const OpId state = graph_.parameters[c_.tied[i]];
      if (needed_[graph_[state].result().index()]) AddProgramOutput(i);
    }
  }

  void AddProgramOutput(size_t i) {
    const ValueId v = graph_[graph_.outputs[i]].operands[0];
    SliceValue value = Describe(v);
    value.name = OutputName(graph_, graph_.outputs[i]);
    value.output = static_cast<int32_t>(i);
    // The program has the value of all layers, which a slice with some of them takes as an input.
    value.combine = Reduction::kNone;
    if (value.layer_dimension < 0) value.first = value.count = 0;
    const BatchRole role = c_.batch.roles[v.index()];
    if (c_.tied[i] >= 0) {
      value.role = SliceRole::kState;
    } else if (role == BatchRole::kAccumulated || role == BatchRole::kStatistic) {
      value.role = SliceRole::kSum;
    } else {
      value.role = SliceRole::kResult;
    }
    AddOutput(std::move(value));
  }

  bool InPart(OpId op) const {
    const bool after = request_.part == UpdatePart::kAfterShared;
    return request_.part == UpdatePart::kWhole ||
           (after_shared_[op.index()] || members_.CombinesPart(op)) == after;
  }

  // Ops of the slice that depend on shared values. Twice, for what goes around loops.
  void FindAfterShared() {
    after_shared_.assign(graph_.ops.size(), false);
    for (int round = 0; round < 2; ++round) {
      for (size_t i = 0; i < graph_.ops.size(); ++i) {
        const OpId op(i);
        if (after_shared_[i] || !(members_.Makes(op) || c_.place[i].floating)) continue;
        ForEachRead(graph_, c_.structure, op, [&](ValueId v) {
          const OpId from = graph_[v].producer;
          const OpPlace& place = c_.place[from.index()];
          const bool shared = !members_.Available(v) && !members_.IsParameter(from) &&
                              !place.floating && place.phase == Phase::kUpdate;
          if (shared || after_shared_[from.index()]) after_shared_[i] = true;
        });
      }
    }
  }

  // ---- inputs ----

  // Floating ops are of the first phase that needs them.
  void FindPhases() {
    out_.phase.assign(graph_.ops.size(), Phase::kForward);
    const Phase last = c_.has_update ? Phase::kUpdate : Phase::kForward;
    for (size_t i = graph_.ops.size(); i-- > 0;) {
      const OpId whole = c_.structure.whole[i];
      if (!c_.place[i].floating && !members_.IsParameter(OpId(i))) {
        out_.phase[i] = c_.place[i].phase;
      } else if (whole != OpId(i)) {
        out_.phase[i] = out_.phase[whole.index()];
      } else {
        out_.phase[i] = last;
        for (ValueId v : ResultsOfWhole(c_, OpId(i))) {
          out_.phase[i] = std::min(out_.phase[i], FirstPhase(v, last));
        }
      }
    }
  }
  // The first phase of the selected ops that read `v`, or `last`.
  Phase FirstPhase(ValueId v, Phase last) const {
    Phase phase = last;
    const auto visit = [&](OpId user) {
      if (out_.op[user.index()]) phase = std::min(phase, out_.phase[user.index()]);
    };
    for (OpId user : graph_[v].users) visit(user);
    for (OpId user : c_.structure.more_users[v.index()]) visit(user);
    return phase;
  }

  absl::Status AddInputs() {
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const ValueId v(i);
      if (!needed_[i] || members_.Available(v)) continue;
      SliceValue value = Describe(v);
      const OpId op = graph_[v].producer;
      if (members_.IsParameter(op)) {
        const bool data =
            std::find(c_.batch.data.begin(), c_.batch.data.end(), op) != c_.batch.data.end();
        value.role = data ? SliceRole::kData : SliceRole::kState;
        value.name = ParameterName(graph_, op);
        value.parameter = ParameterIndex(op);
      } else {
        MW_ASSIGN_OR_RETURN(value.role, InputRole(v));
        if (value.combine != Reduction::kNone) {
          value.first = 0;
          value.count = c_.layers.loops[c_.stacks.combined_loop[op.index()]].count;
        }
      }
      out_.inputs.push_back(std::move(value));
    }
    for (size_t c = 0; c < border_.size(); ++c) {
      if (!border_[c]) continue;
      const Carry& carry = graph_.carries[c];
      const LayerLoop& loop = c_.layers.loops[c_.stacks.layer_loop[carry.loop]];
      const LoopPart part = PartOf(loop, request_.begin, request_.end);
      SliceValue value = Describe(carry.parameter);
      value.layer = loop.first + (loop.reversed ? part.high - 1 : part.low);
      value.role = BorderRole(c_.structure.first_exit[carry.loop]);
      out_.inputs.push_back(std::move(value));
    }
    return AddNumber();
  }

  // The number of the micro-batch, for ops that tell samples apart.
  absl::Status AddNumber() {
    for (size_t i = 0; i < graph_.ops.size() && request_.micro_batches > 1; ++i) {
      if (!out_.op[i] || !c_.numbered[i]) continue;
      number_phase_ = std::min(out_.phase[i], number_phase_.value_or(Phase::kUpdate));
      if (number_phase_ == Phase::kUpdate) {
        return absl::InvalidArgumentError(StrCat("the update phase needs \"", graph_.ops[i].name,
                                                 "\" of every sample, which no sum over "
                                                 "micro-batches gives"));
      }
    }
    if (!number_phase_.has_value()) return absl::OkStatus();
    SliceValue value;
    value.role = SliceRole::kNumber;
    value.name = "micro_batch";
    value.value = c_.number();
    out_.inputs.push_back(std::move(value));
    return absl::OkStatus();
  }

  int32_t ParameterIndex(OpId op) const {
    return static_cast<int32_t>(
        std::lower_bound(graph_.parameters.begin(), graph_.parameters.end(), op) -
        graph_.parameters.begin());
  }

  absl::StatusOr<SliceRole> InputRole(ValueId v) const {
    const OpId op = graph_[v].producer;
    const OpPlace& place = c_.place[op.index()];
    if (place.phase == Phase::kUpdate) return SliceRole::kShared;
    if (FirstPhase(v, Phase::kUpdate) == Phase::kUpdate) {
      const BatchRole role = c_.batch.roles[v.index()];
      if (request_.micro_batches > 1 && (role == BatchRole::kSplit || role == BatchRole::kAfter)) {
        return absl::InvalidArgumentError(
            StrCat("the update phase needs \"", graph_[op].name, "\" of ",
                   role == BatchRole::kSplit ? "every sample" : "the whole batch",
                   ", which no sum over micro-batches gives"));
      }
      return UpdateRole(v);
    }
    if (members_.Within(place.begin, place.end) ||
        (place.by_layer && c_.stacks.dimension[v.index()] >= 0)) {
      return SliceRole::kSaved;
    }
    return place.phase == Phase::kForward ? SliceRole::kActivation : SliceRole::kGradient;
  }

  // As what the update phase takes a value of the phases before.
  SliceRole UpdateRole(ValueId v) const {
    return c_.batch.roles[v.index()] == BatchRole::kConstant ? SliceRole::kSaved : SliceRole::kSum;
  }

  SliceValue Describe(ValueId v) const {
    SliceValue value;
    value.name = graph_[graph_[v].producer].name;
    value.value = v;
    value.dimension = c_.batch.dimension[v.index()];
    value.layer_dimension = c_.stacks.dimension[v.index()];
    const OpId op = graph_[v].producer;
    if (const int32_t combined = c_.stacks.combined_loop[op.index()]; combined >= 0) {
      const LayerLoop& loop = c_.layers.loops[combined];
      const LoopPart part = PartOf(loop, request_.begin, request_.end);
      value.combine = c_.stacks.combines[op.index()];
      value.first = part.low;
      value.count = part.high - part.low;
    }
    if (value.layer_dimension >= 0) {
      const LayerLoop& loop = c_.layers.loops[c_.stacks.loop[v.index()]];
      const LoopPart part = PartOf(loop, request_.begin, request_.end);
      // A layer may have several (unrolled loops).
      const auto entries =
          static_cast<int32_t>(graph_[v].shape.dims[value.layer_dimension] / loop.count);
      value.first = part.entry * entries;
      value.count = (part.high - part.low) * entries;
    }
    return value;
  }

  const SliceContext& c_;
  const Graph& graph_;
  const SliceRequest& request_;
  const SliceMembers members_;
  SliceSelection out_;
  std::vector<bool> needed_;        // by ValueId
  std::vector<bool> border_;        // by carry: comes from the layer before
  std::vector<bool> after_shared_;  // by OpId
  std::vector<ValueId> open_;
  std::optional<Phase> number_phase_;  // the first that needs the number of the micro-batch
};

}  // namespace

absl::StatusOr<SliceSelection> SelectSlice(const SliceContext& context,
                                           const SliceRequest& request) {
  return Selector(context, request).Run();
}

}  // namespace meshwright
