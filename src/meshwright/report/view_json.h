#ifndef MESHWRIGHT_REPORT_VIEW_JSON_H_
#define MESHWRIGHT_REPORT_VIEW_JSON_H_

#include <optional>
#include <string>
#include <vector>

#include "meshwright/base/json_members.h"
#include "meshwright/plan/document/plan.h"
#include "meshwright/report/device_programs.h"

// What the page draws, as report/src/data.ts declares it: that file and these functions change
// together. Lists of operators are columns, and what many operators share stands once.

namespace meshwright {

// Tasks of a pipeline that the page shows, those that start first.
inline constexpr size_t kMostShownTasks = 40'000;

// `file`: what the user calls the plan.
Json PlanView(const Plan& plan, const std::string& file);
Json ProgramView(const PlanPart& program, int64_t micro_batches, const LayerLabels& labels);
// What was measured for the plan; null without a profile database.
Json ProfileView(const Plan& plan);
// Of plans of models.
Json TransformerView(const Plan& plan);
Json CollectiveView(const PlanCollective& collective);

Json MeshView(const std::vector<PlanAxis>& mesh);

template <typename T>
Json OrNull(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json();
}

// With five significant digits, which is more than a page shows and a third of the text.
double Shortened(double value);

}  // namespace meshwright

#endif  // MESHWRIGHT_REPORT_VIEW_JSON_H_
