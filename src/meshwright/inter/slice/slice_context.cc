#include "meshwright/inter/slice/slice_context.h"

#include <algorithm>

#include "meshwright/base/status.h"
#include "meshwright/intra/names.h"

namespace meshwright {
namespace {

class Placer {
 public:
  explicit Placer(SliceContext* context) : c_(*context) {}

  void Run() {
    c_.place.resize(c_.graph.ops.size());
    of_scalars_.resize(c_.graph.values.size());
    // Wholes first: their parts take over where they are.
    for (size_t i = 0; i < c_.place.size(); ++i) Collect(OpId(i));
    for (size_t i = 0; i < c_.place.size(); ++i) {
      if (c_.structure.whole[i] == OpId(i)) PlaceWhole(OpId(i));
    }
    for (size_t i = 0; i < c_.place.size(); ++i) {
      c_.place[i] = c_.place[c_.structure.whole[i].index()];
      if (c_.graph.ops[i].kind == OpKind::kOutput) continue;
      c_.has_update |=
          c_.place[i].floating ? IsAfter(c_.graph.ops[i]) : c_.place[i].phase == Phase::kUpdate;
    }
  }

 private:
  // Computed from sums over all micro-batches.
  bool IsAfter(const Op& op) const {
    return std::any_of(op.results.begin(), op.results.end(), [this](ValueId v) {
      return c_.batch.roles[v.index()] == BatchRole::kAfter;
    });
  }

  struct Members {
    int32_t layer = -1;
    Phase phase = Phase::kForward;
    bool constant = true;
    OpPlace given{.begin = -1};  // of its results
  };

  void Collect(OpId id) {
    const OpId whole = c_.structure.whole[id.index()];
    members_.resize(c_.place.size());
    Members& members = members_[whole.index()];
    const Op& op = c_.graph[id];
    if (c_.layers.layer[id.index()] > members.layer) {
      members.layer = c_.layers.layer[id.index()];
      members.phase = c_.layers.phase[id.index()];
    } else if (members.layer < 0) {
      members.phase = std::max(members.phase, c_.layers.phase[id.index()]);
    }
    // What a loop or conditional gives away decides; inside there may be anything.
    if (c_.graph[id].loop >= 0 ||
        c_.structure.region[id.index()] != c_.structure.region[whole.index()]) {
      return;
    }
    // It is there when the first of that is needed: a conditional may give the forward phase its
    // result and the backward phase what that was computed from.
    const OpPlace given{.phase = c_.layers.phase[id.index()], .begin = c_.layers.layer[id.index()]};
    if (given.begin >= 0 &&
        (members.given.begin < 0 || given.phase < members.given.phase ||
         (given.phase == members.given.phase && given.begin > members.given.begin)))
      members.given = given;
    for (ValueId v : op.results) {
      members.constant &= c_.batch.roles[v.index()] == BatchRole::kConstant;
    }
  }

  void PlaceWhole(OpId id) {
    OpPlace& place = c_.place[id.index()];
    Members& members = members_[id.index()];
    const Op& op = c_.graph[id];
    if (op.kind == OpKind::kSelectBranch && members.given.begin >= 0) {
      members.phase = members.given.phase;
      members.layer = members.given.begin;
    }
    place.phase = members.phase;
    const int32_t layer_loop = c_.LayerLoopOf(id);
    if (layer_loop >= 0) {
      const LayerLoop& loop = c_.layers.loops[layer_loop];
      place.phase = PhaseInside(loop.loop);
      place.begin = loop.first;
      place.end = loop.first + loop.count;
      place.by_layer = true;
      return;
    }
    const bool of_scalars = IsOfScalars(op);
    place.floating =
        members.layer < 0 || members.constant || (members.phase == Phase::kUpdate && of_scalars);
    for (ValueId v : op.results) {
      of_scalars_[v.index()] = c_.graph[v].shape.elements() == 1 || (place.floating && of_scalars);
    }
    place.begin = members.layer;
    place.end = members.layer + 1;
    const int32_t stack = StackOf(op);
    if (stack < 0) return;
    const LayerLoop& loop = c_.layers.loops[stack];
    place.floating = members.constant && c_.stacks.combined_loop[id.index()] < 0;
    place.begin = loop.first;
    place.end = loop.first + loop.count;
    place.by_layer = true;
  }

  // Made of scalars alone: a scalar, several in a row, one repeated.
  bool IsOfScalars(const Op& op) const {
    if (op.kind != OpKind::kInstruction || op.results.empty() || op.parameter >= 0) return false;
    return std::all_of(op.operands.begin(), op.operands.end(),
                       [&](ValueId v) { return of_scalars_[v.index()]; });
  }

  // The phase that most ops of a loop have.
  Phase PhaseInside(int32_t loop) const {
    int64_t count[3] = {};
    const Loop& l = c_.graph.loops[loop];
    for (size_t i = l.begin.index(); i < l.end.index(); ++i) {
      if (c_.graph.ops[i].kind == OpKind::kInstruction) {
        ++count[static_cast<size_t>(c_.layers.phase[i])];
      }
    }
    return static_cast<Phase>(std::max_element(count, count + 3) - count);
  }

  // The layer loop whose stacks an op computes or combines; -1: none.
  int32_t StackOf(const Op& op) const {
    for (ValueId v : op.results) {
      if (c_.stacks.loop[v.index()] >= 0) return c_.stacks.loop[v.index()];
    }
    return c_.stacks.combined_loop[static_cast<size_t>(&op - c_.graph.ops.data())];
  }

  SliceContext& c_;
  std::vector<Members> members_;  // by OpId of the whole
  std::vector<bool> of_scalars_;  // by ValueId
};

}  // namespace

int32_t SliceContext::LayerLoopOf(OpId op) const {
  const OpId whole = structure.whole[op.index()];
  if (graph[whole].kind != OpKind::kLoopExit) return -1;
  return stacks.layer_loop[graph.carries[structure.carry[whole.index()]].loop];
}

absl::StatusOr<SliceContext> MakeSliceContext(const Graph& graph, const BatchSplit& batch,
                                              const Layers& layers) {
  SliceContext context{graph, batch, layers, {}, {}, {}, {}, false, {}};
  MW_ASSIGN_OR_RETURN(context.structure, FindStructure(graph));
  MW_ASSIGN_OR_RETURN(context.stacks, FindStacks(graph, context.structure, batch, layers));
  context.tied = TiedParameters(graph, /*by_position=*/true);
  context.numbered.assign(graph.ops.size(), false);
  for (const std::vector<OpId>* ops : {&batch.numbered, &batch.whole, &batch.drawn_apart}) {
    for (OpId op : *ops) context.numbered[op.index()] = true;
  }
  Placer(&context).Run();
  return context;
}

}  // namespace meshwright
