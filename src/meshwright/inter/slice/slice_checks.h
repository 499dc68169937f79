#ifndef MESHWRIGHT_INTER_SLICE_SLICE_CHECKS_H_
#define MESHWRIGHT_INTER_SLICE_SLICE_CHECKS_H_

#include <vector>

#include "absl/status/status.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/inter/slice/slice_context.h"
#include "meshwright/inter/slice/slice_members.h"

namespace meshwright {

// Whether there are such layers and micro-batches.
absl::Status CheckRequest(const SliceContext& context, const SliceRequest& request);

// Whether what the slice has of loops over layers can be had in parts. `needed`: by ValueId;
// `selected`: by OpId.
absl::Status CheckStacks(const SliceContext& context, const SliceRequest& request,
                         const SliceMembers& members, const std::vector<bool>& needed,
                         const std::vector<bool>& selected);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SLICE_SLICE_CHECKS_H_
