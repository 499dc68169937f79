#include "meshwright/explain/in_short.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/strings.h"
#include "meshwright/explain/explain_model.h"
#include "meshwright/explain/part_summary.h"
#include "meshwright/explain/plan_part.h"
#include "meshwright/explain/screen.h"

namespace meshwright {
namespace {

std::string OfPipeline(const Plan& plan) {
  constexpr size_t kMostKinds = 3;
  std::vector<std::pair<std::string, std::vector<int64_t>>> kinds;
  for (const PlanPart& part : PartsOf(plan)) {
    const bool alone = plan.stages()[part.stages[0]].devices.size() == 1;
    std::string headline = alone ? "one device" : Headline(Summarize(part));
    auto kind = std::find_if(kinds.begin(), kinds.end(),
                             [&](const auto& one) { return one.first == headline; });
    if (kind == kinds.end())
      kind = kinds.emplace(kinds.end(), std::move(headline), std::vector<int64_t>());
    kind->second.insert(kind->second.end(), part.stages.begin(), part.stages.end());
  }
  std::string text =
      StrCat("pipeline of ", Counted(static_cast<int64_t>(plan.stages().size()), "stage"));
  if (kinds.size() == 1) return StrCat(text, "; each: ", kinds[0].first);
  for (size_t i = 0; i < std::min(kinds.size(), kMostKinds); ++i) {
    auto& [headline, stages] = kinds[i];
    std::sort(stages.begin(), stages.end());
    StrAppend(&text, "; ", stages.size() == 1 ? "stage " : "stages ", NumbersText(stages), ": ",
              headline);
  }
  if (kinds.size() > kMostKinds)
    StrAppend(&text,
              "; others: ", Counted(static_cast<int64_t>(kinds.size() - kMostKinds), "more kind"));
  return text;
}

}  // namespace

std::string InShort(const Plan& plan) {
  switch (plan.kind()) {
    case PlanKind::kProgram:
      return Headline(Summarize(PartsOf(plan)[0]));
    case PlanKind::kPipeline:
      return OfPipeline(plan);
    case PlanKind::kModel:
    case PlanKind::kGroups:
      return ModelHeadline(plan);
  }
  return "";
}

}  // namespace meshwright
