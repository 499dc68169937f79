#ifndef MESHWRIGHT_BLOCKS_AXIS_CHOICES_H_
#define MESHWRIGHT_BLOCKS_AXIS_CHOICES_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layers/fingerprint.h"
#include "meshwright/sharding/rule.h"

namespace meshwright {

// The effect of one mesh axis on an array: the dimension that it cuts, or one of these.
using Cut = int8_t;
inline constexpr Cut kUncut = -1;    // every device has all of it
inline constexpr Cut kPartial = -2;  // every device has a partial value, still to be combined

// One way in which an operator can work along one axis without communication.
struct AxisChoice {
  FactorIndex factor = kNoFactor;  // which it cuts; kNoFactor: all devices do the same
  absl::InlinedVector<Cut, 4> operands, results;
};

// The ways of every operator of a graph along an axis of `size` devices, from its sharding rule.
// Operators that do the same share them.
class AxisChoices {
 public:
  AxisChoices(const Graph& graph, int64_t size);

  // The first cuts nothing. kPending factors are none: they stand for a move of a partial value.
  const std::vector<AxisChoice>& Of(OpId op);
  int64_t size() const { return mesh_.axes[0].size; }

 private:
  std::vector<AxisChoice> Make(OpId op) const;

  const Graph& graph_;
  Mesh mesh_;
  OpFingerprints fingerprints_;
  std::vector<const std::vector<AxisChoice>*> of_op_;
  std::unordered_map<uint64_t, std::vector<AxisChoice>> by_fingerprint_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BLOCKS_AXIS_CHOICES_H_
