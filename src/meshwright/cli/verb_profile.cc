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
#include "meshwright/answer/profile_request.h"
#include "meshwright/base/printable.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/add_options.h"
#include "meshwright/cli/interruption.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/option_checks.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/staged_outputs.h"
#include "meshwright/cli/verb.h"
#include "meshwright/profile/profile_program.h"
#include "meshwright/profile/write_ahead_log.h"

namespace meshwright {
namespace {

struct ProfileCommand {
  ProfileAsked asked;
  bool json = false;
};

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

// The files that were asked for; with an error none.
absl::Status WriteFiles(const ProfileReport& report, const OutputFile& layers,
                        const OutputFile& calibration) {
  StagedOutputs outputs;
  if (!layers.path.empty()) {
    MW_ASSIGN_OR_RETURN(const std::string csv, LayersCsv(report));
    MW_RETURN_IF_ERROR(outputs.Add(layers, csv));
  }
  if (!calibration.path.empty()) {
    std::fprintf(stderr, "measuring matmuls, operators and collectives\n");
    MW_ASSIGN_OR_RETURN(const CalibrationAnswer made, CalibrateProfiled(report));
    for (const std::string& warning : made.warnings) PrintWarning(warning);
    MW_RETURN_IF_ERROR(outputs.Add(calibration, made.yaml));
  }
  return outputs.Commit();
}

absl::Status RunProfile(const ProfileCommand& command) {
  MW_ASSIGN_OR_RETURN(ProfileRequest request, ToProfileRequest(command.asked));
  if (request.distributed && ProcessNumber() > 0) return BecomeWorker(request.devices);
  const OutputFile layers = {"--layers-csv", command.asked.layers_csv};
  const OutputFile calibration = {"--calibrate", command.asked.calibration};
  const std::string& database = request.database;
  // SQLite keeps what it writes in files beside its own first.
  MW_RETURN_IF_ERROR(CheckOutputs(
      {layers, calibration},
      {request.program, database, WriteAheadLogOf(database), SharedMemoryOf(database)}));
  Interruption interruption;
  request.stop = [&] { return interruption.Requested(); };
  request.progress = &ShowProfileProgress;
  MW_ASSIGN_OR_RETURN(const ProfileReport report, ProfileProgram(request));
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
  app.add_option("PROGRAM", command->asked.request.program,
                 "HLO text, HloModuleProto or StableHLO, also gzipped; - for standard input")
      ->required()
      ->check(IsFileOf(WantedFile::kProgram));
  AddOptions(app, ProfileOptionRows(command->asked));
  app.add_flag("--json", command->json, "print JSON");
  return [command] { return RunProfile(*command); };
}

}  // namespace meshwright
