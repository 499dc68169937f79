#include "meshwright/answer/explain_request.h"

#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/explain/explain.h"
#include "meshwright/explain/why_not.h"

namespace meshwright {

Options ExplainOptionRows(ExplainAsked& asked) {
  return {{"tensor",
           &asked.tensor,
           "the placement of every parameter, output or instruction of this name (* and ? match "
           "any characters, {0..3,7} these numbers), who makes it and who moves it",
           {.excludes = {"parameters"}, .takes = "NAME"}},
          {"parameters", &asked.parameters, "the placement of every parameter"},
          {"why-not",
           &asked.why_not,
           "NAME=SPEC as --fix of `meshwright plan`: what it would cost to shard NAME like SPEC, "
           "everything else planned anew; of a pipeline the stages that have the parameter NAME; "
           "of a model degrees like tp=4,pp=2; repeatable",
           {.excludes = {"tensor", "parameters"}, .takes = "SPEC"}},
          {"program",
           &asked.program,
           "with --why-not: the program, if it is not where the plan says",
           {.path = true}}};
}

absl::StatusOr<Explanation> Explain(const Plan& plan, const ExplainAsked& asked,
                                    std::function<void(const ProgramProgress&)> progress) {
  if (!asked.why_not.empty()) {
    const WhyNotRequest request = {asked.why_not, asked.program, std::move(progress),
                                   asked.contents};
    MW_ASSIGN_OR_RETURN(const WhyNot answer, AskWhyNot(plan, request));
    return Explanation{[&plan, request, answer] { return WhyNotText(plan, request, answer); },
                       [&plan, request, answer] { return WhyNotJson(plan, request, answer); }};
  }
  if (!asked.program.empty())
    return absl::InvalidArgumentError("--program is for --why-not, which plans it again");
  if (asked.given.contains("tensor")) {
    if (asked.tensor.empty())
      return absl::InvalidArgumentError("--tensor: found \"\", expected a name or pattern");
    return Explanation{[&plan, asked] { return ExplainTensors(plan, asked.tensor); },
                       [&plan, asked] { return ExplainTensorsJson(plan, asked.tensor); }};
  }
  if (asked.parameters) {
    return Explanation{[&plan] { return ExplainParameters(plan); },
                       [&plan] { return ExplainParametersJson(plan); }};
  }
  return Explanation{[&plan] { return ExplainPlan(plan); },
                     [&plan] { return ExplainPlanJson(plan); }};
}

}  // namespace meshwright
