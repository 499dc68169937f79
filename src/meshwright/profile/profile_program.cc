#include "meshwright/profile/profile_program.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "meshwright/base/status.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/plan/make/plan_program.h"
#include "meshwright/profile/profile_schema.h"
#include "meshwright/profile/segment_space.h"

namespace meshwright {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostThreads = 16;
// The share of the budget for whole steps.
constexpr double kFinalistShare = 0.2;
constexpr char kHostDevice[] = "h100-sxm";
constexpr int64_t kMostHostDevices = 4096;

bool OnHostOption(const std::string& devices) { return absl::StartsWith(devices, "host:"); }
bool OnHost(const ProfileRequest& request) { return OnHostOption(request.devices); }

absl::Status CheckDevicesOption(const std::string& devices) {
  int64_t count = 0;
  const absl::string_view number = absl::StripPrefix(devices, "host:");
  const bool host = OnHostOption(devices) && absl::SimpleAtoi(number, &count) && count > 0 &&
                    count <= kMostHostDevices;
  if (host || devices == "gpu") return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--devices: found \"", devices, "\", expected gpu or host:N"));
}

int Threads(const ProfileRequest& request) {
  if (request.threads > 0) return request.threads;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()) / 2, 1, kMostThreads);
}

absl::StatusOr<Cluster> ChooseCluster(const ProfileRequest& request, int64_t mesh_devices,
                                      const ProfileEnvironment& environment) {
  if (!request.cluster.empty()) return ParseCluster(request.cluster);
  std::string device = OnHost(request) ? kHostDevice : environment.device_type;
  if (device.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no device type is known for \"", environment.device,
                     "\": say with --cluster what these devices are"));
  }
  const int64_t hosts = std::max<int64_t>(environment.hosts, 1);
  return ParseCluster(hosts > 1 && mesh_devices % hosts == 0
                          ? absl::StrCat(hosts, "x", mesh_devices / hosts, "x", device)
                          : absl::StrCat(mesh_devices, "x", device));
}

absl::Status CheckDevices(const ProfileRequest& request, const Mesh& mesh,
                          const MeasuringWorker& worker, const ProfileEnvironment& environment) {
  if (mesh.devices() > worker.devices()) {
    return absl::InvalidArgumentError(absl::StrCat("--mesh ", request.mesh, " has ", mesh.devices(),
                                                   " devices, --devices ", request.devices, " ",
                                                   worker.devices()));
  }
  const std::string& planned = mesh.cluster.device.name;
  if (OnHost(request) || environment.device_type.empty() || environment.device_type == planned)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--cluster ", request.cluster, " is of ", planned,
                                                 ", but the devices here are ", environment.device,
                                                 " (", environment.device_type, ")"));
}

absl::StatusOr<ProfileDatabase> OpenToProfile(const ProfileRequest& request) {
  return ProfileDatabase::Open(request.database, ProfileDatabase::Access::kWrite);
}

// Removes the database that a profile made which failed, if it holds nothing.
void RemoveIfEmpty(ProfileDatabase database) {
  const absl::StatusOr<std::vector<StoredEnvironment>> stored = database.Environments();
  if (!stored.ok() || !stored->empty() || !database.CheckInPlace().ok()) return;
  const std::string path = database.path();
  { const ProfileDatabase closed = std::move(database); }
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
}

ProfileProgress ProgressOf(const ProfileReport& segments, const FinalistReport& steps,
                           const ProfileRequest& request, double seconds, const std::string& what) {
  ProfileProgress progress;
  progress.seconds = seconds;
  progress.left_seconds = std::max(0.0, request.budget_seconds - seconds);
  progress.measured = segments.measured + steps.measured;
  progress.known = segments.known;
  progress.failed = segments.failed + steps.failed;
  progress.what = what;
  return progress;
}

// Goes on from segments, which are in the report, to whole steps.
absl::Status AddFinalists(const ProfileRequest& request, const Graph& graph,
                          const CostModelRow& cost_model, const Mesh& mesh, FinalistOptions options,
                          MeasuringWorker* worker, ProfileDatabase* database,
                          ProfileReport* report) {
  options.most = request.finalists;
  options.patience_seconds = request.patience_seconds;
  options.retry = request.retry;
  options.budget_bytes = BudgetBytes(MemoryBudget(), mesh.cluster);
  MW_ASSIGN_OR_RETURN(
      report->finalists,
      MeasureFinalists(graph, cost_model, mesh, report->environment, options, worker, database));
  report->measured += report->finalists.measured;
  report->failed += report->finalists.failed;
  if (!report->finalists.warning.empty()) report->warnings.push_back(report->finalists.warning);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ProfileReport> ProfileProgram(const ProfileRequest& request) {
  const Clock::time_point start = Clock::now();
  // What is quick to check comes first; the worker takes seconds to start.
  if (request.budget_seconds <= 0)
    return absl::InvalidArgumentError("--budget: found 0, expected more than no time");
  MW_RETURN_IF_ERROR(CheckDevicesOption(request.devices));
  MW_ASSIGN_OR_RETURN(const int64_t mesh_devices, ParseMeshDevices(request.mesh));
  if (!request.cluster.empty()) MW_RETURN_IF_ERROR(ParseCluster(request.cluster).status());
  MW_ASSIGN_OR_RETURN(const Program program, request.contents
                                                 ? ParseProgram(*request.contents, request.program)
                                                 : ReadProgram(request.program));
  if (const std::string bounded = FindBoundedSize(program.graph); !bounded.empty()) {
    return absl::UnimplementedError(
        absl::StrCat(program.input.path, ": ", bounded,
                     " has a size that is only bounded, which JAX cannot run; lower the program "
                     "for sizes that are known"));
  }
  MW_RETURN_IF_ERROR(CheckProfilesPath(request.database));
  std::error_code ignored;
  const bool is_new = !std::filesystem::exists(request.database, ignored);
  std::optional<ProfileDatabase> database;
  if (!is_new) {
    MW_ASSIGN_OR_RETURN(database, OpenToProfile(request));
  }
  MeasuringOptions measuring;
  measuring.command = MeasuringCommand(request.devices, request.distributed);
  measuring.threads = Threads(request);
  measuring.patience_seconds = request.patience_seconds;
  measuring.restart = !request.distributed;
  const auto seconds = [start] {
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  measuring.stop = [&] {
    return seconds() > request.budget_seconds || (request.stop && request.stop());
  };
  absl::StatusOr<std::unique_ptr<MeasuringWorker>> started = MeasuringWorker::Start(measuring);
  if (started.status().code() == absl::StatusCode::kCancelled) {
    if (request.stop && request.stop()) return absl::CancelledError("interrupted");
    return absl::InvalidArgumentError(
        absl::StrFormat("--budget of %.0f s was over before the measuring worker was ready: give "
                        "it more time",
                        request.budget_seconds));
  }
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<MeasuringWorker> worker, std::move(started));
  ProfileEnvironment environment = worker->environment();
  MW_ASSIGN_OR_RETURN(const Cluster cluster, ChooseCluster(request, mesh_devices, environment));
  MW_ASSIGN_OR_RETURN(const Mesh mesh, ParseMesh(request.mesh, cluster));
  MW_RETURN_IF_ERROR(CheckDevices(request, mesh, *worker, environment));
  if (environment.device_type.empty()) environment.device_type = cluster.device.name;
  MW_ASSIGN_OR_RETURN(const CostModelRow* const row, ChooseCostModel(request.cost_model, cluster));
  const std::unique_ptr<CostModel> cost_model = row->make(mesh);
  MW_ASSIGN_OR_RETURN(const std::unique_ptr<SegmentSpace> space,
                      SegmentSpace::Make(program.graph, mesh, *cost_model, measuring.threads));
  if (!database.has_value()) {
    MW_ASSIGN_OR_RETURN(database, OpenToProfile(request));
  }
  ProfileOptions options;
  const double finalist_share = request.finalists > 0 ? kFinalistShare : 0;
  options.budget_seconds = std::max(0.0, request.budget_seconds * (1 - finalist_share) - seconds());
  options.patience_seconds = request.patience_seconds;
  options.retry = request.retry;
  options.batch = measuring.threads;
  options.stop = request.stop;
  options.progress = request.progress;
  absl::StatusOr<ProfileReport> profiled =
      ProfileSegments(*space, mesh, environment, options, worker.get(), &*database);
  if (!profiled.ok() && is_new) RemoveIfEmpty(*std::exchange(database, std::nullopt));
  MW_ASSIGN_OR_RETURN(ProfileReport report, std::move(profiled));
  if (request.finalists > 0 && !measuring.stop()) {
    FinalistOptions finals;
    finals.seconds = request.budget_seconds - seconds();
    finals.threads = measuring.threads;
    finals.stop = measuring.stop;
    finals.progress = [&](const FinalistReport& steps, const std::string& what) {
      if (request.progress) request.progress(ProgressOf(report, steps, request, seconds(), what));
    };
    MW_RETURN_IF_ERROR(AddFinalists(request, program.graph, *row, mesh, std::move(finals),
                                    worker.get(), &*database, &report));
  }
  MW_RETURN_IF_ERROR(database->Conclude());
  if (auto warning = CalibrationWarning(*row, cluster))
    report.warnings.push_back(*std::move(warning));
  return report;
}

}  // namespace meshwright
