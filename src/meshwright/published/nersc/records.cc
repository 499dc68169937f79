#include "meshwright/published/nersc/records.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/published/nersc/candidates.h"
#include "meshwright/published/nersc/check.h"
#include "meshwright/published/nersc/json.h"
#include "meshwright/published/nersc/step.h"

namespace meshwright::transformer::nersc {
namespace {

constexpr int64_t kMostRanked = 1000;    // of a search
constexpr int64_t kRankedWithTies = 32;  // of one whose ties with the tenth are counted, at first

void FailWith(const JsonValue& json, const absl::Status& status) {
  json.Fail(std::string(status.message()));
}

// What points and searches have in common.
struct Case {
  explicit Case(const JsonValue& json)
      : strategy(ReadStrategy(json.At("strategy"))),
        model(ReadModel(json.At("model"))),
        system(ReadSystem(json.At("system"))),
        gpus(ReadSize(json.At("n_gpus"))),
        global_batch(ReadSize(json.At("global_batch_size"))) {}

  Strategy strategy;
  Model model;
  System system;
  int64_t gpus, global_batch;
};

void CompareStats(const JsonValue& recorded, const Stats& stats, Comparison* comparison) {
  const struct {
    const char* key;
    double found;
  } figures[] = {
      {"t", stats.seconds},
      {"flops_per_gpu", stats.tflop_per_gpu},
      {"mem", stats.memory_gb},
      {"t_comp", stats.compute},
      {"t_mem", stats.exposed_memory},
      {"t_tp_comm", stats.tp_comm},
      {"t_dp_comm", stats.dp_comm},
      {"t_pp_comm", stats.pp_comm},
      {"t_bubble", stats.bubble},
      {"comp_frac", stats.compute / stats.seconds},
      {"tp_comm_frac", stats.tp_comm / stats.seconds},
      {"dp_comm_frac", stats.dp_comm / stats.seconds},
      {"pp_comm_frac", stats.pp_comm / stats.seconds},
      {"bubble_frac", stats.bubble / stats.seconds},
      {"mem_frac", stats.exposed_memory / stats.seconds},
      {"wts_mem", stats.weights_gb},
      {"wts_grad_mem", stats.weights_gb},
      {"wts_optimizer_states_mem", stats.optimizer_gb},
      {"acts_mem", stats.activations_gb},
  };
  for (const auto& figure : figures) comparison->Number(recorded, figure.key, figure.found);
}

// The recorded configuration, evaluated. nullopt: it is not one of this case, an error of `json`.
std::optional<Detail> EvaluateRecorded(const JsonValue& json, const JsonValue& placement,
                                       const Case& one) {
  const Config config = ReadConfig(json, placement, one.strategy);
  if (!json.ok()) return std::nullopt;
  const absl::Status status =
      CheckConfig(one.model, one.system, one.strategy, config, one.global_batch);
  if (!status.ok()) {
    FailWith(json, status);
  } else if (config.gpus() != one.gpus) {
    json.Fail(StrCat("has ", config.gpus(), " GPUs, the case has ", one.gpus));
  }
  if (!json.ok()) return std::nullopt;
  return EvaluateInDetail(one.model, one.system, one.strategy, config, one.global_batch);
}

TableRow::Side ExchangeSide(Collective collective, double gb, double seconds) {
  return {.transfers = {{.collective = collective, .gb = gb}},
          .time = {.seconds = seconds, .comm = seconds}};
}

void CompareTables(const JsonValue& point, const Case& one, const Detail& detail,
                   Comparison* comparison) {
  const double weights = detail.layer.weights_gb, boundary = detail.layer.boundary_gb;
  const Exchange& exchange = detail.exchange;
  if (const auto rows = point.Find("mlp"); rows.has_value()) {
    CompareRows(*rows, MakeRows(one.system, detail.layer.mlp, detail.groups), comparison);
  }
  if (const auto rows = point.Find("sa"); rows.has_value()) {
    CompareRows(*rows, MakeRows(one.system, detail.layer.attention, detail.groups), comparison);
  }
  if (const auto rows = point.Find("dp_comm"); rows.has_value()) {
    CompareRows(
        *rows,
        {{.name = "dp_comms",
          .forward = ExchangeSide(Collective::kAllGather, weights, exchange.dp_forward),
          .backward = ExchangeSide(Collective::kReduceScatter, weights, exchange.dp_backward)}},
        comparison);
  }
  if (const auto rows = point.Find("pp_comm"); rows.has_value()) {
    const TableRow::Side side =
        ExchangeSide(Collective::kPointToPoint, boundary, exchange.pp_each_way);
    CompareRows(*rows, {{.name = "pp_comms", .forward = side, .backward = side}}, comparison);
  }
}

// How many of all feasible are as fast as the tenth; 0 if there are fewer than ten. `found` has the
// best `request.top`, or all.
absl::StatusOr<int64_t> TiedWithTenth(const Case& one, SearchOptions request,
                                      const SearchResult& found) {
  constexpr size_t kTenth = 9;
  constexpr double kEqual = 1 - 1e-12;  // what the order of sums may make of equals
  if (found.feasible <= static_cast<int64_t>(kTenth)) return 0;
  const double tenth = found.top[kTenth].throughput;
  const auto tied = [&](const Evaluation& other) {
    return std::min(other.throughput, tenth) >= kEqual * std::max(other.throughput, tenth);
  };
  if (std::ssize(found.top) < found.feasible && tied(found.top.back())) {
    request.top = std::min(2 * request.top, kMostCandidates);
    MW_ASSIGN_OR_RETURN(const SearchResult more,
                        Search(one.model, one.system, one.strategy, request));
    return TiedWithTenth(one, request, more);
  }
  return std::count_if(found.top.begin(), found.top.end(), tied);
}

}  // namespace

int64_t ReproduceCollective(const JsonValue& record, const std::string& where,
                            Comparison* comparison) {
  const int64_t nvlink_size = ReadSize(record.At("nvs"));
  const JsonValue named = record.At("system");
  System system;
  if (named.IsObject()) {
    system = ReadSystem(named);
    system.nvlink_size = nvlink_size;
  } else {
    const absl::StatusOr<System> published = PublishedSystem(named.Text(), nvlink_size);
    if (published.ok()) system = *published;
    if (!published.ok()) FailWith(named, published.status());
  }
  const absl::StatusOr<Collective> collective = ParseCollective(record.At("type").Text());
  if (!collective.ok()) FailWith(record.At("type"), collective.status());
  const Group group{ReadSize(record.At("n_gpus")), record.At("topology").Integer(1, nvlink_size)};
  const double gb = record.At("vol_GB").Number();
  if (gb < 0) record.At("vol_GB").Fail("expected a volume of at least 0");
  if (!record.ok()) return 0;
  if (*collective == Collective::kPointToPoint && gb > 0 && group.gpus > 2) {
    record.At("n_gpus").Fail(StrCat("found ", group.gpus, ", expected 2 of a transfer"));
  }
  comparison->Enter(where);
  comparison->Number(record, "t", CollectiveSeconds(system, *collective, gb, group));
  return 1;
}

int64_t ReproducePoints(const JsonValue& record, const std::string& where, Comparison* comparison) {
  const Case one(record);
  if (!record.ok()) return 0;
  const CandidateSpace space(one.model, one.system, one.strategy, one.gpus, one.global_batch);
  const absl::StatusOr<int64_t> candidates = space.Count();
  if (!candidates.ok()) {
    FailWith(record, candidates.status());
    return 0;
  }
  comparison->Enter(where);
  comparison->Count(record, "n_candidates", *candidates);
  int64_t points = 0;
  for (const JsonValue& point : record.At("points").Elements()) {
    const JsonValue config = point.At("config");
    const std::optional<Detail> detail = EvaluateRecorded(config, config, one);
    if (!detail.has_value()) return points;
    comparison->Enter(StrCat(where, " point ", points++));
    comparison->Number(point, "throughput", detail->evaluation.throughput);
    comparison->Flag(point, "feasible", detail->evaluation.feasible);
    CompareStats(point.At("stats"), detail->evaluation.stats, comparison);
    CompareTables(point, one, *detail, comparison);
    if (!point.ok()) return points;
  }
  return points;
}

int64_t ReproduceSearch(const JsonValue& record, const std::string& where, Comparison* comparison) {
  const Case one(record.At("case"));
  if (const auto size = record.At("case").Find("nvlink_size"); size.has_value()) {
    const int64_t nvlink_size = ReadSize(*size);
    if (nvlink_size != one.system.nvlink_size) {
      size->Fail(StrCat("found ", nvlink_size, ", the system has ", one.system.nvlink_size));
    }
  }
  const std::vector<JsonValue> top = record.At("top").Elements();
  const auto ranked = static_cast<int64_t>(top.size());
  if (ranked > kMostRanked) {
    record.At("top").Fail(StrCat("has ", ranked, " elements, expected at most ", kMostRanked));
  }
  if (!record.ok()) return 0;
  const bool counts_ties = record.Find("n_tied_with_10th").has_value();
  const SearchOptions request = {.gpus = one.gpus,
                                 .global_batch = one.global_batch,
                                 .top = counts_ties ? std::max(ranked, kRankedWithTies) : ranked};
  const absl::StatusOr<SearchResult> found = Search(one.model, one.system, one.strategy, request);
  if (!found.ok()) {
    FailWith(record, found.status());
    return 0;
  }
  comparison->Enter(where);
  comparison->Count(record, "n_candidates", found->candidates);
  comparison->Count(record, "n_feasible", found->feasible);
  comparison->Number(record, "sum_throughput_all_feasible", found->throughput_sum);
  comparison->Number(record, "sum_mem_all_feasible", found->memory_sum);
  if (counts_ties) {
    const absl::StatusOr<int64_t> tied = TiedWithTenth(one, request, *found);
    if (!tied.ok()) {
      FailWith(record, tied.status());
      return 0;
    }
    comparison->Count(record, "n_tied_with_10th", *tied);
  }
  // Equals may come in any order: the recorded configurations are evaluated themselves, and the
  // sorted throughputs tell whether others are faster.
  std::vector<double> throughputs;
  for (const JsonValue& entry : top) {
    const JsonValue stats = entry.At("stats");
    const std::optional<Detail> detail = EvaluateRecorded(entry.At("config"), stats, one);
    if (!detail.has_value()) return 0;
    comparison->Enter(StrCat(where, " rank ", throughputs.size()));
    if (entry.Find("rank").has_value()) {
      comparison->Count(entry, "rank", std::ssize(throughputs));
    }
    // Both sides of grids are recorded, and their product.
    const JsonValue config = entry.At("config");
    if (one.strategy != Strategy::k1d && config.Find("tp").has_value()) {
      comparison->Count(
          config, "tp",
          config.At("tp1").Integer(1, kMostSize) * config.At("tp2").Integer(1, kMostSize));
    }
    comparison->Number(entry, "throughput", detail->evaluation.throughput);
    comparison->Number(entry, "mem_GB", detail->evaluation.stats.memory_gb);
    CompareStats(stats, detail->evaluation.stats, comparison);
    throughputs.push_back(entry.At("throughput").Number());
    if (!record.ok()) return 0;
  }
  std::sort(throughputs.begin(), throughputs.end(), std::greater<>());
  for (size_t i = 0; i < throughputs.size(); ++i) {
    comparison->Enter(StrCat(where, " place ", i));
    comparison->Numbers("throughput", throughputs[i],
                        i < found->top.size() ? found->top[i].throughput : 0);
  }
  return 1;
}

}  // namespace meshwright::transformer::nersc
