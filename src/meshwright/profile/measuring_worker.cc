#include "meshwright/profile/measuring_worker.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/one_line.h"
#include "meshwright/base/python_worker.h"
#include "meshwright/base/status.h"

namespace meshwright {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

// How long to wait for a line at a time, so that `stop` is asked often.
constexpr double kMomentSeconds = 0.1;
// Loading JAX and finding the devices, also over a network's file system and several hosts.
constexpr double kStartSeconds = 300;
constexpr int kMostAttempts = 2;
// For the command that a worker of several processes is at.
constexpr double kFinishSeconds = 15;
// Workers that go in turn without measuring anything.
constexpr int kMostFruitless = 6;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

absl::StatusOr<std::string> MakeFolder() {
  std::error_code error;
  const fs::path base = fs::temp_directory_path(error);
  std::string pattern = ((error ? fs::path("/tmp") : base) / "meshwright-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("cannot make a folder ", pattern));
  return pattern;
}

// What a worker says of `key`; "" or `otherwise`: nothing, or something else than a text or number.
std::string EventText(const InputJson& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : "";
}
int64_t EventNumber(const InputJson& event, const char* key, int64_t otherwise) {
  const auto found = event.find(key);
  return found != event.end() && found->is_number_integer() ? found->get<int64_t>() : otherwise;
}

// Where a job has got to in the worker.
enum class Stage : uint8_t { kWaiting, kCompiling, kCompiled, kMeasuring, kDone };

}  // namespace

std::vector<std::string> MeasuringCommand(const std::string& devices, bool distributed) {
  std::vector<std::string> command = PythonWorker("meshwright.profile_worker");
  command.insert(command.end(), {"--devices", devices});
  if (distributed) command.emplace_back("--distributed");
  return command;
}

MeasuringWorker::MeasuringWorker(MeasuringOptions options) : options_(std::move(options)) {}

MeasuringWorker::~MeasuringWorker() {
  EndProcess();
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

// None of several processes may go before the others: JAX ends those that are left, as failed.
void MeasuringWorker::EndProcess() {
  if (process_ != nullptr && !options_.restart) process_->Finish(kFinishSeconds);
  process_.reset();
}

absl::StatusOr<std::unique_ptr<MeasuringWorker>> MeasuringWorker::Start(MeasuringOptions options) {
  std::unique_ptr<MeasuringWorker> worker(new MeasuringWorker(std::move(options)));
  MW_ASSIGN_OR_RETURN(worker->folder_, MakeFolder());
  MW_RETURN_IF_ERROR(worker->StartUntilReady());
  return worker;
}

absl::Status MeasuringWorker::StartUntilReady() {
  absl::Status status = StartProcess();
  return status.code() == absl::StatusCode::kUnavailable ? StartAgain(std::move(status)) : status;
}

// After `last_error`, with which a worker went: until one is ready, or too many went in a row
// without measuring anything.
absl::Status MeasuringWorker::StartAgain(absl::Status last_error) {
  while (options_.restart && ++fruitless_ < kMostFruitless) {
    last_error = StartProcess();
    if (last_error.code() != absl::StatusCode::kUnavailable) return last_error;
  }
  return absl::UnavailableError(
      absl::StrCat(last_error.message(),
                   fruitless_ > 1 ? absl::StrCat(", as did ", fruitless_ - 1, " before it") : "",
                   fruitful_ ? "; what was measured is stored, run this again to go on" : ""));
}

absl::Status MeasuringWorker::StartProcess() {
  process_.reset();
  MW_ASSIGN_OR_RETURN(process_, WorkerProcess::Start(options_.command));
  const Clock::time_point start = Clock::now();
  std::string line;
  while (true) {
    const WorkerProcess::Got got = process_->Receive(kMomentSeconds, &line);
    if (got == WorkerProcess::Got::kLine) break;
    if (got == WorkerProcess::Got::kEnd) {
      const std::string what = absl::StrCat("the measuring worker (", options_.command[0], ") ",
                                            process_->HowItEnded(), " before it was ready");
      // One that somebody killed would do another time; one that gave up would give up again.
      if (process_->was_killed()) return absl::UnavailableError(what);
      return absl::InvalidArgumentError(absl::StrCat(what, "; see its messages above"));
    }
    if (options_.stop && options_.stop())
      return absl::CancelledError("stopped before the measuring worker was ready");
    if (SecondsSince(start) > kStartSeconds) {
      return absl::InvalidArgumentError(
          absl::StrFormat("the measuring worker is not ready after %.0f s", kStartSeconds));
    }
  }
  const InputJson hello = InputJson::parse(line, nullptr, /*allow_exceptions=*/false);
  if (EventText(hello, "event") == "unusable")
    return absl::InvalidArgumentError(OneLine(EventText(hello, "message")));
  const int64_t hosts = EventNumber(hello, "hosts", 1);
  if (EventText(hello, "event") != "ready" || hosts < 1 ||
      hosts > std::numeric_limits<int32_t>::max())
    return absl::InternalError(
        absl::StrCat("the measuring worker (", options_.command[0], ") said: ", OneLine(line)));
  environment_.device = OneLine(EventText(hello, "device"));
  environment_.driver = OneLine(EventText(hello, "driver"));
  environment_.libraries = OneLine(EventText(hello, "libraries"));
  environment_.device_type = OneLine(EventText(hello, "device_type"));
  environment_.hosts = static_cast<int32_t>(hosts);
  devices_ = EventNumber(hello, "devices", 0);
  return absl::OkStatus();
}

std::string MeasuringWorker::ProtoPath(size_t job) const {
  return absl::StrCat(folder_, "/", job, ".pb");
}

absl::Status MeasuringWorker::SendJobs(const std::vector<const WorkerJob*>& jobs,
                                       const std::vector<size_t>& which) {
  Json command = {{"command", "measure"}, {"threads", options_.threads}, {"jobs", Json::array()}};
  for (size_t j : which) {
    Json job = Json::parse(jobs[j]->json);
    job["id"] = j;
    if (!jobs[j]->proto.empty()) {
      job["proto"] = ProtoPath(j);
      std::ofstream file(ProtoPath(j), std::ios::binary);
      file << jobs[j]->proto;
      if (!file.flush()) {
        return absl::ResourceExhaustedError(
            absl::StrCat(ProtoPath(j), ": cannot be written; TMPDIR names another folder"));
      }
    }
    command["jobs"].push_back(std::move(job));
  }
  // One that has gone is found out by listening to it.
  process_->Send(command.dump()).IgnoreError();
  return absl::OkStatus();
}

absl::Status MeasuringWorker::Measure(
    const std::vector<const WorkerJob*>& jobs,
    const std::function<absl::Status(size_t job, ProfileMeasurement)>& done,
    const std::function<absl::Status()>& meanwhile) {
  // What is to stop while a worker starts has nothing to lose.
  const auto unless_cancelled = [](const absl::Status& status) {
    return status.code() == absl::StatusCode::kCancelled ? absl::OkStatus() : status;
  };
  if (process_ == nullptr) {
    if (absl::Status status = StartUntilReady(); !status.ok()) return unless_cancelled(status);
  }
  std::vector<int> attempts(jobs.size(), 0);
  std::vector<size_t> left, suspects;  // suspects are tried singly
  for (size_t j = 0; j < jobs.size(); ++j) left.push_back(j);
  while (!left.empty() || !suspects.empty()) {
    std::vector<size_t> batch = std::exchange(left, {});
    if (batch.empty()) {
      batch = {suspects.back()};
      suspects.pop_back();
    }
    std::map<size_t, Stage> stages;
    for (size_t j : batch) stages[j] = Stage::kWaiting;
    MW_RETURN_IF_ERROR(SendJobs(jobs, batch));
    bool gone = false, hung = false, idle = false;
    Clock::time_point last = Clock::now();
    while (!gone && !hung && !idle) {
      if (options_.stop && options_.stop()) {
        EndProcess();  // in the middle of something
        return absl::OkStatus();
      }
      std::string line;
      const WorkerProcess::Got got = process_->Receive(kMomentSeconds, &line);
      gone = got == WorkerProcess::Got::kEnd;
      if (got == WorkerProcess::Got::kNothing) {
        hung = SecondsSince(last) > options_.patience_seconds;
        MW_RETURN_IF_ERROR(meanwhile());
      }
      if (got != WorkerProcess::Got::kLine) continue;
      last = Clock::now();
      const InputJson event = InputJson::parse(line, nullptr, /*allow_exceptions=*/false);
      const std::string kind = EventText(event, "event");
      idle = kind == "idle";
      if (kind == "lost") {
        // Which says nothing of what was being measured.
        return absl::UnavailableError(
            absl::StrCat(OneLine(EventText(event, "message")),
                         "; what was measured is stored, run this again to go on"));
      }
      const auto known = stages.find(static_cast<size_t>(EventNumber(event, "id", -1)));
      if (idle || known == stages.end()) continue;
      if (kind == "compiling") known->second = Stage::kCompiling;
      if (kind == "compiled") known->second = Stage::kCompiled;
      if (kind == "measuring") known->second = Stage::kMeasuring;
      if (kind != "done") continue;
      known->second = Stage::kDone;
      fruitless_ = 0;
      fruitful_ = true;
      MW_ASSIGN_OR_RETURN(ProfileMeasurement measurement, ReadMeasurement(line));
      MW_RETURN_IF_ERROR(done(known->first, std::move(measurement)));
    }
    for (size_t j : batch) {
      std::error_code ignored;
      fs::remove(ProtoPath(j), ignored);
    }
    if (idle) continue;
    const std::string how = hung ? "hung" : process_->HowItEnded();
    const std::string waited =
        hung ? absl::StrFormat(" for longer than --patience, %.3g s", options_.patience_seconds)
             : "";
    for (const auto& [j, stage] : stages) {
      if (stage == Stage::kDone) continue;
      if (stage == Stage::kWaiting || stage == Stage::kCompiled) {
        left.push_back(j);
        continue;
      }
      if (++attempts[j] < kMostAttempts) {
        suspects.push_back(j);
        continue;
      }
      ProfileMeasurement failed;
      failed.status = hung ? MeasurementStatus::kTimedOut : MeasurementStatus::kFailed;
      failed.limit_seconds = hung ? options_.patience_seconds : 0;
      failed.error = absl::StrCat("the worker ", how, " while ",
                                  stage == Stage::kCompiling ? "compiling" : "measuring");
      // Before anything was measured it is rather the worker that is at fault.
      if (fruitful_) MW_RETURN_IF_ERROR(done(j, std::move(failed)));
    }
    absl::Status status =
        StartAgain(absl::UnavailableError(absl::StrCat("the measuring worker ", how, waited)));
    if (!status.ok()) return unless_cancelled(status);
  }
  return absl::OkStatus();
}

}  // namespace meshwright
