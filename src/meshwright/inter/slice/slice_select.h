#ifndef MESHWRIGHT_INTER_SLICE_SLICE_SELECT_H_
#define MESHWRIGHT_INTER_SLICE_SLICE_SELECT_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/inter/slice/slice_context.h"

namespace meshwright {

// What a slice consists of, in terms of the whole program's graph.
struct SliceSelection {
  std::vector<bool> op;     // by OpId
  std::vector<bool> carry;  // by carry: its loop is in the slice and has to carry it
  std::vector<Phase>
      phase;  // by OpId, of selected ops: of floating ones, the first that needs them
  std::vector<SliceValue> inputs, outputs;
  std::vector<Phase> input_phase;  // by input: the first that needs it
};

absl::StatusOr<SliceSelection> SelectSlice(const SliceContext& context,
                                           const SliceRequest& request);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SLICE_SLICE_SELECT_H_
