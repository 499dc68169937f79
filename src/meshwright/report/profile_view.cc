#include <utility>

#include "meshwright/base/json_value.h"
#include "meshwright/report/view_json.h"

namespace meshwright {

Json ProfileView(const Plan& plan) {
  if (!plan.profile.has_value()) return Json();
  const PlanProfile& profile = *plan.profile;
  Json segments = Json::array();
  for (const PlanSegment& segment : plan.segments) segments.push_back(WriteJson(segment));
  return {
      {"environment", profile.environment.has_value() ? WriteJson(*profile.environment) : Json()},
      {"segment_seconds", profile.segment_seconds},
      {"other_seconds", profile.other_seconds},
      {"step", profile.step.has_value() ? WriteJson(*profile.step) : Json()},
      {"segments", std::move(segments)}};
}

}  // namespace meshwright
