// Solves instances of the ASPLOS/EuroSys 2025 contest on intra-operator parallelism and compares
// with what is published of them.
//
//   iopddl_bench FILE-OR-FOLDER... [--threads 2] [--seed 1] [--deadline SECONDS] [--published CSV]
//
// Without --deadline an instance gets the contest's time, which the last letter of its name decides
// (60 s for A to E and so on; 60 s for other names). Reading the file is not counted, as the
// contest gave ten seconds for it. The limit on search steps is lifted: only the clock or a proof
// ends a run.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/iopddl/published.h"
#include "meshwright/base/status.h"
#include "meshwright/solve/iopddl_json.h"
#include "meshwright/solve/solution_json.h"
#include "meshwright/solve/solver.h"

namespace meshwright {
namespace {

struct Arguments {
  std::vector<std::string> paths;
  int threads = 2;
  uint64_t seed = 1;
  std::optional<double> deadline_seconds;
  std::string published = MESHWRIGHT_PUBLISHED_CSV;
};

double ContestSeconds(const std::string& name) {
  constexpr double kLetterSeconds[] = {60, 120, 180, 240, 300};  // A-E, F-J, K-O, P-T, U-Y
  const int letter = name.empty() ? -1 : name.back() - 'A';
  const bool numbered =
      letter >= 0 && letter < 25 && (name.size() == 1 || name[name.size() - 2] == '-');
  return numbered ? kLetterSeconds[letter / 5] : kLetterSeconds[0];
}

// Files stay, folders become the .json and .json.gz files in them, in order of name.
absl::StatusOr<std::vector<std::string>> ExpandFolders(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      const std::string name = entry.path().string();
      if (name.ends_with(".json") || name.ends_with(".json.gz")) found.push_back(name);
    }
    if (found.empty())
      return absl::NotFoundError(absl::StrCat(path, ": no .json or .json.gz files"));
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  return files;
}

// Seconds until the incumbent first cost at most 1 % more than `reference`.
std::optional<double> SecondsToOnePercent(const solve::Solution& solution,
                                          solve::Int128 reference) {
  for (const solve::Improvement& improvement : solution.history) {
    if (improvement.cost * 100 <= reference * 101) return improvement.seconds;
  }
  return std::nullopt;
}

void PrintTitles() {
  std::printf(
      "ratio: cost / published best. score: best in contest / cost. gap: (cost - bound) / cost.\n"
      "to 1 %%: first time the incumbent cost at most 1.01 x the published best, or x the bound\n"
      "found here if none is published. seconds: of solving, wall clock; reading is not "
      "counted.\n");
  std::printf("%-26s %7s %7s %16s %16s %8s %7s %16s %9s %8s %8s  %s\n", "instance", "nodes",
              "reduced", "cost", "published", "ratio", "score", "bound", "gap %", "to 1 %",
              "seconds", "outcome");
}

std::string RatioText(const std::optional<int64_t>& numerator, double denominator, bool inverse) {
  if (!numerator.has_value() || *numerator == 0 || denominator == 0) return "-";
  const double ratio = static_cast<double>(*numerator) / denominator;
  return absl::StrFormat("%.5f", inverse ? 1 / ratio : ratio);
}

void PrintRow(const solve::Problem& problem, const solve::Solution& solution, double seconds,
              const Published& published) {
  const bool answered = !solution.choice.empty();
  const auto cost = static_cast<double>(solution.cost);
  std::optional<double> one_percent;
  if (answered) {
    one_percent = SecondsToOnePercent(
        solution, published.best.has_value() ? solve::Int128{*published.best} : solution.bound);
  }
  std::printf("%-26s %7zu %7lld %16s %16s %8s %7s %16s %9s %8s %8.2f  %s\n", problem.name.c_str(),
              problem.nodes.size(), static_cast<long long>(solution.reduced_nodes),
              answered ? solve::Int128Text(solution.cost).c_str() : "-",
              published.best.has_value() ? absl::StrCat(*published.best).c_str() : "-",
              answered ? RatioText(published.best, cost, /*inverse=*/true).c_str() : "-",
              answered ? RatioText(published.best_in_contest, cost, false).c_str() : "-",
              solve::Int128Text(solution.bound).c_str(),
              answered ? absl::StrFormat("%.4f", 100 * solution.gap).c_str() : "-",
              one_percent.has_value() ? absl::StrFormat("%.2f", *one_percent).c_str() : "-",
              seconds, solve::OutcomeName(solution.outcome).c_str());
  std::fflush(stdout);
}

// What the answer claims, against the problem itself and what is known of it.
absl::Status Check(const solve::Problem& problem, const solve::Solution& solution,
                   const Published& published) {
  const auto wrong = [&](const auto&... what) {
    return absl::InternalError(absl::StrCat(problem.name, ": ", what...));
  };
  if (solution.choice.empty()) {
    if (solution.outcome == solve::Outcome::kInfeasible && published.best.has_value())
      return wrong("claimed infeasible, but an answer is published");
    return absl::OkStatus();
  }
  const solve::Evaluation evaluation = solve::Evaluate(problem, solution.choice);
  if (!evaluation.feasible()) return wrong("the answer is not feasible");
  if (evaluation.cost != solution.cost) {
    return wrong("the answer costs ", solve::Int128Text(evaluation.cost), ", not ",
                 solve::Int128Text(solution.cost));
  }
  if (published.best.has_value() && solution.bound > *published.best)
    return wrong("bound ", solve::Int128Text(solution.bound), " exceeds a published cost");
  // Published bounds are those of floating-point solvers, whose tolerances an exact answer may
  // show.
  if (published.bound.has_value() && solution.cost < *published.bound) {
    std::printf("  %s: this cost, evaluated anew, is below the published bound of %lld\n",
                problem.name.c_str(), static_cast<long long>(*published.bound));
  }
  return absl::OkStatus();
}

absl::Status Run(const Arguments& arguments) {
  MW_ASSIGN_OR_RETURN(const auto published, ReadPublished(arguments.published));
  MW_ASSIGN_OR_RETURN(const std::vector<std::string> files, ExpandFolders(arguments.paths));
  if (files.empty()) {
    return absl::InvalidArgumentError(
        "usage: iopddl_bench FILE-OR-FOLDER... [--threads 2] [--seed 1] [--deadline SECONDS] "
        "[--published CSV]");
  }
  PrintTitles();
  for (const std::string& file : files) {
    MW_ASSIGN_OR_RETURN(const solve::Problem problem, solve::ReadIopddl(file));
    solve::SolverOptions options;
    options.threads = arguments.threads;
    options.seed = arguments.seed;
    options.deadline_seconds = arguments.deadline_seconds.value_or(ContestSeconds(problem.name));
    options.max_search_steps = int64_t{1} << 60;
    const auto start = std::chrono::steady_clock::now();
    MW_ASSIGN_OR_RETURN(const solve::Solution solution, solve::Solve(problem, options));
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto known = published.find(problem.name);
    const Published one = known == published.end() ? Published() : known->second;
    PrintRow(problem, solution, seconds, one);
    MW_RETURN_IF_ERROR(Check(problem, solution, one));
  }
  return absl::OkStatus();
}

absl::StatusOr<Arguments> ParseArguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (!name.starts_with("--")) {
      arguments.paths.push_back(name);
      continue;
    }
    if (i + 1 == argc) return absl::InvalidArgumentError(absl::StrCat(name, " needs a value"));
    const std::string value = argv[++i];
    bool valid = true;
    if (name == "--threads") {
      valid = absl::SimpleAtoi(value, &arguments.threads) && arguments.threads > 0;
    } else if (name == "--seed") {
      valid = absl::SimpleAtoi(value, &arguments.seed);
    } else if (name == "--deadline") {
      double seconds = 0;
      valid = absl::SimpleAtod(value, &seconds) && seconds > 0;
      arguments.deadline_seconds = seconds;
    } else if (name == "--published") {
      arguments.published = value;
    } else {
      return absl::InvalidArgumentError(absl::StrCat("unknown option ", name));
    }
    if (!valid) return absl::InvalidArgumentError(absl::StrCat(name, ": bad value ", value));
  }
  return arguments;
}

}  // namespace
}  // namespace meshwright

int main(int argc, char** argv) {
  const auto arguments = meshwright::ParseArguments(argc, argv);
  const absl::Status status = arguments.ok() ? meshwright::Run(*arguments) : arguments.status();
  if (!status.ok()) std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return meshwright::ExitCode(status);
}
