#ifndef MESHWRIGHT_PROFILE_SEGMENT_SPACE_H_
#define MESHWRIGHT_PROFILE_SEGMENT_SPACE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/cost/cost_model.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/intra/planner.h"
#include "meshwright/profile/choice.h"

// A network as a sequence of segments, each as a program of its own, and the choices there are for
// it. From here on profiling, the search and the whole plan agree on what a choice means.

namespace meshwright {

// A distinct segment: what lies between two cuts of the network, in all phases.
struct Segment {
  std::string fingerprint;           // ProfileKey::program
  std::vector<int32_t> occurrences;  // positions in SegmentSpace::sequence(), ascending
  // The first occurrence, which stands for all: its blocks (indices into BlockAnalysis::blocks),
  // and the program.
  std::vector<int32_t> blocks;
  ProgramSlice slice;
  // By block, by strategy: what the leading contraction is cut by, each text once.
  std::vector<std::vector<std::string>> strategy_texts;
  // Layouts of the borders, {""} at the network's ends, and the widest value there:
  // "bf16[32,1024,2048]".
  std::vector<std::string> entries, exits;
  std::string entry_shape, exit_shape;

  // False: nothing of the layer is left to run, its operators are parts of others. It has a place
  // in the sequence, one choice that takes no time, and is not measured.
  bool has_program() const { return !slice.outputs.empty(); }
};

// The segments of a program on a mesh. Where it loops over layers, each iteration is one or more
// segments of the sequence; they are the same operators, and so have to make the same choice.
class SegmentSpace {
 public:
  // `mesh` and `cost_model` must outlive it. Errors: the program has nothing to choose
  // (no matmuls or convolutions), no batch (FindBatch), or cannot be cut (Slicer).
  static absl::StatusOr<std::unique_ptr<SegmentSpace>> Make(const Graph& graph, const Mesh& mesh,
                                                            const CostModel& cost_model,
                                                            int threads = 2);
  ~SegmentSpace();

  // The program without calls: operators and values have the same numbers, names are unique.
  const Graph& graph() const;
  const std::vector<Segment>& segments() const;
  const std::vector<int32_t>& sequence() const;  // indices into segments()
  // By position in the sequence: the first position that is the same operators, which must have the
  // same choice; itself where there is no other. Such a choice has equal entry and exit, unless it
  // stands alone.
  const std::vector<int32_t>& same_as() const;
  int64_t batch_size() const;  // of the program, in samples
  const std::vector<std::string>& warnings() const;

  // The choices of a segment in the order of their cost, cheapest first: the next one; nullopt:
  // there are no more. See ChoiceSearch: what orders them is the planner's objective, in which
  // nothing runs beside anything else. Errors: Cancelled, once `stop` says true; another call goes
  // on.
  absl::StatusOr<std::optional<PredictedChoice>> Next(int32_t segment,
                                                      const std::function<bool()>& stop = nullptr);
  // The plan of a segment's program with a choice made. NotFound: no plan has it.
  absl::StatusOr<IntraPlan> Plan(int32_t segment, const SegmentChoice& choice);
  // The same as a prediction.
  absl::StatusOr<PredictedChoice> Predict(int32_t segment, const SegmentChoice& choice);
  // The choice whose PredictedChoice::key this is. Errors: of another segment or mesh.
  absl::StatusOr<SegmentChoice> ParseKey(int32_t segment, const std::string& key) const;

  // `plan`, of the whole program, told as PredictedChoice::key of every position of the sequence.
  // NotFound: some contraction of a block, or what crosses a border, is as no choice has it.
  absl::StatusOr<std::vector<std::string>> KeysOf(const IntraPlan& plan) const;
  // Adds to `options` what makes PlanIntra plan the whole program as `choices`, one for every
  // position of the sequence, say: how operators work, values and weights are kept.
  absl::Status GiveChoices(const std::vector<SegmentChoice>& choices, PlannerOptions* options);

  // Seconds to move the widest value at the border behind a segment from one layout to another,
  // once. What crosses backwards costs the same again.
  absl::StatusOr<double> ReshardSeconds(int32_t segment, const std::string& from,
                                        const std::string& to) const;

 private:
  struct State;
  explicit SegmentSpace(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_SEGMENT_SPACE_H_
