#ifndef MESHWRIGHT_PLAN_ANNOTATE_ANNOTATE_STABLEHLO_H_
#define MESHWRIGHT_PLAN_ANNOTATE_ANNOTATE_STABLEHLO_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/intra/planner.h"
#include "meshwright/plan/annotate/movements.h"

namespace meshwright {

// The StableHLO program `text`, from which `source` and `graph` were made, with the plan written
// into it for Shardy: an `sdy.mesh` of the mesh's axes, `sdy.sharding` on the arguments and results
// of the main function, an `sdy.sharding_constraint` behind every operation whose values the graph
// has in one place only, two where the plan moves what was computed, one before an operation that
// needs an operand otherwise than it is kept, one at the end of a branch whose conditional keeps
// its results otherwise, and the number of partitions. Partial sums that the plan adds before it
// combines them are `unreduced`. Everything else stays as it is, character by character; an
// operation that is constrained gives its name to the constraint.
//
// Constraints, because XLA's Shardy partitioner takes no notice of `sdy.sharding` on an operation.
// Annotations that were there are replaced, those of values without a plan by open ones, so that
// only one mesh is used. What every user makes anew (constants and the like) is left alone.
//
// With `marks_calls`, constraints right behind a call that XLA would gather everything for have an
// attribute `meshwright_by_shard`: the axes, with commas between, along which each device's results
// are to be summed where these do not cut them; and all operands of the call are constrained.
//
// `values`: shardings by ValueId, `outputs`: how each output leaves the program, `movements`:
// between values and operators.
std::string AnnotateStablehlo(std::string_view text, const StablehloSource& source,
                              const Graph& graph, const Mesh& mesh,
                              const std::vector<Sharding>& values,
                              const std::vector<Sharding>& outputs, const Movements& movements,
                              bool marks_calls = false);

// The same for what was just decided. `tied`: see TiedParameters.
std::string AnnotateStablehlo(std::string_view text, const StablehloSource& source,
                              const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                              const std::vector<int32_t>& tied);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_ANNOTATE_ANNOTATE_STABLEHLO_H_
