#ifndef MESHWRIGHT_PROFILE_WORKER_JOB_H_
#define MESHWRIGHT_PROFILE_WORKER_JOB_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/hlo/shape.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/intra/planner.h"
#include "meshwright/profile/choice.h"

// What a measuring worker is told to compile and run, and what it answers: the JSON of
// python/meshwright/profile_worker.py.

namespace meshwright {

struct WorkerJob {
  ProfileKey key;
  std::string description;  // for people
  std::string json;         // of the job, without `id` and `proto`
  std::string proto;        // an annotated HloModuleProto; empty: a resharding
};

// A segment under `plan`, a plan of its program. Error: an input or output that is no array.
absl::StatusOr<WorkerJob> SegmentJob(const ProgramSlice& slice, const Mesh& mesh,
                                     const IntraPlan& plan, ProfileKey key);

// A whole step of the program under `plan`. Names are unique in `graph`'s module. Error: an input
// or output that is no array.
absl::StatusOr<WorkerJob> WholeStepJob(const Graph& graph, const Mesh& mesh, const IntraPlan& plan,
                                       ProfileKey key);

// Moving an array of `shape`, "bf16[32,1024]", from one sharding to another. Errors: malformed.
absl::StatusOr<WorkerJob> ReshardingJob(const std::string& shape, const Mesh& mesh,
                                        const std::string& from, const std::string& to);

// The job of running `graph`'s program, whose inputs and outputs are arrays, in these shardings.
std::string ProgramJobJson(const Graph& graph, const Mesh& mesh,
                           const std::vector<Sharding>& inputs,
                           const std::vector<Sharding>& outputs);

// The fields of a `done` event. Error: not such an event.
absl::StatusOr<ProfileMeasurement> ReadMeasurement(const std::string& event);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_WORKER_JOB_H_
