#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <thread>
#include <tuple>
#include <utility>

#include "absl/strings/str_format.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/degrees/space.h"
#include "meshwright/published/runs/runs.h"

namespace meshwright::transformer {
namespace {

constexpr int64_t kTop = 10;
// Equal times are added up in different orders.
constexpr double kFaster = 1 - 1e-9;

auto DegreesOf(const Configuration& c) {
  return std::tuple(c.tp, c.cp, c.pp, c.ep, c.etp, c.micro_batch);
}

// What rows that ask the same have in common.
std::string QuestionOf(const Run& run) {
  const Configuration& c = run.configuration;
  return StrCat(run.model.name, "|", run.model.mtp.modules, "|", run.cluster.name, "|",
                run.cluster.devices(), "|", run.workload.sequence, "|", run.workload.global_batch,
                "|", run.framework.framework->name, run.framework.release, "|",
                run.framework.state.gradient_bytes, "|", run.framework.state.moment_bytes, "|",
                run.framework.state.logit_bytes, "|", PrecisionName(c.precision), "|",
                ConfigurationText(c), "|", c.ends_as_layers ? 1 : 0);
}

struct StepPart {
  const char* name;
  double StepTime::*seconds;
};
constexpr std::array<StepPart, 9> kStepParts = {{
    {"compute", &StepTime::compute},
    {"tensor", &StepTime::tensor_communication},
    {"context", &StepTime::context_communication},
    {"expert", &StepTime::expert_communication},
    {"data", &StepTime::data_communication},
    {"pipeline", &StepTime::pipeline_communication},
    {"host", &StepTime::host_communication},
    {"bubble", &StepTime::bubble},
    {"optimizer", &StepTime::optimizer},
}};

// What the best takes less time for, and what more, of parts that make half a percent of the step:
// "tensor 1.20 -> 0.90 s (-3.0 %), bubble 0.10 -> 0.20 s (+1.0 %)". All parts add up to the step.
std::string ChangesText(const RunRank& rank) {
  std::vector<std::pair<double, std::string>> changes;
  for (const StepPart& part : kStepParts) {
    const double before = rank.time.*part.seconds, after = rank.best_time.*part.seconds;
    const double change = (after - before) / rank.time.seconds;
    if (std::abs(change) < 0.005) continue;
    changes.emplace_back(change, absl::StrFormat("%s %.3g -> %.3g s (%+.1f %%)", part.name, before,
                                                 after, 100 * change));
  }
  std::sort(changes.begin(), changes.end());
  std::string text;
  for (const auto& [change, one] : changes) StrAppend(&text, text.empty() ? "" : ", ", one);
  return text.empty() ? "no part by half a percent of the step" : text;
}

std::string RankText(int64_t faster, int64_t of) { return StrCat(faster + 1, "/", of); }

// Time that the best saves, of what was run.
double GainOf(const RunRank& rank) { return 1 - rank.best_time.seconds / rank.time.seconds; }

// A known answer: what was run, the fastest, and which parts of the step make the difference.
void AppendRank(const RunPrediction& prediction, const RunRank& rank, std::string* out) {
  const Run& run = *prediction.run;
  StrAppend(
      out,
      Hanging(StrCat("line ", prediction.line, "  "),
              StrCat(run.model.name, " on ", run.cluster.devices(), " x ", run.cluster.device.name,
                     ", ", PrecisionName(run.configuration.precision), ": rank ",
                     RankText(rank.faster_degrees, rank.degrees), " of degrees, ",
                     RankText(rank.faster, rank.plans), " of plans")),
      Hanging("  run      ", StrCat(ConfigurationText(run.configuration),
                                    absl::StrFormat(", %.4g s%s", rank.time.seconds,
                                                    rank.fits ? "" : ", does not fit"))));
  if (!rank.best.has_value()) {
    StrAppend(out, Hanging("  fastest  ", "nothing fits"), "\n");
    return;
  }
  const bool same = *rank.best == run.configuration;
  StrAppend(out, Hanging("  fastest  ", same ? std::string("that")
                                             : StrCat(ConfigurationText(*rank.best),
                                                      absl::StrFormat(", %.4g s (%+.1f %%)",
                                                                      rank.best_time.seconds,
                                                                      -100 * GainOf(rank)))));
  if (!same) StrAppend(out, Hanging("  because  ", ChangesText(rank)));
  StrAppend(out, "\n");
}

struct RankSums {
  int rows = 0, fitting = 0, top_degrees = 0, top_plans = 0;
  std::vector<double> gains;
};

std::string SummaryText(const std::map<std::string, RankSums>& sums) {
  std::string text = absl::StrFormat("%-39s %5s %5s %9s %9s %8s\n", "source", "rows", "fit",
                                     StrCat("in top ", kTop), "of plans", "gain");
  for (const auto& [source, sum] : sums) {
    std::vector<double> gains = sum.gains;
    std::sort(gains.begin(), gains.end());
    const std::string median =
        gains.empty() ? "-" : absl::StrFormat("%.1f%%", 100 * gains[gains.size() / 2]);
    StrAppend(&text, absl::StrFormat("%s %5d %5d %9d %9d %8s\n", FirstColumn(source, 39), sum.rows,
                                     sum.fitting, sum.top_degrees, sum.top_plans, median));
  }
  return text;
}

}  // namespace

RunRank RankRun(const Run& run, const CostParameters& parameters) {
  StepCoster coster(run.model, run.workload, run.cluster, parameters, run.framework);
  const int64_t budget = run.cluster.device.memory_bytes;
  RunRank rank;
  const StepFigures own = coster.Figures(run.configuration);
  rank.time = own.time;
  rank.seconds = own.time.seconds;
  rank.fits = own.peak_bytes <= budget;
  std::map<decltype(DegreesOf(run.configuration)), double> best_of;
  const auto own_degrees = DegreesOf(run.configuration);
  if (rank.fits) best_of[own_degrees] = rank.seconds;
  const Space space(run.model, run.workload, run.cluster.devices(), UsualFixes(),
                    run.configuration.precision);
  // Visits come in runs of equal degrees.
  auto degrees = own_degrees;
  double* best_of_degrees = nullptr;
  space.ForEach([&](const Configuration& c) {
    const StepFigures figures = coster.Figures(c);
    if (figures.peak_bytes > budget) return;
    const double seconds = figures.time.seconds;
    ++rank.plans;
    rank.faster += seconds < rank.seconds * kFaster ? 1 : 0;
    if (best_of_degrees == nullptr || degrees != DegreesOf(c)) {
      degrees = DegreesOf(c);
      best_of_degrees = &best_of.try_emplace(degrees, seconds).first->second;
    }
    *best_of_degrees = std::min(*best_of_degrees, seconds);
    if (rank.best.has_value() && seconds >= rank.best_time.seconds) return;
    rank.best = c;
    rank.best_time = figures.time;
  });
  const auto own_best = best_of.find(own_degrees);
  const double limit = own_best != best_of.end() ? own_best->second : rank.seconds;
  rank.degrees = std::ssize(best_of);
  for (const auto& [one, seconds] : best_of) {
    rank.faster_degrees += seconds < limit * kFaster ? 1 : 0;
  }
  return rank;
}

std::vector<RankedRun> RankRuns(const std::vector<RunPrediction>& predictions,
                                const CostParameters& parameters, int threads) {
  struct Question {
    const Run* run = nullptr;
    RunRank rank;
  };
  std::vector<std::pair<const RunPrediction*, const Question*>> rows;
  std::map<std::string, Question> questions;
  for (const RunPrediction& one : predictions) {
    if (!one.run.has_value() || one.run->framework.framework->zero == 3) continue;
    Question& question = questions[QuestionOf(*one.run)];
    question.run = &*one.run;
    rows.emplace_back(&one, &question);
  }
  std::vector<Question*> work;
  work.reserve(questions.size());
  for (auto& [text, question] : questions) work.push_back(&question);
  {
    std::atomic<size_t> next = 0;
    std::vector<std::jthread> workers;
    for (int t = 0; t < std::max(threads, 1); ++t) {
      workers.emplace_back([&] {
        for (size_t i = next++; i < work.size(); i = next++) {
          work[i]->rank = RankRun(*work[i]->run, parameters);
        }
      });
    }
  }
  std::vector<RankedRun> ranks;
  ranks.reserve(rows.size());
  for (const auto& [prediction, question] : rows) ranks.push_back({prediction, question->rank});
  return ranks;
}

std::string RanksReport(const std::vector<RankedRun>& ranks) {
  std::string out;
  std::map<std::string, RankSums> sums;
  for (const auto& [prediction, rank] : ranks) {
    RankSums& sum = sums[prediction->source];
    ++sum.rows;
    sum.fitting += rank.fits ? 1 : 0;
    if (rank.best.has_value()) {
      sum.top_degrees += rank.faster_degrees < kTop ? 1 : 0;
      sum.top_plans += rank.faster < kTop ? 1 : 0;
      sum.gains.push_back(GainOf(rank));
    }
    AppendRank(*prediction, rank, &out);
  }
  StrAppend(&out, SummaryText(sums));
  return out;
}

}  // namespace meshwright::transformer
