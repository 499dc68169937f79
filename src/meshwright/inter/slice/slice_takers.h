#ifndef MESHWRIGHT_INTER_SLICE_SLICE_TAKERS_H_
#define MESHWRIGHT_INTER_SLICE_SLICE_TAKERS_H_

#include "meshwright/inter/slice/slice.h"
#include "meshwright/inter/slice/slice_context.h"
#include "meshwright/inter/slice/slice_members.h"

namespace meshwright {

// Who takes a value from the slice that makes it.
struct Takers {
  bool other_layers = false;  // in the forward or backward phase
  bool update = false;        // an update phase that is not in the slice
  bool same_layers = false;   // another phase of the slice's layers
  bool any() const { return other_layers || update || same_layers; }
};
Takers FindTakers(const SliceContext& context, const SliceRequest& request,
                  const SliceMembers& members, ValueId value);

// What an op gives away; of loops and conditionals all results.
std::vector<ValueId> ResultsOfWhole(const SliceContext& context, OpId op);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_SLICE_SLICE_TAKERS_H_
