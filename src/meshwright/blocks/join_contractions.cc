#include <algorithm>
#include <bitset>
#include <functional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "meshwright/blocks/block_growth.h"

// Behind each block lies a region of the forward phase: operators that some of its cuts go through,
// enough of them that every weight could still be cut and be left whole. A contraction that takes
// something out of a region is tried as a member of that block. Where it contracts what the block
// cuts, the weights cannot be cut any more, and it begins a block of its own. So do normalisations,
// which end regions.

namespace meshwright {
namespace {

// Sums of many blocks' results, as residual connections make them, are in all their regions. Beyond
// so many only those of the latest go on: others have nothing to do with what comes.
constexpr size_t kMostRegions = 8;

// A block has a few cuts for every size of an axis; more than this are not told apart.
constexpr size_t kMostCuts = 128;
using CutSet = std::bitset<kMostCuts>;

struct Region {
  std::vector<BlockCut> cuts;                  // members, and what they go through on the way
  absl::flat_hash_map<ValueId, CutSet> alive;  // of the values in the region
  absl::flat_hash_set<OpId> ops;
};

struct Weight {
  CutSet cut, whole;  // the cuts that shard it, and those that shard the other operand alone
};

class ContractionJoiner {
 public:
  ContractionJoiner(BlockContext& context, const std::vector<Phase>& phases,
                    const std::vector<int32_t>& weight_operand)
      : context_(context),
        graph_(context.graph),
        phases_(phases),
        weight_operand_(weight_operand),
        regions_of_(graph_.values.size()) {
    for (const Contraction& c : context.contractions) group_of_[Forward(c)].push_back(c.op);
  }

  std::vector<GrowingBlock> Run() {
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      const OpId op(i);
      const int32_t c = context_.contraction_of[i];
      if (c >= 0) {
        if (Forward(context_.contractions[c]) == op) Open(op);
      } else if (phases_[i] == Phase::kForward && !graph_.ops[i].operands.empty()) {
        Extend(op);
      }
    }
    std::vector<GrowingBlock> blocks;
    for (size_t b = 0; b < states_.size(); ++b) {
      if (Current(static_cast<int32_t>(b)) == static_cast<int32_t>(b))
        blocks.push_back(std::move(states_[b].block));
    }
    return blocks;
  }

 private:
  struct State {
    GrowingBlock block;
    Region region;
    std::vector<Weight> weights;
    int32_t merged_into = -1;
  };

  OpId Forward(const Contraction& c) const { return context_.contractions[c.forward].op; }
  bool IsForward(OpId op) const { return phases_[op.index()] == Phase::kForward; }
  int32_t Current(int32_t b) const {
    while (states_[b].merged_into >= 0) b = states_[b].merged_into;
    return b;
  }

  // Blocks in whose regions `v` is, latest first.
  std::vector<int32_t> BlocksAt(ValueId v) const {
    std::vector<int32_t> blocks;
    for (int32_t b : regions_of_[v.index()]) {
      const int32_t now = Current(b);
      if (states_[now].region.alive.contains(v)) blocks.push_back(now);
    }
    std::sort(blocks.rbegin(), blocks.rend());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    return blocks;
  }

  // A block for the contraction `op`, or a part of the blocks whose results it takes.
  void Open(OpId op) {
    const auto b = static_cast<int32_t>(states_.size());
    states_.push_back(StateOf({op}, group_of_[op]));
    std::vector<int32_t> sources;
    if (IsForward(op)) {
      for (ValueId v : graph_[op].operands) {
        for (int32_t source : BlocksAt(v)) sources.push_back(source);
      }
      std::sort(sources.rbegin(), sources.rend());
      sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
    }
    if (sources.size() > 1 && Join(sources, b, op)) return;
    for (int32_t source : sources) {
      if (Join({source}, b, op)) return;
    }
    Spread(b, op);
  }

  // Whether `b` and `others` make one block, with what lies between them and `op`, which is one of
  // its contractions or an operator where they meet.
  bool Join(const std::vector<int32_t>& others, int32_t b, OpId op) {
    std::vector<OpId> forward = states_[b].block.forward;
    absl::flat_hash_set<OpId> ops(states_[b].block.ops.begin(), states_[b].block.ops.end());
    for (int32_t other : others) {
      const GrowingBlock& block = states_[other].block;
      forward.insert(forward.end(), block.forward.begin(), block.forward.end());
      ops.insert(block.ops.begin(), block.ops.end());
    }
    for (int32_t other : others) AddWay(other, op, &ops);
    if (context_.contraction_of[op.index()] < 0) {
      AddWay(b, op, &ops);
      ops.insert(op);
    }
    std::sort(forward.begin(), forward.end());
    std::vector<OpId> sorted(ops.begin(), ops.end());
    std::sort(sorted.begin(), sorted.end());
    State joined = StateOf(std::move(forward), std::move(sorted));
    for (size_t w = 0; w < joined.weights.size(); ++w) {
      // What could not be done before may not be asked for.
      const OpId contraction = joined.block.forward[w];
      const Weight alone = WeightAlone(contraction);
      if (alone.cut.any() && joined.weights[w].cut.none()) return false;
      if (alone.whole.any() && joined.weights[w].whole.none()) return false;
    }
    if (joined.block.cuts.empty()) return false;
    const auto now = static_cast<int32_t>(states_.size());
    states_.push_back(std::move(joined));
    states_[b].merged_into = now;
    for (int32_t other : others) states_[other].merged_into = now;
    Spread(now, op);
    return true;
  }

  // Operators of the region of `b` between its members and the operands of `op`.
  void AddWay(int32_t b, OpId op, absl::flat_hash_set<OpId>* ops) const {
    const Region& region = states_[b].region;
    std::vector<OpId> open = {op};
    while (!open.empty()) {
      const OpId at = open.back();
      open.pop_back();
      for (ValueId v : graph_[at].operands) {
        const OpId producer = graph_[v].producer;
        if (!region.ops.contains(producer) || !region.alive.contains(v)) continue;
        if (ops->insert(producer).second) open.push_back(producer);
      }
    }
  }

  State StateOf(std::vector<OpId> forward, std::vector<OpId> ops) {
    State state;
    const absl::flat_hash_set<OpId> members(ops.begin(), ops.end());
    std::vector<OpId> entries;
    for (OpId op : forward) {
      const auto inside = [&](ValueId v) { return members.contains(graph_[v].producer); };
      const std::vector<ValueId>& operands = graph_[op].operands;
      if (std::none_of(operands.begin(), operands.end(), inside)) entries.push_back(op);
    }
    state.block.cuts = FindBlockCuts(context_, ops, entries);
    if (state.block.cuts.size() > kMostCuts) state.block.cuts.resize(kMostCuts);
    for (OpId op : forward) {
      Weight weight;
      for (size_t k = 0; k < state.block.cuts.size(); ++k) {
        const Uses uses = UsesOf(op, *state.block.cuts[k].choices.at(op));
        weight.cut[k] = uses.cut;
        weight.whole[k] = uses.whole;
      }
      state.weights.push_back(weight);
    }
    state.block.forward = std::move(forward);
    state.block.ops = std::move(ops);
    return state;
  }

  struct Uses {
    bool cut = false, whole = false;
  };
  Uses UsesOf(OpId op, const AxisChoice& choice) const {
    const int32_t w = weight_operand_[context_.contraction_of[op.index()]];
    if (w < 0) return {};
    return {choice.operands[w] >= 0, choice.operands[w] < 0 && choice.operands[1 - w] >= 0};
  }
  Weight WeightAlone(OpId op) {
    Weight weight;
    size_t k = 0;
    for (AxisChoices& sized : context_.choices) {
      for (const AxisChoice& choice : sized.Of(op)) {
        const Uses uses = UsesOf(op, choice);
        if (k == kMostCuts) return weight;
        weight.cut[k] = uses.cut;
        weight.whole[k++] = uses.whole;
      }
    }
    return weight;
  }

  // Whether every weight of `state` can be cut, and left whole, by the cuts in `alive`.
  static bool Enough(const State& state, const CutSet& alive) {
    if (alive.none()) return false;
    return std::all_of(state.weights.begin(), state.weights.end(), [&](const Weight& weight) {
      return (weight.cut.none() || (weight.cut & alive).any()) &&
             (weight.whole.none() || (weight.whole & alive).any());
    });
  }

  // Fills the region of block `b` as far as `until`.
  void Spread(int32_t b, OpId until) {
    State& state = states_[b];
    if (!IsForward(state.block.forward[0])) return;
    state.region.cuts = state.block.cuts;
    std::set<OpId> open;
    CutSet all;
    for (size_t k = 0; k < state.block.cuts.size(); ++k) all.set(k);
    const absl::flat_hash_set<OpId> members(state.block.ops.begin(), state.block.ops.end());
    for (OpId op : state.block.ops) {
      if (!IsForward(op)) continue;
      for (ValueId v : graph_[op].results) {
        CutSet alive = all;
        for (size_t k = 0; k < state.block.cuts.size(); ++k) {
          if (state.block.cuts[k].cuts.at(v) == kPartial) alive.reset(k);
        }
        if (!Enough(state, alive)) continue;
        state.region.alive[v] = alive;
        regions_of_[v.index()].push_back(b);
        for (OpId user : graph_[v].users) {
          if (user <= until && !members.contains(user)) open.insert(user);
        }
      }
    }
    while (!open.empty()) {
      const OpId op = *open.begin();
      open.erase(open.begin());
      if (!GoThrough(b, op)) continue;
      for (ValueId v : graph_[op].results) {
        for (OpId user : graph_[v].users) {
          if (user <= until && !members.contains(user)) open.insert(user);
        }
      }
    }
  }

  // Takes `op` into the region of `b` if enough cuts go through it.
  bool GoThrough(int32_t b, OpId id) {
    State& state = states_[b];
    const Op& op = graph_[id];
    if (!IsForward(id) || context_.contraction_of[id.index()] >= 0 || op.results.empty())
      return false;
    if (op.kind == OpKind::kLoopParameter || op.kind == OpKind::kLoopExit) return false;
    CutSet alive;
    std::vector<const AxisChoice*> choices(state.region.cuts.size(), nullptr);
    for (size_t k = 0; k < state.region.cuts.size(); ++k) {
      const BlockCut& cut = state.region.cuts[k];
      const bool open = std::all_of(op.operands.begin(), op.operands.end(), [&](ValueId v) {
        const auto known = state.region.alive.find(v);
        return known == state.region.alive.end() || known->second[k];
      });
      if (!open) continue;
      choices[k] = ChoiceWithin(context_, cut, id);
      if (choices[k] == nullptr) continue;
      const auto& results = choices[k]->results;
      alive[k] = std::count(results.begin(), results.end(), kPartial) == 0;
    }
    if (!Enough(state, alive)) return false;
    for (size_t k = 0; k < choices.size(); ++k) {
      if (alive[k]) AddMember(context_, id, choices[k], &state.region.cuts[k]);
    }
    state.region.ops.insert(id);
    for (ValueId v : op.results) {
      state.region.alive[v] = alive;
      regions_of_[v.index()].push_back(b);
    }
    return true;
  }

  // Every region that reaches `op`; siblings that meet there become one block.
  void Extend(OpId op) {
    std::vector<int32_t> blocks;
    for (ValueId v : graph_[op].operands) {
      for (int32_t b : BlocksAt(v)) blocks.push_back(b);
    }
    std::sort(blocks.begin(), blocks.end());
    blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
    for (size_t i = 0; i < blocks.size(); ++i) {
      for (size_t j = i + 1; j < blocks.size(); ++j) {
        const int32_t a = Current(blocks[i]), b = Current(blocks[j]);
        if (a != b && AreSiblings(a, b)) Join({a}, b, op);
      }
    }
    std::set<int32_t, std::greater<>> current;
    for (int32_t b : blocks) current.insert(Current(b));
    size_t regions = 0;
    for (int32_t b : current) {
      if (regions++ == kMostRegions) break;
      if (!std::binary_search(states_[b].block.ops.begin(), states_[b].block.ops.end(), op))
        GoThrough(b, op);
    }
  }

  // Whether contractions of both take the same data.
  bool AreSiblings(int32_t a, int32_t b) {
    for (OpId first : states_[a].block.forward) {
      for (OpId second : states_[b].block.forward) {
        const int32_t w = weight_operand_[context_.contraction_of[first.index()]];
        const int32_t v = weight_operand_[context_.contraction_of[second.index()]];
        if (w < 0 || v < 0) continue;
        if (context_.origins.Of(graph_[first].operands[1 - w]).root ==
            context_.origins.Of(graph_[second].operands[1 - v]).root)
          return true;
      }
    }
    return false;
  }

  BlockContext& context_;
  const Graph& graph_;
  const std::vector<Phase>& phases_;
  const std::vector<int32_t>& weight_operand_;
  absl::flat_hash_map<OpId, std::vector<OpId>> group_of_;  // by the forward contraction
  std::vector<std::vector<int32_t>> regions_of_;           // by ValueId: blocks
  std::vector<State> states_;
};

}  // namespace

std::vector<GrowingBlock> JoinContractions(BlockContext& context, const std::vector<Phase>& phases,
                                           const std::vector<int32_t>& weight_operand) {
  return ContractionJoiner(context, phases, weight_operand).Run();
}

}  // namespace meshwright
