#ifndef MESHWRIGHT_PUBLISHED_RUNS_RUNS_H_
#define MESHWRIGHT_PUBLISHED_RUNS_RUNS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/base/csv.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/configuration.h"
#include "meshwright/degrees/device_parameters.h"
#include "meshwright/degrees/framework.h"
#include "meshwright/degrees/step_cost.h"
#include "meshwright/model/model.h"

// Published training runs: what each row of a table says, and what the calibrated model predicts.
//
// Columns (any order, others are ignored): source, model, layers, hidden, ffn, heads, kv_heads,
// seq, vocab, experts, topk, gpu, n_gpus, tp, pp, vpp, cp, ep, etp, dp, mbs, gbs, grad_accum,
// dtype, recompute, zero, fsdp_shard; of time iteration_time_s or else tokens_per_s_per_gpu or else
// tflops_per_gpu; mem_gib; and those of what ran it, which older tables lack (columns.h). Empty
// fields are not published. What a row leaves out is what its framework does by default
// (degrees/framework.h); a row whose degrees, batch or time are missing and do not follow is
// incomplete. What a row does say is followed, or the row is not taken (check.h).

namespace meshwright::transformer {

struct Run {
  Model model;
  std::string description;     // text that it is read from
  std::optional<int64_t> mtp;  // modules that are trained, where the row says
  Cluster cluster;
  std::optional<double> network_gbits;  // of a GPU between nodes, where the row says
  Workload workload;
  Configuration configuration;
  ChosenFramework framework;
  double seconds = 0;                // measured, of a step
  std::optional<double> memory_gib;  // measured
  std::string note;                  // what the row says that is not followed; empty: nothing
};

struct RunPrediction {
  int line = 0;
  std::optional<Run> run;  // none if skipped
  std::string source, gpu, dtype;
  std::string key;      // runs_key.h
  bool fitted = false;  // whether the parameters were fitted on it (CostParameters::fitted_runs)
  std::string skipped;  // why there is no prediction; empty if there is one
  std::string note;     // Run::note
  double seconds = 0, predicted_seconds = 0;
  std::optional<double> memory_gib, predicted_gib;
  // It ran, and is predicted to need more than its GPUs have; where its row does not say what was
  // recomputed, whatever that was.
  bool over_memory = false;

  double error() const { return predicted_seconds / seconds - 1; }
};

// What was run among all that could have been with what frameworks do unless they are told
// otherwise (UsualFixes): the whole space of the row's model, GPUs, batch,
// sequence and precision, of which those plans count that fit into the GPUs' memory, by the model
// of the row's framework.
struct RunRank {
  bool fits = false;              // what was run, by the model
  double seconds = 0;             // of what was run, predicted
  int64_t plans = 0, faster = 0;  // plans that fit, and of these faster than what was run
  // The same of tuples (tp, cp, pp, ep, etp, micro-batch), each at the best of its plans.
  int64_t degrees = 0, faster_degrees = 0;
  std::optional<Configuration> best;  // the fastest; none if nothing fits
  StepTime best_time, time;           // of that and of what was run
};
RunRank RankRun(const Run& run, const CostParameters& parameters);

// The ranks of all rows whose frameworks leave the choice open (FSDP's, which have no degrees, are
// left out). Rows of equal questions are worked out once. They point to `predictions`.
struct RankedRun {
  const RunPrediction* prediction = nullptr;
  RunRank rank;
};
std::vector<RankedRun> RankRuns(const std::vector<RunPrediction>& predictions,
                                const CostParameters& parameters, int threads);

// Each with the fastest plan and the parts of the step that it saves, and a summary by source.
std::string RanksReport(const std::vector<RankedRun>& ranks);
// {"reproduction": "runs", "ranks": [...]}.
std::string RanksJson(const std::vector<RankedRun>& ranks);

// Errors: a column that is needed is missing, a field that should be a number is not one (with
// file and line).
absl::StatusOr<std::vector<RunPrediction>> PredictRuns(const CsvTable& table, std::string_view file,
                                                       const CostParameters& parameters);

// Errors of time by source, GPU and dtype, of memory, and the rows that were skipped, as text.
std::string RunsReport(const std::vector<RunPrediction>& predictions);
// The same as {"reproduction": "runs", "cases": [...], "errors": {...}}; what a row has not, or is
// not predicted, is null.
std::string RunsJson(const std::vector<RunPrediction>& predictions);

// The table with all columns of what ran its rows (columns.h), and half, seconds,
// predicted_seconds, error, predicted_mem_gib, skipped, key.
std::string PredictedCsv(const CsvTable& table, const std::vector<RunPrediction>& predictions);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_PUBLISHED_RUNS_RUNS_H_
