#ifndef MESHWRIGHT_INTRA_PINS_H_
#define MESHWRIGHT_INTRA_PINS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/intra/planner.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {

// Shardings that are given, not decided: the user's fixes, and annotations in the program itself
// (with_sharding_constraint, in_shardings). A fix overrides an annotation of the same value.
struct Pins {
  std::vector<std::optional<Sharding>> parameters;  // by position in Graph::parameters
  std::vector<std::optional<Sharding>> outputs;     // by position in Graph::outputs
  std::vector<std::optional<Sharding>> values;      // by ValueId; results of instructions
  // Every value has one (propagate.h): operators compute their results in the pinned sharding, as
  // XLA's partitioner does, instead of computing them otherwise and resharding after.
  bool complete = false;
  // If complete, by ValueId: partial sums that are only added to others are reduced after the
  // addition (XLA's AllReduceReassociate); the pin holds for how they are computed.
  std::vector<bool> may_stay_partial;
  // How many annotations this mesh cannot express, and why; empty if it expresses all.
  std::string unused_annotations;
  // A line for each fix whose pattern matches some values that have not its dimensions.
  std::vector<std::string> partly_applied;
};

// What `fix` says of something that it matches, with `rank` dimensions. Of those that a pattern
// matches it is for the ones that have the dimensions: nullopt for the rest. Error: the spec is no
// sharding on `mesh`, or `named`, the fix has the very name, and the spec has more dimensions.
absl::StatusOr<std::optional<Sharding>> FixedSharding(const Fix& fix, bool named, int64_t rank,
                                                      const Mesh& mesh);

// The line about a pattern that `applied` to some of what it matches and not to `left`, of names
// and types.
std::string PartlyAppliedText(const Fix& fix, size_t applied, const std::vector<std::string>& left);

// The reason why an array of `shape` cannot be asked to have `sharding`, or OK. `inside`: it
// neither comes from outside of the program nor leaves it. JAX gives and takes arrays in shards of
// one size; inside, XLA pads those of dimensions that do not divide.
absl::Status CheckPossible(const Shape& shape, const Sharding& sharding, bool inside,
                           const Mesh& mesh);

// `tied` as TiedParameters returns: fixing either end of a tie fixes both; a tie that is only a
// guess and that fixes contradict is cut. Errors: see PlanIntra.
absl::StatusOr<Pins> ResolvePins(const Graph& graph, const Mesh& mesh,
                                 const std::vector<Fix>& fixes, std::vector<int32_t>* tied);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTRA_PINS_H_
