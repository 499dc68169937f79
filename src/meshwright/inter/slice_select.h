#ifndef MESHWRIGHT_INTER_SLICE_SELECT_H_
#define MESHWRIGHT_INTER_SLICE_SELECT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/inter/slice.h"
#include "meshwright/inter/slice_context.h"

namespace meshwright {

// What a slice consists of, in terms of the whole program's graph.
struct SliceSelection {
  std::vector<bool> op;     // by OpId
  std::vector<bool> carry;  // by carry: its loop is in the slice and has to carry it
  std::vector<Phase>
      phase;  // by OpId, of selected ops: of floating ones, the first that needs them
  std::vector<SliceValue> inputs, outputs;
};

absl::StatusOr<SliceSelection> SelectSlice(const SliceContext& context,
                                           const SliceRequest& request);

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
  int32_t start = 0;                         // the first iteration
  bool has_first = false, has_last = false;  // iteration
  bool whole() const { return has_first && has_last; }
};
LoopPart PartOf(const LayerLoop& loop, int32_t begin, int32_t end);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SLICE_SELECT_H_
