#ifndef MESHWRIGHT_PROFILE_MEASURING_WORKER_H_
#define MESHWRIGHT_PROFILE_MEASURING_WORKER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/profile/choice.h"
#include "meshwright/profile/worker_job.h"
#include "meshwright/profile/worker_process.h"

namespace meshwright {

struct MeasuringOptions {
  std::vector<std::string> command;  // the worker; see MeasuringCommand
  int threads = 1;                   // that compile
  double patience_seconds = 120;     // for one program to compile, or to run
  bool restart = true;               // a worker that has gone
  // Asked often: once it says true, all comes to an end, whatever the worker is at.
  std::function<bool()> stop;
};

// The worker that measures, started again where it goes or hangs.
class MeasuringWorker {
 public:
  // Returns once the worker is ready; one that is killed before is started again, some times.
  // Errors: it cannot be started or used (no JAX, no such devices), ended before it was ready;
  // Cancelled: was stopped.
  static absl::StatusOr<std::unique_ptr<MeasuringWorker>> Start(MeasuringOptions options);
  ~MeasuringWorker();

  const ProfileEnvironment& environment() const { return environment_; }
  int64_t devices() const { return devices_; }

  // Measures `jobs` and hands every measurement on as soon as it is there, once a job. A job with
  // which the worker went or hung is tried again by itself; if that fails too it counts as failed,
  // or timed out. `meanwhile` is called while the worker is at work. Returns early, without the
  // rest, when it is to stop. Errors: of `done`; the worker goes whatever it is given, or before
  // it is ready again, or may not be started again; Unavailable: of several processes one is gone.
  absl::Status Measure(const std::vector<const WorkerJob*>& jobs,
                       const std::function<absl::Status(size_t job, ProfileMeasurement)>& done,
                       const std::function<absl::Status()>& meanwhile);

 private:
  explicit MeasuringWorker(MeasuringOptions options);
  absl::Status StartUntilReady();
  absl::Status StartProcess();
  void EndProcess();
  absl::Status StartAgain(absl::Status last_error);
  absl::Status SendJobs(const std::vector<const WorkerJob*>& jobs,
                        const std::vector<size_t>& which);
  std::string ProtoPath(size_t job) const;

  const MeasuringOptions options_;
  std::string folder_;  // of protos; removed in the end
  std::unique_ptr<WorkerProcess> process_;
  ProfileEnvironment environment_;
  int64_t devices_ = 0;
  bool fruitful_ = false;  // something was measured
  int fruitless_ = 0;      // workers that went since then
};

// What runs the worker of the Python package with the Python that MESHWRIGHT_PYTHON names
// (python3): on "gpu" or "host:N".
std::vector<std::string> MeasuringCommand(const std::string& devices, bool distributed);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_MEASURING_WORKER_H_
