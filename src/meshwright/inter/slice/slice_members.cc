#include "meshwright/inter/slice/slice_members.h"

#include <algorithm>

namespace meshwright {

CarryKind KindOfCarry(const SliceContext& context, int32_t carry) {
  const Carry& c = context.graph.carries[carry];
  if (context.stacks.counts.contains(carry)) return CarryKind::kCount;
  if (context.stacks.dimension[c.parameter.index()] >= 0) return CarryKind::kStack;
  return c.invariant ? CarryKind::kInvariant : CarryKind::kPlain;
}

LoopPart PartOf(const LayerLoop& loop, int32_t begin, int32_t end) {
  LoopPart part;
  part.low = std::clamp(begin - loop.first, 0, loop.count);
  part.high = std::clamp(end - loop.first, 0, loop.count);
  if (part.low >= part.high) return LoopPart();
  part.entry = loop.falling ? loop.count - part.high : part.low;
  part.start = loop.reversed ? loop.count - part.high : part.low;
  const bool has_low = part.low == 0, has_high = part.high == loop.count;
  part.has_first = loop.reversed ? has_high : has_low;
  part.has_last = loop.reversed ? has_low : has_high;
  return part;
}

bool SliceMembers::Requested(Phase phase) const {
  switch (phase) {
    case Phase::kForward:
      return request_.forward;
    case Phase::kBackward:
      return request_.backward;
    case Phase::kUpdate:
      return request_.update;
  }
  return false;
}

bool SliceMembers::Owns(OpId op) const {
  const OpPlace& place = c_.place[op.index()];
  return !place.floating && Overlaps(place) && Requested(place.phase);
}

bool SliceMembers::Makes(OpId op) const {
  const OpPlace& place = c_.place[op.index()];
  const bool again = place.phase == Phase::kForward && request_.backward && request_.recompute;
  return !place.floating && Overlaps(place) && (Requested(place.phase) || again);
}

bool SliceMembers::CombinesPart(OpId op) const {
  const OpPlace& place = c_.place[op.index()];
  return c_.stacks.combined_loop[op.index()] >= 0 && !Within(place.begin, place.end);
}

bool SliceMembers::Available(ValueId v) const {
  const OpId op = graph_[v].producer;
  if (IsParameter(op)) return false;
  if (c_.place[op.index()].floating) return true;
  if (CombinesPart(op)) return false;
  const int32_t c = c_.structure.carry[op.index()];
  if (graph_[op].kind == OpKind::kLoopExit && OfLayerLoop(c)) {
    const CarryKind kind = KindOfCarry(c_, c);
    if (kind == CarryKind::kInvariant) return true;  // as available as what it starts from
    if (!Makes(op)) return false;
    return kind == CarryKind::kStack || Part(op).has_last;
  }
  return Makes(op);
}

LoopPart SliceMembers::Part(OpId op) const {
  const int32_t loop = c_.LayerLoopOf(op);
  if (loop < 0) return kWholeLoop;
  return PartOf(c_.layers.loops[loop], request_.begin, request_.end);
}

}  // namespace meshwright
