#ifndef MESHWRIGHT_EXPORT_NODE_LAUNCHER_H_
#define MESHWRIGHT_EXPORT_NODE_LAUNCHER_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "meshwright/export/artefact.h"
#include "meshwright/export/export_options.h"
#include "meshwright/export/model_launch.h"
#include "meshwright/export/node_ranks.h"

// How processes come to run on every node, the same for all frameworks: launch.sh starts those of
// one node, job.sbatch starts launch.sh on all nodes, and hostfile says which node has which rank.
// Nodes of several kinds are a heterogeneous job of Slurm, a component for each kind.
//
// Ranks are fixed: torchrun's c10d rendezvous would deal them out as nodes arrive, and tensor, data
// and pipeline groups are made of consecutive ranks.

namespace meshwright {

struct NodeLaunch {
  std::string title;  // for comments: what is launched
  std::string job_name;
  NodeRanks ranks;
  // Lines of shell that come before the command: variables, arrays.
  std::string setup;
  // Words after torchrun's own options, each quoted as it should be: "train.py
  // \"${arguments[@]}\"". Empty: `command` is run as it is.
  std::string torchrun;
  std::string command;
};

// Of a model's plan: what every framework's has. `framework` is for the title; empty: none.
NodeLaunch LaunchOf(const ModelLaunch& launch, std::string_view framework);

// launch.sh, job.sbatch and, of several nodes whose names are given, hostfile.
Artefacts NodeLaunchFiles(const NodeLaunch& launch, const ExportOptions& options);

// Names of nodes as DNS has them, as many as the plan has nodes and no two the same; words for
// Slurm of its own alphabet, where nodes differ a partition for each kind, or the names of the
// nodes; text in UTF-8.
absl::Status CheckLaunchOptions(const ExportOptions& options, const NodeRanks& ranks);

// A line that sets the shell's `variable` to `value`, or where that is empty to the environment's
// `environment`, and ends the script with `message` if that is not set.
std::string RequiredVariable(const std::string& variable, const std::string& value,
                             const std::string& environment, const std::string& message);

// The two lines that every trainer needs: steps and learning_rate.
std::string TrainingLength(const ExportOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_NODE_LAUNCHER_H_
