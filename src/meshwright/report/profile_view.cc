#include <utility>

#include "meshwright/report/view_json.h"

namespace meshwright {

ViewJson ProfileView(const Plan& plan) {
  if (!plan.profile.has_value()) return ViewJson();
  const PlanProfile& profile = *plan.profile;
  ViewJson segments = ViewJson::array();
  for (const PlanSegment& segment : plan.segments) segments.push_back(MembersOf(segment));
  return {{"environment",
           profile.environment.has_value() ? MembersOf(*profile.environment) : ViewJson()},
          {"segment_seconds", profile.segment_seconds},
          {"other_seconds", profile.other_seconds},
          {"step", profile.step.has_value() ? MembersOf(*profile.step) : ViewJson()},
          {"segments", std::move(segments)}};
}

}  // namespace meshwright
