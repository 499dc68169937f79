#include "meshwright/inter/slice/slice_takers.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"

namespace meshwright {
namespace {

// Floating ops are looked through: whoever needs their results needs what they are made of.
class TakerFinder {
 public:
  TakerFinder(const SliceContext& context, const SliceRequest& request, const SliceMembers& members)
      : c_(context), graph_(context.graph), request_(request), members_(members) {}

  Takers Find(ValueId value) {
    Open(value);
    while (!open_.empty()) {
      const ValueId v = open_.back();
      open_.pop_back();
      for (OpId user : graph_[v].users) Visit(user, v);
      for (OpId user : c_.structure.more_users[v.index()]) Visit(user, v);
    }
    return takers_;
  }

 private:
  void Open(ValueId v) {
    if (seen_.insert(v).second) open_.push_back(v);
  }

  void Visit(OpId user, ValueId v) {
    if (!c_.structure.live[user.index()]) return;
    if (graph_[user].kind == OpKind::kOutput) {
      // Its own output the slice delivers itself; one made of floating ops others may.
      const OpId from = graph_[v].producer;
      takers_.update |= c_.place[from.index()].floating && !DeliversAlone(from);
      return;
    }
    const OpPlace& place = c_.place[user.index()];
    const int32_t c = c_.structure.carry[user.index()];
    if (c >= 0 && members_.OfLayerLoop(c) && graph_.carries[c].invariant) {
      Open(graph_.carries[c].exit);
    }
    if (place.floating) {
      for (ValueId result : ResultsOfWhole(c_, user)) Open(result);
      return;
    }
    const auto [begin, end] = Reads(user);
    if (begin >= end) return;
    const bool here = c_.stacks.dimension[v.index()] >= 0 || members_.Within(begin, end);
    if (here && members_.Requested(place.phase)) return;
    const bool again = request_.recompute && !request_.backward;
    if (here && place.phase == Phase::kBackward && again) return;
    if (place.phase == Phase::kUpdate) {
      takers_.update = true;
    } else {
      (here ? takers_.same_layers : takers_.other_layers) = true;
    }
  }

  // The layers in which `user` reads a value; empty if it does not.
  std::pair<int32_t, int32_t> Reads(OpId user) const {
    const OpPlace& place = c_.place[user.index()];
    const int32_t c = c_.structure.carry[user.index()];
    if (c < 0 || !members_.OfLayerLoop(c)) return {place.begin, place.end};
    switch (KindOfCarry(c_, c)) {
      case CarryKind::kCount:
        return {0, 0};
      case CarryKind::kPlain: {
        const LayerLoop& loop = c_.layers.loops[c_.stacks.layer_loop[graph_.carries[c].loop]];
        const int32_t layer = loop.reversed ? loop.first + loop.count - 1 : loop.first;
        return {layer, layer + 1};
      }
      default:
        return {place.begin, place.end};
    }
  }

  // Whether no other slice makes an output of the floating op.
  bool DeliversAlone(OpId op) const {
    const OpPlace& place = c_.place[op.index()];
    if (!request_.update && c_.has_update) return false;
    return place.begin >= 0 ? members_.Within(place.begin, place.end)
                            : members_.Within(0, c_.layers.count);
  }

  const SliceContext& c_;
  const Graph& graph_;
  const SliceRequest& request_;
  const SliceMembers& members_;
  Takers takers_;
  std::vector<ValueId> open_;
  absl::flat_hash_set<ValueId> seen_;
};

}  // namespace

Takers FindTakers(const SliceContext& context, const SliceRequest& request,
                  const SliceMembers& members, ValueId value) {
  return TakerFinder(context, request, members).Find(value);
}

std::vector<ValueId> ResultsOfWhole(const SliceContext& context, OpId op) {
  const Graph& graph = context.graph;
  const OpId whole = context.structure.whole[op.index()];
  const Op& first = graph[whole];
  std::vector<ValueId> results = first.results;
  if (first.kind != OpKind::kLoopExit && first.kind != OpKind::kSelectBranch) return results;
  for (size_t i = whole.index() + 1; i < graph.ops.size(); ++i) {
    const Op& next = graph.ops[i];
    if (next.kind != first.kind || next.instruction != first.instruction) break;
    results.insert(results.end(), next.results.begin(), next.results.end());
  }
  return results;
}

}  // namespace meshwright
