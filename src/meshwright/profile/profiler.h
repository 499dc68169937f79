#ifndef MESHWRIGHT_PROFILE_PROFILER_H_
#define MESHWRIGHT_PROFILE_PROFILER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/profile/choice.h"
#include "meshwright/profile/database.h"
#include "meshwright/profile/finalists.h"
#include "meshwright/profile/measuring_worker.h"
#include "meshwright/profile/segment_space.h"

namespace meshwright {

// How a profile gets on.
struct ProfileProgress {
  double seconds = 0;       // since it began
  double left_seconds = 0;  // until it ends: the budget, or what there is to measure at this pace
  int64_t measured = 0;     // now
  int64_t known = 0;        // found in the database
  int64_t failed = 0;       // did not compile, fit or end, now
  std::string what;         // is measured
};

struct ProfileOptions {
  double budget_seconds = 600;  // from the call on
  // The patience of the worker: what timed out with less is tried again.
  double patience_seconds = 180;
  bool retry = false;  // what failed, did not fit or timed out before
  int batch = 1;       // programs that are compiled at a time
  std::function<bool()> stop;
  std::function<void(const ProfileProgress&)> progress;
};

// What is known of one distinct segment after a profile.
struct SegmentProfile {
  std::string fingerprint;
  int64_t times = 0;  // in the network
  int64_t blocks = 0;
  double choices = 0;  // that there are, borders included
  int64_t measured = 0, failed = 0;
  int64_t skipped = 0;    // could not be best, see `complete`
  bool complete = false;  // every choice is measured or cannot be best
  // Seconds of the fastest with the batch whole at both borders, which add up to what was measured;
  // negative: none was.
  double whole_forward = -1, whole_backward = -1, whole_update = -1;
  // The fastest that was measured, and what was predicted for it.
  std::string best;
  double best_seconds = 0, best_spread = 0, best_predicted = 0;
};

struct ProfileReport {
  ProfileEnvironment environment;
  std::string mesh;
  int64_t mesh_devices = 0, batch_size = 0;
  std::vector<SegmentProfile> segments;
  std::vector<int32_t> sequence;
  int64_t reshardings = 0;  // that were measured, of those that occur between measured choices
  int64_t missing_reshardings = 0;
  int64_t measured = 0, known = 0, failed = 0;
  bool complete = false;  // nothing is left to measure
  FinalistReport finalists;
  std::vector<std::string> warnings;
};

// Measures the segments of `space` on `mesh` with `worker` and stores every measurement in
// `database` before the next. What the database has for `environment` is not measured again. Of
// several processes that do so at once with one database each measures something else.
//
// Which choices are measured, and in which order: see ChoiceQueue. In the middle and in the end
// come the reshardings between borders of measured choices that follow each other. Errors:
// of SegmentSpace, MeasuringWorker::Measure, ProfileDatabase.
absl::StatusOr<ProfileReport> ProfileSegments(SegmentSpace& space, const Mesh& mesh,
                                              const ProfileEnvironment& environment,
                                              const ProfileOptions& options,
                                              MeasuringWorker* worker, ProfileDatabase* database);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_PROFILER_H_
