#include "meshwright/blocks/origins.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

#include "meshwright/inter/layers/fingerprint.h"

namespace meshwright {
namespace {

// The dimensions of a reshape's result, from those of its operand; nullopt where sizes do not fit
// together.
std::optional<std::vector<IndexRanges>> Regroup(const std::vector<IndexRanges>& from,
                                                const Shape& to) {
  std::vector<IndexRange> left;  // minor first
  for (auto dim = from.rbegin(); dim != from.rend(); ++dim) {
    left.insert(left.end(), dim->rbegin(), dim->rend());
  }
  std::reverse(left.begin(), left.end());  // the minor one is now at the back
  std::vector<IndexRanges> dims(to.rank());
  for (int64_t d = to.rank() - 1; d >= 0; --d) {
    int64_t open = to.dims[d];
    while (open > 1) {
      if (left.empty()) return std::nullopt;
      IndexRange& minor = left.back();
      if (minor.size <= open) {
        if (open % minor.size != 0) return std::nullopt;
        dims[d].insert(dims[d].begin(), minor);
        open /= minor.size;
        left.pop_back();
      } else {
        if (minor.size % open != 0) return std::nullopt;
        dims[d].insert(dims[d].begin(), {minor.stride, open});
        minor = {minor.stride * open, minor.size / open};
        open = 1;
      }
    }
  }
  return dims;
}

// Whether two such operations of the same operands may make different things.
bool IsUnlikeItself(Opcode opcode) {
  switch (opcode) {
    case Opcode::kParameter:
    case Opcode::kRng:
    case Opcode::kCustomCall:
    case Opcode::kInfeed:
    case Opcode::kRecv:
      return true;
    default:
      return false;
  }
}

}  // namespace

IndexRanges Joined(IndexRanges ranges) {
  std::sort(ranges.begin(), ranges.end(), std::greater<>());
  IndexRanges joined;
  for (const IndexRange& range : ranges) {
    if (!joined.empty() && joined.back().stride == range.stride * range.size) {
      joined.back() = {range.stride, joined.back().size * range.size};
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

Origins::Origins(const Graph& graph)
    : graph_(graph),
      invariant_(graph.values.size()),
      last_(graph.values.size()),
      origins_(graph.values.size()) {
  for (const Carry& carry : graph.carries) {
    if (carry.exit.valid()) last_[carry.exit.index()] = carry.next;
    if (carry.invariant) invariant_[carry.parameter.index()] = carry.init;
  }
  FindFirst();
}

// Value numbering (Cocke and Schwartz 1970): values are equal that the same operation makes of
// equal ones, and layouts of one value that run over the same indices.
void Origins::FindFirst() {
  OpFingerprints fingerprints(graph_);
  std::unordered_map<uint64_t, ValueId> known;
  for (size_t v = 0; v < graph_.values.size(); ++v) first_.push_back(ValueId(v));
  for (size_t i = 0; i < graph_.ops.size(); ++i) {
    const Op& op = graph_.ops[i];
    const bool computes =
        op.kind == OpKind::kInstruction && !IsUnlikeItself(op.instruction->opcode);
    for (size_t r = 0; r < op.results.size(); ++r) {
      const ValueId v = op.results[r];
      Fingerprint f;
      if (Source(v).valid()) {
        const Origin& origin = Of(v);
        if (RunsOverAll(origin, graph_[v].shape.type)) {
          first_[v.index()] = origin.root;
          continue;
        }
        f.Add(static_cast<uint64_t>(origin.root.value)).Add(graph_[v].shape);
        for (const IndexRanges& ranges : origin.dims) {
          for (const IndexRange& range : ranges) {
            f.Add(static_cast<uint64_t>(range.stride)).Add(static_cast<uint64_t>(range.size));
          }
        }
      } else if (computes) {
        f.Add(fingerprints.Of(OpId(i))).Add(static_cast<uint64_t>(r));
        for (ValueId operand : op.operands)
          f.Add(static_cast<uint64_t>(first_[operand.index()].value));
      } else {
        continue;
      }
      first_[v.index()] = known.try_emplace(f.value(), v).first->second;
    }
  }
}

// Whether a value with `origin` has its elements in the same order, and the same type.
bool Origins::RunsOverAll(const Origin& origin, ElementType type) const {
  const Shape& shape = graph_[origin.root].shape;
  IndexRanges ranges;
  for (const IndexRanges& dim : origin.dims) ranges.insert(ranges.end(), dim.begin(), dim.end());
  int64_t open = shape.elements();  // what is still to run over, major to minor
  for (const IndexRange& range : ranges) {
    if (range.stride * range.size != open) return false;
    open = range.stride;
  }
  return open == 1 && shape.type == type;
}

const Origin& Origins::Of(ValueId v) {
  std::vector<ValueId> open;
  for (ValueId at = v; at.valid() && !origins_[at.index()].root.valid(); at = Source(at)) {
    open.push_back(at);
  }
  for (; !open.empty(); open.pop_back()) origins_[open.back().index()] = Find(open.back());
  return origins_[v.index()];
}

ValueId Origins::Source(ValueId v) const {
  if (invariant_[v.index()].valid()) return invariant_[v.index()];
  const Op& op = graph_[graph_[v].producer];
  if (op.kind != OpKind::kInstruction || op.operands.empty()) return {};
  switch (op.instruction->opcode) {
    case Opcode::kReshape:
    case Opcode::kTranspose:
    case Opcode::kConvert:
    case Opcode::kCopy:
    case Opcode::kReverse:
      return op.operands[0];
    case Opcode::kDynamicSlice:
      if (op.loop < 0) return {};
      return Stacked(op).valid() ? Stacked(op) : op.operands[0];
    default:
      return {};
  }
}

ValueId Origins::Stacked(const Op& slice) const {
  ValueId array = slice.operands[0];
  while (invariant_[array.index()].valid()) array = invariant_[array.index()];
  if (!last_[array.index()].valid()) return {};
  const Op& op = graph_[graph_[last_[array.index()]].producer];
  if (op.kind != OpKind::kInstruction || op.instruction->opcode != Opcode::kDynamicUpdateSlice)
    return {};
  const ValueId entry = op.operands[1];
  return graph_[entry].shape.dims == graph_[slice.results[0]].shape.dims ? entry : ValueId();
}

Origin Origins::Find(ValueId v) {
  const Shape& shape = graph_[v].shape;
  const ValueId source = Source(v);
  if (source.valid()) {
    const Origin& from = origins_[source.index()];
    const Op& op = graph_[graph_[v].producer];
    if (invariant_[v.index()].valid()) return from;
    switch (op.instruction->opcode) {
      case Opcode::kReshape: {
        std::optional<std::vector<IndexRanges>> dims = Regroup(from.dims, shape);
        if (dims.has_value()) return {from.root, *std::move(dims)};
        break;
      }
      case Opcode::kTranspose: {
        Origin to = {from.root, {}};
        for (int64_t d : op.instruction->dimensions) to.dims.push_back(from.dims[d]);
        return to;
      }
      case Opcode::kDynamicSlice: {
        Origin to = from;
        if (source != op.operands[0]) return to;
        bool entry = true;  // whole along every dimension but those that the loop counts through
        for (int64_t d = 0; d < shape.rank(); ++d) {
          if (shape.dims[d] == graph_[source].shape.dims[d]) continue;
          entry = entry && shape.dims[d] == 1;
          to.dims[d].clear();
        }
        if (entry) return to;
        break;
      }
      default:
        return from;
    }
  }
  Origin self = {first_[v.index()], std::vector<IndexRanges>(shape.is_array() ? shape.rank() : 0)};
  int64_t stride = 1;
  for (auto d = static_cast<int64_t>(self.dims.size()) - 1; d >= 0; --d) {
    if (shape.dims[d] > 1) self.dims[d].push_back({stride, shape.dims[d]});
    stride *= shape.dims[d];
  }
  return self;
}

}  // namespace meshwright
