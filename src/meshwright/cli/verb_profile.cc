#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/printable.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/calibration_worker.h"
#include "meshwright/cli/interruption.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/staged_outputs.h"
#include "meshwright/cli/verb.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/cluster/units.h"
#include "meshwright/profile/profile_program.h"
#include "meshwright/profile/write_ahead_log.h"
#include "meshwright/request/plan_options.h"

namespace meshwright {
namespace {

constexpr int kMostFinalists = 100;

struct ProfileCommand {
  ProfileRequest request;
  std::string budget = "10m", patience = "3m";
  std::string layers_csv, calibration;  // empty: not asked for
  bool json = false;
};

absl::Status ReadDuration(const char* option, const std::string& text, double* seconds) {
  const absl::StatusOr<double> duration = ParseDuration(text);
  if (!duration.ok())
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", duration.status().message()));
  if (*duration <= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, ": found \"", text, "\", expected some time, like 10m"));
  }
  *seconds = *duration;
  return absl::OkStatus();
}

// One of several processes that is not the first: becomes the worker, whose exit code is its own.
absl::Status BecomeWorker(const std::string& devices) {
  std::vector<std::string> command = MeasuringCommand(devices, /*distributed=*/true);
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (std::string& argument : command) argv.push_back(argument.data());
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  return absl::InvalidArgumentError(
      absl::StrCat("cannot run ", command[0], ": ", std::strerror(errno)));
}

// The number of this process among those of --distributed.
int ProcessNumber() {
  for (const char* name : {"JAX_PROCESS_ID", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"}) {
    if (const char* value = std::getenv(name)) return std::atoi(value);
  }
  return 0;
}

void ShowProfileProgress(const ProfileProgress& progress) {
  std::fprintf(stderr, "%s\n",
               Fit(absl::StrFormat("[%5.1f s, %.0f s left] measured %d, known %d, failed %d: %s",
                                   progress.seconds, progress.left_seconds, progress.measured,
                                   progress.known, progress.failed, progress.what),
                   kColumns)
                   .c_str());
}

// Matmuls, memory-bound operators and collectives of the devices that were profiled.
absl::StatusOr<std::string> MeasureCalibration(const ProfileReport& report) {
  const DeviceType* const device = FindDevice(report.environment.device_type);
  if (device == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("--calibrate: no device type is known for \"",
                                                   report.environment.device, "\""));
  }
  std::fprintf(stderr, "measuring matmuls, operators and collectives\n");
  MW_ASSIGN_OR_RETURN(const std::string worker, FindCalibrationWorker(""));
  MW_ASSIGN_OR_RETURN(const std::string text, RunCalibrationWorker(worker));
  return CalibrationFrom(text, worker, *device);
}

// The files that were asked for; with an error none.
absl::Status WriteFiles(const ProfileReport& report, const OutputFile& layers,
                        const OutputFile& calibration) {
  StagedOutputs outputs;
  if (!layers.path.empty()) {
    MW_ASSIGN_OR_RETURN(const std::string csv, LayersCsv(report));
    MW_RETURN_IF_ERROR(outputs.Add(layers, csv));
  }
  if (!calibration.path.empty()) {
    MW_ASSIGN_OR_RETURN(const std::string yaml, MeasureCalibration(report));
    MW_RETURN_IF_ERROR(outputs.Add(calibration, yaml));
  }
  return outputs.Commit();
}

absl::Status RunProfile(ProfileCommand& command) {
  MW_RETURN_IF_ERROR(ReadDuration("--budget", command.budget, &command.request.budget_seconds));
  MW_RETURN_IF_ERROR(
      ReadDuration("--patience", command.patience, &command.request.patience_seconds));
  if (command.request.distributed && ProcessNumber() > 0)
    return BecomeWorker(command.request.devices);
  const OutputFile layers = {"--layers-csv", command.layers_csv};
  const OutputFile calibration = {"--calibrate", command.calibration};
  const std::string& database = command.request.database;
  // SQLite keeps what it writes in files beside its own first.
  MW_RETURN_IF_ERROR(CheckOutputs(
      {layers, calibration},
      {command.request.program, database, WriteAheadLogOf(database), SharedMemoryOf(database)}));
  if (!calibration.path.empty() && command.request.devices != "gpu") {
    return absl::InvalidArgumentError("--calibrate measures GPUs: it goes with --devices gpu");
  }
  const Interruption interruption;
  command.request.stop = [&] { return interruption.Requested(); };
  command.request.progress = &ShowProfileProgress;
  MW_ASSIGN_OR_RETURN(const ProfileReport report, ProfileProgram(command.request));
  const absl::Status written =
      interruption.Requested() ? absl::OkStatus() : WriteFiles(report, layers, calibration);
  // What was measured is told, whatever becomes of the files.
  MW_RETURN_IF_ERROR(command.json ? PrintOutput(ProfileJson(report))
                                  : PrintScreen(ProfileTable(report)));
  MW_RETURN_IF_ERROR(written);
  if (!interruption.Requested()) return absl::OkStatus();
  return absl::CancelledError(
      absl::StrCat("interrupted; what was measured is in ", database, ", run this again to go on"));
}

}  // namespace

Action AddProfileVerb(CLI::App& app) {
  const auto command = std::make_shared<ProfileCommand>();
  ProfileRequest& request = command->request;
  app.add_option("PROGRAM", request.program,
                 "HLO text, HloModuleProto or StableHLO, also gzipped; - for standard input")
      ->required();
  app.add_option("--mesh", request.mesh, "logical mesh, 4, 2x2 or x=2,y=2")->required();
  app.add_option("--db", request.database,
                 "profile database, made if it is not there; what it has is not measured again")
      ->required();
  app.add_option("--devices", request.devices,
                 "gpu, or host:N, N devices of the CPU, to try it out")
      ->capture_default_str();
  app.add_option("--cluster", request.cluster,
                 "what the devices are, like 4xh100-sxm, or a YAML file; default: the GPUs that "
                 "JAX finds");
  app.add_option("--cost-model", request.cost_model,
                 "predicts what is worth measuring: see plan --help")
      ->capture_default_str();
  app.add_option("--budget", command->budget, "time for all of it, like 90s or 10m")
      ->capture_default_str();
  app.add_option("--patience", command->patience,
                 "time for one program to compile, or to run; then it counts as timed out")
      ->capture_default_str();
  app.add_flag("--retry", request.retry,
               "measure again what failed, did not fit or timed out before");
  app.add_option("--finalists", request.finalists,
                 "plans of which a whole step is measured in the end; 0: none")
      ->check(CLI::Range(0, kMostFinalists))
      ->capture_default_str();
  app.add_option("--threads", request.threads,
                 "programs to compile at a time; 0: half the processors, at most 16")
      ->check(CLI::Range(int64_t{0}, kMaxThreads))
      ->capture_default_str();
  app.add_flag("--distributed", request.distributed,
               "one of several processes, as Slurm starts them (srun meshwright profile ...)");
  AddOutputOption(app, "--layers-csv", command->layers_csv,
                  "write the times of the network's parts here, for plan --profile");
  AddOutputOption(app, "--calibrate", command->calibration,
                  "afterwards measure matmuls, memory-bound operators and collectives, and write "
                  "the calibration (YAML) here, as calibrate --run does");
  app.add_flag("--json", command->json, "print JSON");
  return [command] { return RunProfile(*command); };
}

}  // namespace meshwright
