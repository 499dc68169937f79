#ifndef MESHWRIGHT_REPORT_VIEW_JSON_H_
#define MESHWRIGHT_REPORT_VIEW_JSON_H_

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "meshwright/plan/document/plan.h"
#include "meshwright/report/device_programs.h"

// What the page draws, as report/src/data.ts declares it: that file and these functions change
// together. Lists of operators are columns, and what many operators share stands once.

namespace meshwright {

using ViewJson = nlohmann::ordered_json;

// Tasks of a pipeline that the page shows, those that start first.
inline constexpr size_t kMostShownTasks = 40'000;

// `file`: what the user calls the plan.
ViewJson PlanView(const Plan& plan, const std::string& file);
ViewJson ProgramView(const PlanPart& program, int64_t micro_batches);
// What was measured for the plan; null without a profile database.
ViewJson ProfileView(const Plan& plan);
ViewJson TransformerView(const PlanTransformer& model);
ViewJson CollectiveView(const PlanCollective& collective);

ViewJson MeshView(const std::vector<PlanAxis>& mesh);

template <typename T>
ViewJson OrNull(const std::optional<T>& value) {
  return value.has_value() ? ViewJson(*value) : ViewJson();
}

// Numbers and texts by the names that the schema gives them.
template <ListsItsMembers T>
ViewJson MembersOf(const T& value) {
  ViewJson json = ViewJson::object();
  T::VisitMembers(value, [&json](const char* key, const auto& member) { json[key] = member; });
  return json;
}

// With five significant digits, which is more than a page shows and a third of the text.
double Shortened(double value);

}  // namespace meshwright

#endif  // MESHWRIGHT_REPORT_VIEW_JSON_H_
