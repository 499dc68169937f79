#ifndef MESHWRIGHT_REQUEST_PLAN_OPTIONS_H_
#define MESHWRIGHT_REQUEST_PLAN_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "meshwright/request/option.h"

namespace meshwright {

// Kinds of planning that `plan` stands for.
inline constexpr Kinds kProgramAlone = 1, kPipeline = 2, kProfiled = 4, kModel = 8, kNersc = 16,
                       kGroups = 32, kFasop = 64;
inline constexpr Kinds kPrograms = kProgramAlone | kPipeline | kProfiled;
inline constexpr Kinds kModels = kModel | kNersc | kGroups | kFasop;

inline constexpr int64_t kMaxThreads = 1024;

// What can be asked of planners, as users write it; the rows below say what each means.
struct AskedOptions {
  std::string cluster;  // see ParseCluster
  std::string mesh = "auto", memory = "device", cost_model = "auto", deadline = "auto";
  int64_t threads = 2;
  // Programs.
  std::string completion = "least-cost";  // of estimates: see Completion
  std::vector<std::string> fixes, fix_files, rule_files, data;
  std::string db;
  int64_t db_environment = 0;  // 0: the one that knows the program
  uint64_t seed = 1;
  std::string pipeline = "off", micro_batches = "auto", micro_batch_rng = "exact",
              schedule = "auto";
  int64_t layers = 0;
  bool no_recompute = false;
  // Models.
  int64_t global_batch = 0, sequence = 0, top = 10;
  std::string dtype = "bf16", objective = "time", tensor = "1d";
  std::string framework, release;  // empty: not said
  std::string gradients = "auto", moments = "auto", loss = "auto", attention = "auto";
  int64_t mtp = -1;     // modules that are trained; -1: not said
  std::string network;  // bandwidth of a GPU between nodes; empty: the device's
  bool fused_loss = false, launchable = false, weak = false;
  std::string launch_targets;  // "megatron,nemo"
  std::string mtbf, checkpoint_bandwidth = "1GB/s", restart = "10min", sweep;
  // Models on groups of nodes, and what they cost in dollars.
  std::string max_time, tokens, profile;
  double max_cost = 0;
  int64_t steps = 0, point = 0;
  bool pareto = false;
  // What the command line writes and prints.
  std::string plan_path, emit_path, csv_path, plot_path;
  bool json = false, explain = false;

  GivenOptions given;
};

// The options of `plan` and `estimate`, bound to `asked`, which gets the defaults of `estimate`
// from the latter.
Options PlanOptionRows(AskedOptions& asked);
Options EstimateOptionRows(AskedOptions& asked);

}  // namespace meshwright

#endif  // MESHWRIGHT_REQUEST_PLAN_OPTIONS_H_
