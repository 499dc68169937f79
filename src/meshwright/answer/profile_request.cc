#include "meshwright/answer/profile_request.h"

#include "absl/strings/str_cat.h"
#include "meshwright/base/status.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/cluster/units.h"
#include "meshwright/request/plan_options.h"

namespace meshwright {
namespace {

constexpr double kMostFinalists = 100;

absl::StatusOr<double> ReadDuration(const char* option, const std::string& text) {
  absl::StatusOr<double> duration = ParseDuration(text);
  if (!duration.ok())
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", duration.status().message()));
  if (*duration > 0) return duration;
  return absl::InvalidArgumentError(
      absl::StrCat(option, ": found \"", text, "\", expected some time, like 10m"));
}

}  // namespace

Options ProfileOptionRows(ProfileAsked& asked) {
  ProfileRequest& request = asked.request;
  return {
      {"mesh",
       &request.mesh,
       "logical mesh, 4, 2x2 or x=2,y=2",
       {.required = true, .takes = "MESH"}},
      {"db",
       &request.database,
       "profile database, made if it is not there; what it has is not measured again",
       {.path = true, .required = true}},
      {"devices",
       &request.devices,
       "gpu, or host:N, N devices of the CPU, to try it out",
       {.takes = "DEVICES"}},
      {"cluster",
       &request.cluster,
       "what the devices are, like 4xh100-sxm, or a YAML file; default: the GPUs that JAX finds",
       {.path = true, .takes = "CLUSTER"}},
      {"cost-model",
       &request.cost_model,
       "predicts what is worth measuring: see plan --help",
       {.takes = "NAME"}},
      {"budget", &asked.budget, "time for all of it, like 90s or 10m", {.unit = "seconds"}},
      {"patience",
       &asked.patience,
       "time for one program to compile, or to run; then it counts as timed out",
       {.unit = "seconds"}},
      {"retry", &request.retry, "measure again what failed, did not fit or timed out before"},
      {"finalists",
       &asked.finalists,
       "plans of which a whole step is measured in the end; 0: none",
       {.most = kMostFinalists}},
      {"threads",
       &asked.threads,
       "programs to compile at a time; 0: half the processors, at most 16",
       {.most = kMaxThreads}},
      {"distributed", &request.distributed,
       "one of several processes, as Slurm starts them (srun meshwright profile ...)"},
      {"layers-csv",
       &asked.layers_csv,
       "write the times of the network's parts here, for plan --profile",
       {.output = true}},
      {"calibrate",
       &asked.calibration,
       "afterwards measure matmuls, memory-bound operators and collectives, and write the "
       "calibration (YAML) here, as calibrate --run does",
       {.output = true}},
  };
}

absl::StatusOr<ProfileRequest> ToProfileRequest(const ProfileAsked& asked) {
  ProfileRequest request = asked.request;
  MW_ASSIGN_OR_RETURN(request.budget_seconds, ReadDuration("--budget", asked.budget));
  MW_ASSIGN_OR_RETURN(request.patience_seconds, ReadDuration("--patience", asked.patience));
  request.finalists = static_cast<int>(asked.finalists);
  request.threads = static_cast<int>(asked.threads);
  if (asked.calibration.empty() || request.devices == "gpu") return request;
  return absl::InvalidArgumentError("--calibrate measures GPUs: it goes with --devices gpu");
}

absl::StatusOr<CalibrationAnswer> CalibrateProfiled(const ProfileReport& report) {
  if (FindDevice(report.environment.device_type) == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("--calibrate: no device type is known for \"",
                                                   report.environment.device, "\""));
  }
  return MakeCalibration({.run = true, .device = report.environment.device_type});
}

}  // namespace meshwright
