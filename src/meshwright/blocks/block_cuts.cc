#include "meshwright/blocks/block_cuts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"

// A choice at one operator says which dimension of each of its operands and results is cut. That
// decides the choices of its neighbours, which pass it on; where nothing arrives, nothing is cut.

namespace meshwright {
namespace {

constexpr int64_t kNoTop = -1;

// Tells what cuts mean for each other across contractions: values that are layouts of one origin,
// and a result and its gradient.
class OriginLinks {
 public:
  OriginLinks(BlockContext& context, const std::vector<OpId>& ops) : context_(context) {
    for (OpId id : ops) {
      const int32_t c = context.contraction_of[id.index()];
      if (c < 0) continue;
      const Op& op = context.graph[id];
      for (size_t i = 0; i < 2; ++i) Add(op.operands[i], context.origins.Of(op.operands[i]));
      const int32_t forward = context.contractions[c].forward;
      if (forward != c) LinkGradient(context.graph[context.contractions[forward].op], op);
    }
  }

  // The number of elements that the cut dimension of `v` spans in its origin, and that origin.
  struct Place {
    ValueId origin;
    int64_t top = kNoTop;
  };
  std::vector<Place> PlacesOf(ValueId v, Cut cut) const {
    std::vector<Place> places;
    const auto links = of_value_.find(v);
    if (links == of_value_.end()) return places;
    for (const Origin& origin : links->second) {
      const IndexRanges& ranges = origin.dims[cut];
      if (!ranges.empty()) places.push_back({origin.root, ranges[0].stride * ranges[0].size});
    }
    return places;
  }
  // Values with that origin, and the dimensions that the same cut goes through.
  std::vector<std::pair<ValueId, Cut>> ValuesAt(const Place& place, int64_t size) const {
    std::vector<std::pair<ValueId, Cut>> values;
    const auto members = of_origin_.find(place.origin);
    if (members == of_origin_.end()) return values;
    for (ValueId v : members->second) {
      for (const Origin& origin : of_value_.at(v)) {
        if (origin.root != place.origin) continue;
        for (size_t d = 0; d < origin.dims.size(); ++d) {
          const IndexRanges& ranges = origin.dims[d];
          if (ranges.empty() || ranges[0].stride * ranges[0].size != place.top) continue;
          if (ranges[0].size % size == 0) values.push_back({v, static_cast<Cut>(d)});
        }
      }
    }
    return values;
  }

 private:
  void Add(ValueId v, const Origin& origin) {
    std::vector<Origin>& links = of_value_[v];
    const auto same = [&](const Origin& other) { return other.root == origin.root; };
    if (std::any_of(links.begin(), links.end(), same)) return;
    links.push_back(origin);
    of_origin_[origin.root].push_back(v);
  }

  // What a later contraction takes besides an operand of the forward one is taken for the gradient
  // of the forward result, if it is a layout of something with the same dimensions.
  void LinkGradient(const Op& forward, const Op& later) {
    const ValueId result = forward.results[0];
    for (size_t i = 0; i < 2; ++i) {
      const ValueId root = context_.origins.Of(later.operands[i]).root;
      const bool shared = root == context_.origins.Of(forward.operands[0]).root ||
                          root == context_.origins.Of(forward.operands[1]).root;
      if (shared || root == result) continue;
      if (context_.graph[root].shape.dims == context_.graph[result].shape.dims)
        Add(result, {root, context_.origins.Of(root).dims});
    }
  }

  BlockContext& context_;
  absl::flat_hash_map<ValueId, std::vector<Origin>> of_value_;
  absl::flat_hash_map<ValueId, std::vector<ValueId>> of_origin_;
};

class CutFinder {
 public:
  CutFinder(BlockContext& context, const std::vector<OpId>& ops, const std::vector<OpId>& entries)
      : context_(context),
        graph_(context.graph),
        ops_(ops),
        members_(ops.begin(), ops.end()),
        entries_(entries),
        links_(context, ops) {
    for (OpId op : ops) {
      if (context.contraction_of[op.index()] >= 0) contractions_.push_back(op);
    }
  }

  std::vector<BlockCut> Run() {
    std::vector<BlockCut> cuts;
    std::set<std::vector<const AxisChoice*>> known;
    for (size_t s = 0; s < context_.choices.size(); ++s) {
      for (OpId seed : contractions_) {
        const int32_t c = context_.contraction_of[seed.index()];
        if (context_.contractions[c].forward != c) continue;
        const std::vector<AxisChoice>& choices = context_.choices[s].Of(seed);
        for (size_t k = 1; k < choices.size(); ++k) {
          size_index_ = static_cast<int32_t>(s);
          if (!Propagate(seed, &choices[k])) continue;
          std::vector<const AxisChoice*> key;
          for (OpId op : contractions_) key.push_back(cut_.choices[op]);
          if (known.insert(std::move(key)).second) cuts.push_back(cut_);
        }
      }
    }
    return cuts;
  }

 private:
  bool IsMember(OpId op) const { return members_.contains(op); }
  bool IsHeavy(OpId op) const { return context_.contraction_of[op.index()] >= 0; }
  const std::vector<AxisChoice>& ChoicesOf(OpId op) { return context_.choices[size_index_].Of(op); }

  bool Propagate(OpId seed, const AxisChoice* choice) {
    cut_ = {};
    cut_.size_index = size_index_;
    open_.clear();
    tops_.clear();
    if (!SetChoice(seed, choice)) return false;
    while (!open_.empty()) {
      const ValueId v = open_.back();
      open_.pop_back();
      if (!Visit(graph_[v].producer)) return false;
      for (OpId user : graph_[v].users) {
        if (!Visit(user)) return false;
      }
    }
    return Complete();
  }

  bool SetChoice(OpId id, const AxisChoice* choice) {
    const Op& op = graph_[id];
    cut_.choices[id] = choice;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (choice->operands[i] >= 0 && !SetCut(op.operands[i], choice->operands[i])) return false;
    }
    for (size_t i = 0; i < op.results.size(); ++i) {
      if (choice->results[i] >= 0 && !SetCut(op.results[i], choice->results[i])) return false;
    }
    return true;
  }

  bool SetCut(ValueId v, Cut cut) {
    const auto [known, is_new] = cut_.cuts.try_emplace(v, cut);
    if (!is_new) return known->second == cut;
    open_.push_back(v);
    for (const OriginLinks::Place& place : links_.PlacesOf(v, cut)) {
      const auto [top, first] = tops_.try_emplace(place.origin, place.top);
      if (!first) {
        if (top->second != place.top) return false;
        continue;
      }
      for (const auto& [other, dim] :
           links_.ValuesAt(place, context_.choices[size_index_].size())) {
        if (!SetCut(other, dim)) return false;
      }
    }
    return true;
  }

  // Chooses for `id` what the cuts around it ask for. False: it cannot follow them.
  bool Visit(OpId id) {
    if (!IsMember(id)) return true;
    const Op& op = graph_[id];
    const auto fits = [&](const AxisChoice& choice, bool results) {
      for (size_t i = 0; i < op.operands.size(); ++i) {
        const auto known = cut_.cuts.find(op.operands[i]);
        if (known != cut_.cuts.end() && known->second != choice.operands[i]) return false;
      }
      for (size_t i = 0; results && i < op.results.size(); ++i) {
        const auto known = cut_.cuts.find(op.results[i]);
        if (known != cut_.cuts.end() && known->second != choice.results[i]) return false;
      }
      return true;
    };
    const auto chosen = cut_.choices.find(id);
    for (bool results : {true, false}) {
      if (!results && IsHeavy(id)) return false;
      if (chosen != cut_.choices.end()) {
        if (fits(*chosen->second, results)) return true;
        continue;
      }
      for (const AxisChoice& choice : ChoicesOf(id)) {
        if (!fits(choice, results)) continue;
        return choice.factor == kNoFactor || SetChoice(id, &choice);
      }
    }
    return false;
  }

  // Where nothing arrived nothing is cut; but no contraction of the forward phase is left to all
  // devices alike. Then every value is made as its users take it.
  bool Complete() {
    for (OpId op : contractions_) {
      const int32_t c = context_.contraction_of[op.index()];
      if (context_.contractions[c].forward == c && !cut_.choices.contains(op)) return false;
    }
    for (OpId op : ops_) {
      const auto [chosen, is_new] = cut_.choices.try_emplace(op, nullptr);
      if (is_new) chosen->second = &ChoicesOf(op)[0];
    }
    for (OpId id : ops_) {
      const Op& op = graph_[id];
      const AxisChoice& choice = *cut_.choices[id];
      for (size_t i = 0; i < op.results.size(); ++i) cut_.cuts[op.results[i]] = choice.results[i];
    }
    for (OpId id : ops_) {
      const Op& op = graph_[id];
      const AxisChoice& choice = *cut_.choices[id];
      for (size_t i = 0; i < op.operands.size(); ++i) {
        const ValueId v = op.operands[i];
        const Cut made = cut_.cuts.try_emplace(v, choice.operands[i]).first->second;
        if (made == choice.operands[i]) continue;
        if (made != kUncut || IsHeavy(graph_[v].producer)) return false;
      }
      const int32_t c = context_.contraction_of[id.index()];
      if (c < 0 || context_.contractions[c].forward != c) continue;
      if (std::binary_search(entries_.begin(), entries_.end(), id)) continue;
      if (std::count(choice.results.begin(), choice.results.end(), kPartial) > 0) return false;
    }
    return true;
  }

  BlockContext& context_;
  const Graph& graph_;
  const std::vector<OpId>& ops_;
  absl::flat_hash_set<OpId> members_;
  const std::vector<OpId>& entries_;
  OriginLinks links_;
  std::vector<OpId> contractions_;

  int32_t size_index_ = 0;
  BlockCut cut_;
  std::vector<ValueId> open_;
  absl::flat_hash_map<ValueId, int64_t> tops_;  // by origin: where it is cut
};

}  // namespace

std::vector<BlockCut> FindBlockCuts(BlockContext& context, const std::vector<OpId>& ops,
                                    const std::vector<OpId>& entries) {
  return CutFinder(context, ops, entries).Run();
}

const AxisChoice* ChoiceWithin(BlockContext& context, const BlockCut& cut, OpId id) {
  const Graph& graph = context.graph;
  const Op& op = graph[id];
  // 0: just as the members have it; 1: takes a part of what is uncut; 2: members take a part of
  // what it makes uncut.
  const auto fits = [&](const AxisChoice& choice, int leniency) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const auto known = cut.cuts.find(op.operands[i]);
      if (known == cut.cuts.end() || known->second == choice.operands[i]) continue;
      const bool wasted = context.contraction_of[graph[op.operands[i]].producer.index()] >= 0;
      if (leniency < 1 || known->second != kUncut || wasted) return false;
    }
    for (size_t i = 0; i < op.results.size(); ++i) {
      const auto known = cut.cuts.find(op.results[i]);
      if (known == cut.cuts.end() || known->second == choice.results[i]) continue;
      if (leniency < 2 || choice.results[i] != kUncut) return false;
    }
    for (size_t i = 0; i < op.operands.size(); ++i) {
      const auto known = cut.cuts.find(op.operands[i]);
      if (known != cut.cuts.end() && known->second == kPartial) return false;
    }
    return true;
  };
  for (int leniency = 0; leniency <= 2; ++leniency) {
    for (const AxisChoice& choice : context.choices[cut.size_index].Of(id)) {
      if (fits(choice, leniency)) return &choice;
    }
  }
  return nullptr;
}

void AddMember(const BlockContext& context, OpId id, const AxisChoice* choice, BlockCut* cut) {
  const Op& op = context.graph[id];
  cut->choices[id] = choice;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    cut->cuts.try_emplace(op.operands[i], choice->operands[i]);
  }
  for (size_t i = 0; i < op.results.size(); ++i) cut->cuts[op.results[i]] = choice->results[i];
}

}  // namespace meshwright
