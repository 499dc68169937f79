#include "meshwright/blocks/parts_in_a_row.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/inter/layers/batch_propagation.h"
#include "meshwright/sharding/rule.h"

namespace meshwright {
namespace {

// Where parts of a dimension are taken from each other. Parts of which no axis divides what follows
// them are left out: no layout would help.
struct TakenApart {
  OpId at;
  int64_t parts = 0;
  std::vector<int64_t> row;  // the dimension, with the parts first
};

class PartsFinder {
 public:
  PartsFinder(const BlockContext& context, const std::vector<Phase>& phases,
              const std::vector<bool>& constant)
      : context_(context), graph_(context.graph), phases_(phases), constant_(constant) {}

  // Follows dimension `d` of `v` to where a slice takes a part of it, as long as nothing else that
  // depends on data comes in.
  std::optional<TakenApart> Find(ValueId v, int32_t d) const {
    std::vector<Place> open = {{v, d, {}}};
    while (!open.empty()) {
      const Place place = std::move(open.back());
      open.pop_back();
      for (OpId user : graph_[place.value].users) {
        const Op& op = graph_[user];
        if (phases_[user.index()] != Phase::kForward || op.kind != OpKind::kInstruction) continue;
        if (op.instruction->opcode != Opcode::kSlice) {
          if (std::optional<Place> next = GoThrough(user, place)) open.push_back(*std::move(next));
        } else if (std::optional<TakenApart> found = Slice(user, place)) {
          return found;
        }
      }
    }
    return std::nullopt;
  }

 private:
  struct Place {
    ValueId value;
    int32_t dimension = 0;
    TakenApart apart;  // `at` is invalid: no reshape took the dimension for several
  };

  std::optional<Place> GoThrough(OpId id, const Place& place) const {
    const Op& op = graph_[id];
    if (context_.contraction_of[id.index()] >= 0 || op.results.size() != 1) return std::nullopt;
    for (ValueId other : op.operands) {
      if (other != place.value && !constant_[other.index()]) return std::nullopt;
    }
    const Rule rule = RuleFor(graph_, op);
    const auto& factors =
        rule.operands[Position(op, place.value)].dims[static_cast<size_t>(place.dimension)];
    if (factors.empty() || rule.factors[factors[0]].kind != FactorKind::kParallel)
      return std::nullopt;
    bool minor = false;
    Place next = {op.results[0], DimensionOf(rule.results[0], factors[0], &minor), place.apart};
    if (next.dimension < 0 || minor) return std::nullopt;
    if (factors.size() > 1 && !next.apart.at.valid()) {
      next.apart.at = id;
      for (FactorIndex f : factors) next.apart.row.push_back(rule.factors[f].size);
    }
    return next;
  }

  std::optional<TakenApart> Slice(OpId id, const Place& place) const {
    const Op& op = graph_[id];
    const auto d = static_cast<size_t>(place.dimension);
    const int64_t all = graph_[op.operands[0]].shape.dims[d];
    const int64_t part = graph_[op.results[0]].shape.dims[d];
    const SliceDimension& taken = op.instruction->slice[d];
    if (part == 0 || part == all || all % part != 0 || taken.stride != 1 || taken.start % part != 0)
      return std::nullopt;
    TakenApart found = place.apart;
    found.parts = all / part;
    if (!found.at.valid()) {
      found.at = id;
      found.row = {found.parts, part};
    }
    if (found.row[0] != found.parts) return std::nullopt;
    for (const AxisChoices& sized : context_.choices) {
      const int64_t n = sized.size();
      if (found.row[1] % n != 0) continue;
      if (found.at != id || GoesOn({op.results[0], place.dimension, {}}, n)) return found;
    }
    return std::nullopt;
  }

  // Whether a cut by `n` goes on, as far as one operator takes what another makes.
  bool GoesOn(Place place, int64_t n) const {
    for (OpId user = graph_[place.value].only_user(); user.valid();
         user = graph_[place.value].only_user()) {
      std::optional<Place> next = GoThrough(user, place);
      if (!next.has_value()) break;
      if (next->apart.at.valid() && next->apart.row[0] % n != 0) return false;
      place = *std::move(next);
    }
    return true;
  }

  static size_t Position(const Op& op, ValueId v) {
    size_t i = 0;
    while (op.operands[i] != v) ++i;
    return i;
  }

  const BlockContext& context_;
  const Graph& graph_;
  const std::vector<Phase>& phases_;
  const std::vector<bool>& constant_;
};

// Whether a block can cut the weight of product `op` and dimension `d` of its result at once.
bool CutsWeight(const GrowingBlock& block, OpId op, int32_t w, size_t d) {
  for (const BlockCut& cut : block.cuts) {
    const AxisChoice& choice = *cut.choices.at(op);
    if (choice.operands[static_cast<size_t>(w)] >= 0 && choice.results[0] == static_cast<Cut>(d))
      return true;
  }
  return false;
}

std::string Product(const std::vector<int64_t>& sizes) { return absl::StrJoin(sizes, "x"); }

}  // namespace

std::vector<std::string> NotesOnPartsInARow(BlockContext& context, const std::vector<Phase>& phases,
                                            const std::vector<bool>& constant,
                                            const std::vector<int32_t>& weight_operand,
                                            const std::vector<GrowingBlock>& blocks) {
  const Graph& graph = context.graph;
  const PartsFinder finder(context, phases, constant);
  struct Alike {
    OpId first;
    int64_t count = 0;
    TakenApart apart;
  };
  std::vector<Alike> notes;
  for (const GrowingBlock& block : blocks) {
    for (OpId op : block.forward) {
      const int32_t w = weight_operand[static_cast<size_t>(context.contraction_of[op.index()])];
      const ValueId v = graph[op].results[0];
      for (size_t d = 0; w >= 0 && d < graph[v].shape.dims.size(); ++d) {
        if (!CutsWeight(block, op, w, d)) continue;
        std::optional<TakenApart> apart = finder.Find(v, static_cast<int32_t>(d));
        if (!apart.has_value()) continue;
        size_t n = 0;
        while (n < notes.size() &&
               (graph[graph[notes[n].first].results[0]].shape != graph[v].shape ||
                notes[n].apart.row != apart->row))
          ++n;
        if (n == notes.size()) notes.push_back({op, 0, *std::move(apart)});
        ++notes[n].count;
      }
    }
  }
  std::vector<std::string> texts;
  for (const Alike& note : notes) {
    std::vector<int64_t> beside = note.apart.row;
    std::swap(beside[0], beside[1]);
    texts.push_back(absl::StrCat(
        graph[note.first].name,
        note.count > 1 ? absl::StrCat(" and ", Counted(note.count - 1, "matmul"), " like it make ")
                       : " makes ",
        note.apart.parts, " arrays one behind the other (", graph[note.apart.at].name,
        " takes them as ", Product(note.apart.row),
        "): no cut goes on into all of them, and what they meet in is not in its block. Laid "
        "out as (",
        Product(beside), ") they can be cut together, in one block"));
  }
  return texts;
}

}  // namespace meshwright
