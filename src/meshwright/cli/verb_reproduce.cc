#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/reproduce_files.h"
#include "meshwright/cli/reproduce_runs.h"
#include "meshwright/cli/verb.h"
#include "meshwright/cluster/units.h"
#include "meshwright/inter/layers/alpa_layers.h"
#include "meshwright/inter/schedule/alpa_schedules.h"
#include "meshwright/inter/stages/alpa_stages.h"
#include "meshwright/plan/text/plan_table.h"
#include "meshwright/published/fasop/reproduce.h"
#include "meshwright/published/nersc/reproduce.h"
#include "meshwright/solve/alpa_ilp.h"
#include "meshwright/solve/solution_json.h"

namespace meshwright {
namespace {

struct ReproduceCommand {
  std::string what;
  std::vector<std::string> files;
  std::string deadline = "60s";
  int threads = 2;
  bool json = false;
  std::string output, parameters;
  bool rank = false, commands = false;  // of runs only
};

// One recorded case, whatever it is of.
struct Row {
  std::string name;
  int64_t nodes = 0;
  std::optional<double> recorded, found;  // nullopt: infeasible, or nothing found
  std::string outcome;                    // of our search
  double deviation = 0;  // |found - recorded| / max(1, |recorded|); infinite if one is infeasible
  double milliseconds = 0;
  bool ok = false;
};

// Called for each row as soon as it is there.
using RowSink = std::function<absl::Status(const Row&)>;

struct Reproduction {
  const char* name;
  const char* summary;
  // One of the two: rows for the common table, or all of the output.
  absl::Status (*run)(const std::vector<std::string>& files, const solve::SolverOptions& options,
                      const RowSink& sink);
  absl::Status (*print)(const ReproduceCommand& command) = nullptr;
};

absl::Status ReproduceAlpaIlp(const std::vector<std::string>& files,
                              const solve::SolverOptions& options, const RowSink& sink) {
  std::vector<solve::RecordedProblem> problems;  // all are read before any is solved
  for (const std::string& file : files) {
    MW_ASSIGN_OR_RETURN(std::vector<solve::RecordedProblem> more,
                        solve::ReadRecordedProblems(file));
    std::move(more.begin(), more.end(), std::back_inserter(problems));
  }
  for (const solve::RecordedProblem& problem : problems) {
    MW_ASSIGN_OR_RETURN(const solve::Reproduced result, solve::Reproduce(problem, options));
    MW_RETURN_IF_ERROR(sink({problem.name, static_cast<int64_t>(problem.problem.nodes.size()),
                             problem.objective, result.found, solve::OutcomeName(result.outcome),
                             result.deviation, result.milliseconds, result.agrees}));
  }
  return absl::OkStatus();
}

// Slices have to be the same; bytes are 32-bit floats in Alpa.
absl::Status ReproduceAlpaLayers(const std::vector<std::string>& files,
                                 const solve::SolverOptions& options, const RowSink& sink) {
  constexpr double kTolerance = 1e-5;
  std::vector<RecordedClustering> cases;
  for (const std::string& file : files) {
    MW_ASSIGN_OR_RETURN(std::vector<RecordedClustering> more, ReadRecordedClusterings(file));
    std::move(more.begin(), more.end(), std::back_inserter(cases));
  }
  for (const RecordedClustering& one : cases) {
    const auto start = std::chrono::steady_clock::now();
    const std::optional<Clustering> found = ClusterLayers(one.problem);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    Row row{one.name, static_cast<int64_t>(one.problem.cost.size())};
    row.milliseconds = time.count();
    row.outcome = found.has_value() ? "optimal" : "infeasible";
    if (one.clustering.has_value()) row.recorded = one.clustering->max_boundary_bytes;
    if (found.has_value()) row.found = found->max_boundary_bytes;
    row.ok = found.has_value() == one.clustering.has_value();
    if (row.ok && found.has_value()) {
      row.deviation = std::abs(*row.found - *row.recorded) / std::max(1.0, std::abs(*row.recorded));
      row.ok = row.deviation <= kTolerance && found->slices == one.clustering->slices;
    } else if (!row.ok) {
      row.deviation = std::numeric_limits<double>::infinity();
    }
    MW_RETURN_IF_ERROR(sink(row));
  }
  return absl::OkStatus();
}

// Alpa's tables are of 32-bit floats.
absl::Status ReproduceAlpaStages(const std::vector<std::string>& files,
                                 const solve::SolverOptions& options, const RowSink& sink) {
  constexpr double kTolerance = 1e-5;
  std::vector<RecordedStages> cases;
  for (const std::string& file : files) {
    MW_ASSIGN_OR_RETURN(std::vector<RecordedStages> more, ReadRecordedStages(file));
    std::move(more.begin(), more.end(), std::back_inserter(cases));
  }
  for (const RecordedStages& one : cases) {
    for (const bool training : {true, false}) {
      const auto start = std::chrono::steady_clock::now();
      Row row{StrCat(one.name, training ? " training" : " inference"), one.problem.layers};
      const TrainingResult result =
          training ? TrainingCost(one.problem, options.deadline_seconds)
                   : TrainingResult{.cost = InferenceCost(one.problem), .proven = true};
      row.found = result.cost;
      const std::chrono::duration<double, std::milli> time =
          std::chrono::steady_clock::now() - start;
      row.recorded = training ? one.training : one.inference;
      row.milliseconds = time.count();
      row.outcome = result.proven           ? row.found.has_value() ? "optimal" : "infeasible"
                    : row.found.has_value() ? "feasible"
                                            : "unknown";
      if (row.found.has_value() != row.recorded.has_value()) {
        row.deviation = std::numeric_limits<double>::infinity();
      } else if (row.found.has_value()) {
        row.deviation =
            std::abs(*row.found - *row.recorded) / std::max(1e-30, std::abs(*row.recorded));
        if (*row.found == *row.recorded) row.deviation = 0;
      }
      row.ok = row.deviation <= kTolerance && (result.proven || row.found.has_value());
      MW_RETURN_IF_ERROR(sink(row));
    }
  }
  return absl::OkStatus();
}

// The cost of a schedule is its clocks; every cell has to be the same.
absl::Status ReproduceAlpaSchedules(const std::vector<std::string>& files,
                                    const solve::SolverOptions& options, const RowSink& sink) {
  std::vector<RecordedSchedule> cases;
  for (const std::string& file : files) {
    MW_ASSIGN_OR_RETURN(std::vector<RecordedSchedule> more, ReadRecordedSchedules(file));
    std::move(more.begin(), more.end(), std::back_inserter(cases));
  }
  for (const RecordedSchedule& one : cases) {
    const auto start = std::chrono::steady_clock::now();
    const ClockTable table = MakeClockTable(one.schedule, one.meshes, one.micro_batches);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    Row row{one.name, one.meshes};
    row.recorded = static_cast<double>(one.table.size());
    row.found = static_cast<double>(table.size());
    row.milliseconds = time.count();
    row.outcome = "schedule";
    row.ok = table == one.table;
    row.deviation = row.ok ? 0 : 1;
    MW_RETURN_IF_ERROR(sink(row));
  }
  return absl::OkStatus();
}

constexpr Reproduction kReproductions[] = {
    {"alpa-ilp", "assignment problems of Alpa, and requests to XLA's auto-sharding solver",
     &ReproduceAlpaIlp},
    {"alpa-layers", "runs of Alpa's clustering of operators into layers", &ReproduceAlpaLayers},
    {"alpa-stages", "runs of Alpa's dynamic programming over stages", &ReproduceAlpaStages},
    {"alpa-schedules", "pipeline schedules of Alpa, clock by clock", &ReproduceAlpaSchedules},
    {"nersc", "collectives, operators, points and searches of NERSC's transformer-perf-estimates",
     nullptr,
     [](const ReproduceCommand& command) {
       return ReproduceFiles("nersc", &transformer::nersc::ReproduceFile, command.files,
                             command.json);
     }},
    {"fasop", "tables of FASOP's searches over A100 and A10 nodes, as CSV", nullptr,
     [](const ReproduceCommand& command) {
       return ReproduceFiles("fasop", &transformer::fasop::ReproduceFile, command.files,
                             command.json);
     }},
    {"runs", "published training runs as CSV, predicted by the calibrated model", nullptr,
     [](const ReproduceCommand& command) {
       return ReproduceRuns(command.files, {.output = command.output,
                                            .parameters = command.parameters,
                                            .rank = command.rank,
                                            .commands = command.commands,
                                            .threads = command.threads,
                                            .json = command.json});
     }},
};

absl::StatusOr<const Reproduction*> FindReproduction(const std::string& name) {
  std::vector<std::string> names;
  for (const Reproduction& one : kReproductions) {
    if (name == one.name) return &one;
    names.emplace_back(one.name);
  }
  return absl::InvalidArgumentError(
      StrCat("cannot reproduce \"", name, "\"; did you mean \"", NearestName(name, names), "\"?"));
}

constexpr size_t kNameColumns = 20;

std::string CostText(const std::optional<double>& cost, std::string_view otherwise) {
  return cost.has_value() ? absl::StrFormat("%.10g", *cost) : std::string(otherwise);
}

std::string RowText(const Row& row) {
  return absl::StrFormat("%s %6d %13s %13s %7.2g %5s  %s\n", FirstColumn(row.name, kNameColumns),
                         row.nodes, CostText(row.recorded, "infeasible"),
                         CostText(row.found, row.outcome), row.deviation,
                         MillisecondsText(row.milliseconds), row.ok ? "ok" : "DIFFERS");
}

std::string RowJson(const Row& row) {
  const auto number = [](const std::optional<double>& value) {
    return value.has_value() && std::isfinite(*value) ? Json(*value) : Json();
  };
  const Json json = {{"name", row.name},
                     {"nodes", row.nodes},
                     {"recorded", number(row.recorded)},
                     {"found", number(row.found)},
                     {"outcome", row.outcome},
                     {"deviation", number(row.deviation)},
                     {"milliseconds", row.milliseconds},
                     {"ok", row.ok}};
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

absl::Status RunReproduce(const ReproduceCommand& command) {
  MW_ASSIGN_OR_RETURN(const Reproduction* const reproduction, FindReproduction(command.what));
  const absl::StatusOr<double> deadline = ParseDuration(command.deadline);
  if (!deadline.ok() || *deadline <= 0) {
    return absl::InvalidArgumentError(
        StrCat("--deadline: ", deadline.ok() ? "must be more than 0 seconds"
                                             : std::string(deadline.status().message())));
  }
  if (reproduction->name != std::string_view("runs") &&
      !(command.output.empty() && command.parameters.empty() && !command.rank &&
        !command.commands)) {
    return absl::InvalidArgumentError(
        "-o, --parameters, --rank and --commands are of \"reproduce runs\" only");
  }
  if (reproduction->print != nullptr) return reproduction->print(command);
  solve::SolverOptions options;
  options.deadline_seconds = *deadline;
  options.threads = command.threads;
  int64_t cases = 0, differ = 0;
  double largest = 0;
  std::string json_rows;
  const auto show = [&](const Row& row) {
    if (!command.json && cases == 0) {
      MW_RETURN_IF_ERROR(PrintScreen(absl::StrFormat("%s %6s %13s %13s %7s %5s\n",
                                                     FirstColumn("case", kNameColumns), "nodes",
                                                     "recorded", "found", "off by", "ms")));
    }
    ++cases;
    differ += row.ok ? 0 : 1;
    largest = std::max(largest, row.deviation);
    if (!command.json) return PrintScreen(RowText(row));
    StrAppend(&json_rows, cases == 1 ? "\n    " : ",\n    ", RowJson(row));
    return absl::OkStatus();
  };
  MW_RETURN_IF_ERROR(reproduction->run(command.files, options, show));
  if (command.json) {
    const std::string deviation =
        std::isfinite(largest) ? absl::StrFormat("%.17g", largest) : "null";
    MW_RETURN_IF_ERROR(PrintOutput(StrCat(
        "{\n  \"reproduction\": \"", reproduction->name, "\",\n  \"cases\": [", json_rows,
        "\n  ],\n  \"differ\": ", differ, ",\n  \"largest_deviation\": ", deviation, "\n}\n")));
  } else {
    MW_RETURN_IF_ERROR(PrintOutput(
        absl::StrFormat("%d cases, %d differ, largest deviation %.2g\n", cases, differ, largest)));
  }
  if (differ == 0) return absl::OkStatus();
  return absl::AbortedError(StrCat(differ, " of ", cases, " recorded results were not reproduced"));
}

}  // namespace

Action AddReproduceVerb(CLI::App& app) {
  const auto command = std::make_shared<ReproduceCommand>();
  std::string names;
  for (const Reproduction& one : kReproductions) {
    StrAppend(&names, names.empty() ? "" : "; ", one.name, ": ", one.summary);
  }
  app.add_option("WHAT", command->what, names)->required();
  app.add_option("FILE", command->files, "recorded cases as JSON, or a table as CSV; gzip or plain")
      ->required();
  app.add_option("--deadline", command->deadline, "time for each case, like 60s")
      ->capture_default_str();
  app.add_option("--threads", command->threads, "threads of the search")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_flag("--json", command->json,
               "the same as JSON; infeasible costs and infinite deviations are null");
  AddOutputOption(app, "-o,--output", command->output,
                  "runs: writes the table with predictions there");
  app.add_option("--parameters", command->parameters,
                 "runs: YAML file of device and framework parameters instead of the built-in ones");
  app.add_flag("--rank", command->rank,
               "runs: prints how each run ranks among all plans of its model, GPUs and batch that "
               "fit, and what the fastest is (minutes for hundreds of runs)");
  app.add_flag("--commands", command->commands,
               "runs: prints for each run the `plan` command that predicts the same seconds and "
               "bytes, digit for digit")
      ->excludes("--rank")
      ->excludes("--json")
      ->excludes("--parameters");
  return [command] { return RunReproduce(*command); };
}

}  // namespace meshwright
