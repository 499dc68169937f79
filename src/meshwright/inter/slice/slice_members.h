#ifndef MESHWRIGHT_INTER_SLICE_SLICE_MEMBERS_H_
#define MESHWRIGHT_INTER_SLICE_SLICE_MEMBERS_H_

#include <cstdint>

#include "meshwright/inter/slice/slice.h"
#include "meshwright/inter/slice/slice_context.h"

namespace meshwright {

// What a layer loop does with one of its carried values.
enum class CarryKind : uint8_t {
  kCount,      // follows from constants
  kStack,      // holds something of every layer
  kInvariant,  // only read
  kPlain,      // goes from layer to layer
};
CarryKind KindOfCarry(const SliceContext& context, int32_t carry);

// The iterations of a layer loop that belong to layers [begin, end).
struct LoopPart {
  int32_t low = 0, high = 0;                 // the loop's layers, counted from its first
  int32_t entry = 0;                         // of arrays that hold something of every layer
  int32_t start = 0;                         // the first iteration
  bool has_first = false, has_last = false;  // iteration
  bool whole() const { return has_first && has_last; }
};
inline constexpr LoopPart kWholeLoop = {0, 0,    0,
                                        0, true, true};  // of loops that are no layer loops
LoopPart PartOf(const LayerLoop& loop, int32_t begin, int32_t end);

// Which of the program's ops a request is about. A view: both must outlive it.
class SliceMembers {
 public:
  SliceMembers(const SliceContext& context, const SliceRequest& request)
      : c_(context), graph_(context.graph), request_(request) {}

  bool Requested(Phase phase) const;
  bool Overlaps(const OpPlace& place) const {
    return place.begin < request_.end && place.end > request_.begin;
  }
  bool Within(int32_t begin, int32_t end) const {
    return begin >= request_.begin && end <= request_.end;
  }
  bool IsParameter(OpId op) const { return graph_[op].parameter >= 0; }

  // The slice computes the op, or its part of it, so that others have it from there.
  bool Owns(OpId op) const;
  // The same, or it computes it again for itself.
  bool Makes(OpId op) const;
  // Combines layers of a stack of which the slice has only some: it makes a part of the value.
  bool CombinesPart(OpId op) const;
  // The slice computes the value, if it needs it, without having it as an input.
  bool Available(ValueId v) const;

  // The part of a layer loop that one of its exits or parameters belongs to.
  LoopPart Part(OpId op) const;
  // A carry of a layer loop itself, not of a loop inside.
  bool OfLayerLoop(int32_t carry) const {
    return c_.stacks.layer_loop[graph_.carries[carry].loop] >= 0;
  }

 private:
  const SliceContext& c_;
  const Graph& graph_;
  const SliceRequest& request_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SLICE_SLICE_MEMBERS_H_
