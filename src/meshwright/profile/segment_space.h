#ifndef MESHWRIGHT_PROFILE_SEGMENT_SPACE_H_
#define MESHWRIGHT_PROFILE_SEGMENT_SPACE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/blocks/blocks.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/cost/cost_model.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/inter/layer_costs.h"
#include "meshwright/inter/slice.h"
#include "meshwright/intra/planner.h"
#include "meshwright/profile/choice.h"

// A network as a sequence of segments, each as a program of its own, and the choices there are for
// it. From here on profiling, the search and the whole plan agree on what a choice means.

namespace meshwright {

// A distinct segment.
struct Segment {
  std::string fingerprint;           // ProfileKey::program
  std::vector<int32_t> kinds;        // of its blocks
  std::vector<int32_t> occurrences;  // positions in SegmentSpace::sequence()
  // Of the first occurrence that stands for all: its blocks (indices into BlockAnalysis::blocks),
  // and all phases of it as a program.
  int32_t representative = 0;
  std::vector<int32_t> blocks;
  ProgramSlice slice;
  std::vector<std::vector<std::string>> strategy_texts;  // by block, by strategy: each once
  std::vector<std::string> entries, exits;  // layouts of the borders; {""} at the network's ends
  // "bf16[32,1024,2048]", the widest value at the border; empty at the network's ends.
  std::string entry_shape, exit_shape;
};

// Plans of one segment with some or all of its choices made.
class SegmentPlanner;

class SegmentSpace {
 public:
  // `graph`, `mesh` and `cost_model` must outlive it. Errors: see Slicer; no blocks.
  static absl::StatusOr<std::unique_ptr<SegmentSpace>> Make(const Graph& graph, const Mesh& mesh,
                                                            const CostModel& cost_model);
  ~SegmentSpace();

  const std::vector<Segment>& segments() const;
  const std::vector<int32_t>& sequence() const;  // indices into segments()
  const std::vector<std::string>& warnings() const;

  // The choices of a segment in the order of their predicted time, fastest first: the next one, or
  // NotFound when there are no more. Best first over the tree of partial choices; the bound of a
  // partial choice is the optimum of the planner's own problem with only these decisions made, so
  // the order is exact for the objective (kernels and collectives one after the other).
  absl::StatusOr<PredictedChoice> Next(int32_t segment);
  // The plan of a segment's program under a choice.
  absl::StatusOr<IntraPlan> Plan(int32_t segment, const SegmentChoice& choice);
  // Of the whole program with a choice for every position of the sequence.
  absl::StatusOr<IntraPlan> PlanWhole(const std::vector<SegmentChoice>& choices,
                                      const PlannerOptions& options) const;
  // Seconds to move what crosses a border from one layout to the other, there and back (the
  // gradient), as the cost model has it.
  double ReshardSeconds(int32_t segment, const std::string& exit, const std::string& entry) const;

 private:
  struct State;
  explicit SegmentSpace(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_SEGMENT_SPACE_H_
