#ifndef MESHWRIGHT_INTER_SLICE_SLICE_BUILD_H_
#define MESHWRIGHT_INTER_SLICE_SLICE_BUILD_H_

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "meshwright/inter/slice/slice_context.h"
#include "meshwright/inter/slice/slice_select.h"

namespace meshwright {

struct BuiltSlice {
  Module module;
  // By name of an instruction of `module`: the op of the whole program that it is or was added for.
  // Where instructions come from: for loops, the ops of what they carry, in order.
  absl::flat_hash_map<std::string, std::vector<OpId>> origin;
  absl::flat_hash_map<std::string, Phase> phase;
};

// The selected ops as a module.
absl::StatusOr<BuiltSlice> BuildSlice(const SliceContext& context, const SliceRequest& request,
                                      const SliceSelection& selection);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SLICE_SLICE_BUILD_H_
