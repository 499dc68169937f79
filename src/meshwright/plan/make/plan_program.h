#ifndef MESHWRIGHT_PLAN_MAKE_PLAN_PROGRAM_H_
#define MESHWRIGHT_PLAN_MAKE_PLAN_PROGRAM_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/inter/layers/micro_batch_rng.h"
#include "meshwright/intra/cost_model_table.h"
#include "meshwright/intra/planner.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/sharding/given_call_rules.h"

// From what a user asks for to a Plan: the one entrance to planning for the command line and the C
// ABI.

namespace meshwright {

// Device memory that a plan may use.
struct MemoryBudget {
  enum class Kind {
    kDevice,  // all the memory that the device has; nothing is held back for the framework
    kUnlimited,
    kBytes,
  };
  Kind kind = Kind::kDevice;
  int64_t bytes = 0;  // kBytes
};

// Whether and how to cut the program into pipeline stages; see PipelineRequest.
struct PipelineChoice {
  bool wanted = false;
  int32_t stages = 0;         // 0: whatever is best
  int64_t micro_batches = 0;  // 0: whatever is best
  MicroBatchRng rng = MicroBatchRng::kExact;
  int32_t layers = 0;  // 0: as the program repeats
  std::string schedule = "auto";
  bool recompute = true;
  std::vector<std::string> data;
};

struct ProgramProgress {
  double seconds = 0;                  // since planning began
  std::string mesh;                    // being planned, "x=2,y=4"
  std::string phase;                   // see solve::Progress
  std::optional<double> gap;           // of the best assignment so far; none yet: nullopt
  size_t number = 0, count = 0;        // it is the number-th of so many meshes; 0: not known
  std::optional<double> best_seconds;  // step of the best plan so far; none yet: nullopt
  double left_seconds = 0;             // until the deadline; 0: there is none
};

struct ProgramRequest {
  std::string program;  // path, "-" for standard input
  // The program itself, as a file would hold it; then `program` is only what it is called.
  std::optional<std::string_view> contents;
  std::string cluster;        // see ParseCluster
  std::string mesh = "auto";  // see ParseMesh; "auto": every mesh of CandidateMeshes is tried
  MemoryBudget memory;
  std::string cost_model = "auto";  // see CostModelTable; "auto": see DefaultCostModel
  double deadline_seconds = 30;     // for the search; reading the program comes on top
  std::vector<Fix> fixes;
  Completion completion = Completion::kLeastCost;
  PipelineChoice pipeline;                // for PlanPipelinedProgram
  std::string database;                   // of profiles, for PlanProfiledProgram; empty: none
  int64_t database_environment = 0;       // number of one in it; 0: the one that knows the program
  std::vector<GivenCallRule> call_rules;  // of kernels that the program calls
  std::vector<InputFile> more_inputs;     // files that fixes and rules came from
  int threads = 2;
  uint64_t seed = 1;
  std::function<void(const ProgramProgress&)>
      progress;  // called from one thread at a time; may be empty
  // Asked now and then; true ends the search with the best plan so far. May be empty.
  std::function<bool()> stop;
};

// A plan, and what it was made from for those who want to say more about it.
struct PlannedProgram {
  Program program;
  Mesh mesh;
  std::vector<int32_t> tied;  // see TiedParameters
  IntraPlan intra;            // intra.fits false: nothing fits, `plan` is the one of least memory
  Plan plan;
  // Where nothing fits: a cluster of more such nodes on which something does; nullopt: not known.
  std::optional<Cluster> enough = std::nullopt;
};

// What planning starts from: the request with what it names read.
struct PlanningTask {
  std::chrono::steady_clock::time_point start;
  Cluster cluster;
  const CostModelRow* cost_model = nullptr;
  std::vector<Mesh> meshes;  // to be tried
  Program program;
  std::vector<InputFile> inputs;
  int64_t budget_bytes = 0;
};
// Errors: whatever is wrong with the request or the files that it names.
absl::StatusOr<PlanningTask> PreparePlanning(const ProgramRequest& request);
// `intra`, a plan of the task's program on `mesh`, as a document with `warnings` added.
absl::StatusOr<PlannedProgram> FinishPlanning(const ProgramRequest& request, PlanningTask task,
                                              Mesh mesh, IntraPlan intra,
                                              std::vector<std::string> warnings);

// Errors: see PreparePlanning; that nothing was found in time. request.pipeline and
// request.database play no part.
absl::StatusOr<PlannedProgram> PlanProgram(const ProgramRequest& request);

// The row of CostModelTable that `name` stands for on `cluster`. Error: unknown.
absl::StatusOr<const CostModelRow*> ChooseCostModel(const std::string& name,
                                                    const Cluster& cluster);
int64_t BudgetBytes(const MemoryBudget& memory, const Cluster& cluster);
// What was asked for, as a plan records it, with the cost model that it came to.
PlanOptions ToPlanOptions(const ProgramRequest& request, const CostModelRow& cost_model);
// Says that `cost_model` has no measurements of `cluster`'s devices, if that is so.
std::optional<std::string> CalibrationWarning(const CostModelRow& cost_model,
                                              const Cluster& cluster);
// A file named as the cluster is an input like the program.
absl::Status AddClusterInput(const std::string& cluster, std::vector<InputFile>& inputs);

// The program of `planned` with the plan as annotations in it.
Module Annotated(const PlannedProgram& planned);
// The same as text: StableHLO with Shardy's annotations if that is what was read, else HLO.
std::string AnnotatedText(const PlannedProgram& planned);
// The same in the format that the program was read in, uncompressed.
std::string AnnotatedProgram(const PlannedProgram& planned);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_MAKE_PLAN_PROGRAM_H_
