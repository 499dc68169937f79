#ifndef MESHWRIGHT_PROFILE_PROFILE_PROGRAM_H_
#define MESHWRIGHT_PROFILE_PROFILE_PROGRAM_H_

#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "meshwright/profile/profiler.h"

namespace meshwright {

// What a user asks to be profiled.
struct ProfileRequest {
  std::string program;                                 // path, "-" for standard input
  std::optional<std::string> contents = std::nullopt;  // of it; else they are read
  std::string mesh;                                    // see ParseMesh
  std::string database;                                // path
  std::string devices = "gpu";                         // or "host:N"
  // See ParseCluster. Empty: the GPUs that are there; of a host as many h100-sxm as the mesh has
  // devices, which only decides what is predicted, and so in which order choices are measured.
  std::string cluster;
  std::string cost_model = "auto";
  double budget_seconds = 600;
  double patience_seconds = 180;  // for one program to compile or to run
  bool retry = false;             // what failed, did not fit or timed out before
  int finalists = 4;              // plans of which whole steps are measured in the end
  int threads = 0;                // that compile; 0: half of the processors there are, 16 at most
  bool distributed = false;       // this is the first of several processes (profile_worker.py)
  std::function<bool()> stop;
  std::function<void(const ProfileProgress&)> progress;
};

// Errors: whatever is wrong with the request, the program, the devices or the database, before
// anything is measured, and without making a database; see ProfileSegments. Cancelled: stopped
// before anything could be measured.
absl::StatusOr<ProfileReport> ProfileProgram(const ProfileRequest& request);

// The network's parts as `plan --profile` takes them (docs/heterogeneous.md), under as much tensor
// parallelism as the mesh has devices: of each the fastest choice that was measured with the batch
// whole at its borders; with the seconds of its update, which `plan --profile` does not read: how
// optimizer state is kept is for a plan to choose. Error: there is none of some part.
absl::StatusOr<std::string> LayersCsv(const ProfileReport& report);

std::string ProfileTable(const ProfileReport& report);
// Keys: environment, mesh, segments (a list: fingerprint, times, blocks, choices, measured, failed,
// skipped, complete, best, seconds, spread, predicted), sequence, reshardings, measured, known,
// failed, steps (measured, failed; seconds, spread, composed of the fastest), complete, warnings.
std::string ProfileJson(const ProfileReport& report);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_PROFILE_PROGRAM_H_
