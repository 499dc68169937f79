// What is predicted of published runs, and how they rank, as JSON.

#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/json_value.h"
#include "meshwright/degrees/fixes.h"
#include "meshwright/published/runs/errors.h"
#include "meshwright/published/runs/runs.h"

namespace meshwright::transformer {
namespace {

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json();
}

Json TextOrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json PredictionJson(const RunPrediction& one) {
  const bool taken = one.skipped.empty();
  const auto if_taken = [&](double value) { return taken ? Json(value) : Json(); };
  return {{"line", one.line},
          {"source", one.source},
          {"gpu", one.gpu},
          {"dtype", TextOrNull(one.dtype)},
          {"key", one.key},
          {"fitted", one.fitted},
          {"seconds", if_taken(one.seconds)},
          {"predicted_seconds", if_taken(one.predicted_seconds)},
          {"error", if_taken(one.error())},
          {"memory_gib", OrNull(one.memory_gib)},
          {"predicted_memory_gib", OrNull(one.predicted_gib)},
          {"over_memory", one.over_memory},
          {"note", TextOrNull(one.note)},
          {"skipped", TextOrNull(one.skipped)}};
}

Json ErrorsJson(const std::string& name, const HalvedErrors& errors) {
  const auto mean = [](const ErrorSum& sum) { return sum.rows > 0 ? Json(sum.mean()) : Json(); };
  return {{"name", name},
          {"rows", errors.all.rows},
          {"error", mean(errors.all)},
          {"fitted", mean(errors.fitted)},
          {"other", mean(errors.other)},
          {"bias", errors.all.bias()},
          {"largest", errors.all.largest}};
}

Json RankJson(const RankedRun& one) {
  const Run& run = *one.prediction->run;
  const RunRank& rank = one.rank;
  Json json = {{"line", one.prediction->line},
               {"source", one.prediction->source},
               {"model", run.model.name},
               {"gpus", run.cluster.devices()},
               {"device", run.cluster.device.name},
               {"dtype", PrecisionName(run.configuration.precision)},
               {"run", ConfigurationText(run.configuration)},
               {"predicted_seconds", rank.seconds},
               {"fits", rank.fits},
               {"plans", rank.plans},
               {"faster_plans", rank.faster},
               {"degrees", rank.degrees},
               {"faster_degrees", rank.faster_degrees},
               {"fastest", Json()},
               {"fastest_seconds", Json()}};
  if (rank.best.has_value()) {
    json["fastest"] = ConfigurationText(*rank.best);
    json["fastest_seconds"] = rank.best_time.seconds;
  }
  return json;
}

std::string Document(const Json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string RunsJson(const std::vector<RunPrediction>& predictions) {
  Json cases = Json::array(), errors = Json::object();
  for (const RunPrediction& one : predictions) cases.push_back(PredictionJson(one));
  for (const RunGrouping& grouping : kRunGroupings) {
    Json& groups = errors[grouping.name] = Json::array();
    for (const auto& [name, sums] : ErrorsBy(grouping, predictions)) {
      groups.push_back(ErrorsJson(name, sums));
    }
  }
  return Document(
      {{"reproduction", "runs"}, {"cases", std::move(cases)}, {"errors", std::move(errors)}});
}

std::string RanksJson(const std::vector<RankedRun>& ranks) {
  Json cases = Json::array();
  for (const RankedRun& one : ranks) cases.push_back(RankJson(one));
  return Document({{"reproduction", "runs"}, {"ranks", std::move(cases)}});
}

}  // namespace meshwright::transformer
