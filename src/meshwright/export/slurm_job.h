#ifndef MESHWRIGHT_EXPORT_SLURM_JOB_H_
#define MESHWRIGHT_EXPORT_SLURM_JOB_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/export/export_options.h"
#include "meshwright/export/node_launcher.h"

// job.sbatch.

namespace meshwright {

// How a shell script begins: strict, and with fail(), which ends it with a message.
inline constexpr std::string_view kShellHead = R"(#!/usr/bin/env bash
set -euo pipefail

fail() {
  printf '%s: %s\n' "${0##*/}" "$1" >&2
  exit 2
}
)";

// Starts launch.sh on all nodes. Of several kinds of nodes: a heterogeneous job
// (https://slurm.schedmd.com/heterogeneous_jobs.html), a component for each kind.
std::string SlurmScript(const NodeLaunch& launch, const ExportOptions& options);

// Words in #SBATCH lines, which know no quotes: letters, digits and `more_characters`.
absl::Status CheckSlurmWord(std::string_view option, const std::string& word,
                            std::string_view more_characters);

// One of the forms in which Slurm takes a time limit, or empty.
absl::Status CheckSlurmTime(std::string_view option, const std::string& text);

// The partition of each kind of nodes; empty: none was named. --partition names one for all, or
// "fast=gpu-a,slow=gpu-b". Errors: kinds that are unknown, left out or there twice; several kinds
// and neither a partition for each nor names of the nodes.
absl::StatusOr<std::vector<std::string>> PartitionsOf(const ExportOptions& options,
                                                      const NodeRanks& ranks);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_SLURM_JOB_H_
