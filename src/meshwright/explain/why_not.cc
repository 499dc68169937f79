#include "meshwright/explain/why_not.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/mesh.h"
#include "meshwright/explain/screen.h"
#include "meshwright/explain/tensor_facts.h"
#include "meshwright/plan/columns.h"
#include "meshwright/plan/fix_option.h"
#include "meshwright/plan/plan_table.h"
#include "meshwright/plan/program.h"
#include "meshwright/plan/sha256.h"
#include "meshwright/plan/shortage.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {
namespace {

absl::Status CheckKind(const Plan& plan) {
  if (IsOfModel(plan)) {
    return absl::InvalidArgumentError(
        "--why-not is of programs; of a model, `meshwright plan MODEL --fix tp=8` gives the best "
        "plan with those degrees, and `meshwright diff` compares it with this one");
  }
  if (!plan.stages.empty()) {
    return absl::InvalidArgumentError(
        "--why-not is of plans without a pipeline: shardings within stages cannot be fixed; plan "
        "the program of a stage (`meshwright plan --pipeline auto --emit`) by itself and ask of "
        "that plan");
  }
  return absl::OkStatus();
}

const PlanInput* ProgramOf(const Plan& plan) {
  for (const PlanInput& input : plan.inputs) {
    if (IsProgramKind(input.kind)) return &input;
  }
  return nullptr;
}

// The file at `path`, which must be the one that the plan was made from.
absl::StatusOr<std::string> ReadSame(const std::string& path, const PlanInput& input,
                                     std::string_view what) {
  MW_ASSIGN_OR_RETURN(std::string contents, ReadInput(path));
  if (Sha256Hex(contents) == input.sha256) return contents;
  return absl::InvalidArgumentError(StrCat(path, ": is not the ", what,
                                           " that the plan was made from (", input.path,
                                           ", sha256 ", input.sha256.substr(0, 12), "...)"));
}

absl::StatusOr<std::string> ReadPlannedProgram(const Plan& plan, const std::string& path) {
  const PlanInput* const input = ProgramOf(plan);
  if (input == nullptr)
    return absl::InvalidArgumentError("the plan does not name the program that it was made from");
  if (!path.empty()) return ReadSame(path, *input, "program");
  if (input->path == "-") {
    return absl::InvalidArgumentError(
        "the plan was made from standard input: give the program with --program");
  }
  absl::StatusOr<std::string> contents = ReadSame(input->path, *input, "program");
  if (contents.ok()) return contents;
  return absl::Status(contents.status().code(),
                      StrCat(contents.status().message(), "; give the program with --program"));
}

absl::StatusOr<MemoryBudget> BudgetOf(const PlanOptions& options) {
  MemoryBudget budget;
  if (options.memory == "device") return budget;
  budget.kind = MemoryBudget::Kind::kUnlimited;
  if (options.memory == "unlimited") return budget;
  budget.kind = MemoryBudget::Kind::kBytes;
  const char* const end = options.memory.data() + options.memory.size();
  const auto [stop, error] = std::from_chars(options.memory.data(), end, budget.bytes);
  if (error == std::errc() && stop == end && budget.bytes >= 0) return budget;
  return absl::InvalidArgumentError(StrCat("$.options.memory: found \"", options.memory,
                                           "\", expected device, unlimited or a number of bytes"));
}

// The request that the plan came from, on the mesh that it came to.
absl::StatusOr<ProgramRequest> RequestOf(const Plan& plan) {
  ProgramRequest request;
  const PlanOptions& options = plan.options;
  request.cluster = plan.cluster.name;
  for (const PlanInput& input : plan.inputs) {
    if (input.kind != "cluster_yaml") continue;
    request.cluster = input.path;
    MW_RETURN_IF_ERROR(ReadSame(input.path, input, "cluster's file").status());
  }
  MW_ASSIGN_OR_RETURN(const Cluster cluster, ParseCluster(request.cluster));
  request.mesh = plan.mesh.empty() ? "1" : MeshText(plan.mesh);
  MW_RETURN_IF_ERROR(ParseMesh(request.mesh, cluster).status());
  MW_ASSIGN_OR_RETURN(request.memory, BudgetOf(options));
  request.cost_model = options.cost_model;
  request.completion = options.rest == "xla" ? Completion::kPropagate : Completion::kLeastCost;
  request.deadline_seconds = options.deadline_seconds;
  request.threads = static_cast<int>(std::clamp<int64_t>(options.threads, 1, 1024));
  request.seed = options.seed;
  for (size_t i = 0; i < options.fixes.size(); ++i) {
    MW_ASSIGN_OR_RETURN(Fix fix,
                        ParseFix(options.fixes[i], StrCat("fix #", i + 1, " of the plan")));
    request.fixes.push_back(std::move(fix));
  }
  return request;
}

// A sharding that cannot be had is an answer; one that cannot be read, or of nothing, is an error.
absl::StatusOr<std::vector<Fix>> ParseAsked(const Plan& plan, const Mesh& mesh,
                                            const std::vector<std::string>& texts) {
  std::vector<Fix> fixes;
  for (const std::string& text : texts) {
    MW_ASSIGN_OR_RETURN(Fix fix, ParseFix(text, "--why-not"));
    MW_ASSIGN_OR_RETURN(const std::vector<TensorFacts> tensors, FindTensors(plan, fix.pattern));
    for (const TensorFacts& tensor : tensors) {
      const absl::Status status =
          ParseSharding(fix.spec, mesh, static_cast<int64_t>(tensor.type.shape.size())).status();
      if (status.ok()) continue;
      return absl::InvalidArgumentError(StrCat("--why-not (", text, "): ", tensor.name, " ",
                                               TypeText(tensor.type), ": ", status.message()));
    }
    fixes.push_back(std::move(fix));
  }
  return fixes;
}

bool SameDecisions(const Plan& a, const Plan& b) {
  return a.parameters == b.parameters && a.outputs == b.outputs &&
         std::equal(a.instructions.begin(), a.instructions.end(), b.instructions.begin(),
                    b.instructions.end(), [](const PlanInstruction& x, const PlanInstruction& y) {
                      return x.name == y.name && x.spec == y.spec && x.strategy == y.strategy;
                    });
}

WhyNot::Verdict VerdictOf(const Plan& plan, const Plan& forced) {
  if (SameDecisions(plan, forced)) return WhyNot::Verdict::kChosen;
  // Sums of the same costs in another order.
  constexpr double kRounding = 1e-9;
  const double change = forced.objective_seconds - plan.objective_seconds;
  if (std::abs(change) <= kRounding * plan.objective_seconds) return WhyNot::Verdict::kEqual;
  return change > 0 ? WhyNot::Verdict::kWorse : WhyNot::Verdict::kBetter;
}

std::string VerdictText(const Plan& plan, const WhyNot& answer) {
  switch (answer.verdict) {
    case WhyNot::Verdict::kChosen:
      return "it is what the plan does";
    case WhyNot::Verdict::kDoesNotFit:
      return StrCat("it does not fit: ", answer.reason);
    case WhyNot::Verdict::kUnavailable:
      return StrCat("it cannot be had: ", answer.reason);
    case WhyNot::Verdict::kEqual:
      return StrCat("it costs the same, ", CostText(plan, plan.objective_seconds),
                    " a step one after the other: the search took one of equals");
    case WhyNot::Verdict::kWorse:
    case WhyNot::Verdict::kBetter:
      break;
  }
  const double before = plan.objective_seconds, after = answer.plan->objective_seconds;
  const std::string how_much =
      StrCat(CostText(plan, std::abs(after - before)),
             before > 0 ? absl::StrFormat(" (%.3g %%)", 100 * std::abs(after / before - 1)) : "",
             " a step, kernels and collectives one after the other");
  if (answer.verdict == WhyNot::Verdict::kWorse) return StrCat("it is slower by ", how_much);
  if (plan.options.rest == "xla") {
    return StrCat("it is faster by ", how_much,
                  ": the plan's shardings were given, not searched for");
  }
  return StrCat("it is faster by ", how_much, ": the search for the plan ended within its gap of ",
                ShareText(plan.gap, 1));
}

}  // namespace

std::string_view VerdictName(WhyNot::Verdict verdict) {
  switch (verdict) {
    case WhyNot::Verdict::kChosen:
      return "chosen";
    case WhyNot::Verdict::kWorse:
      return "worse";
    case WhyNot::Verdict::kEqual:
      return "equal";
    case WhyNot::Verdict::kBetter:
      return "better";
    case WhyNot::Verdict::kDoesNotFit:
      return "does-not-fit";
    case WhyNot::Verdict::kUnavailable:
      return "unavailable";
  }
  return "";
}

absl::StatusOr<WhyNot> AskWhyNot(const Plan& plan, const WhyNotRequest& request) {
  MW_RETURN_IF_ERROR(CheckKind(plan));
  MW_ASSIGN_OR_RETURN(ProgramRequest forced, RequestOf(plan));
  MW_ASSIGN_OR_RETURN(const Cluster cluster, ParseCluster(forced.cluster));
  MW_ASSIGN_OR_RETURN(const Mesh mesh, ParseMesh(forced.mesh, cluster));
  MW_ASSIGN_OR_RETURN(const std::vector<Fix> asked, ParseAsked(plan, mesh, request.fixes));
  MW_ASSIGN_OR_RETURN(const std::string contents, ReadPlannedProgram(plan, request.program));
  forced.program = ProgramOf(plan)->path;
  forced.contents = contents;
  forced.fixes.insert(forced.fixes.end(), asked.begin(), asked.end());
  forced.progress = request.progress;

  WhyNot answer;
  absl::StatusOr<PlannedProgram> planned = PlanProgram(forced);
  if (absl::IsInvalidArgument(planned.status())) {
    answer.verdict = WhyNot::Verdict::kUnavailable;
    answer.reason = std::string(planned.status().message());
    return answer;
  }
  if (!planned.ok()) return planned.status();
  if (!planned->intra.fits) answer.reason = ShortageText(*planned);
  answer.plan = std::move(planned->plan);
  answer.plan->inputs = plan.inputs;
  answer.plan->options.mesh = plan.options.mesh;
  answer.difference = DiffPlans(plan, *answer.plan);
  answer.verdict =
      answer.reason.empty() ? VerdictOf(plan, *answer.plan) : WhyNot::Verdict::kDoesNotFit;
  return answer;
}

std::string WhyNotText(const Plan& plan, const WhyNotRequest& request, const WhyNot& answer) {
  std::string text = WrapWords(StrCat("why not ", absl::StrJoin(request.fixes, " and ")), 4);
  if (answer.verdict == WhyNot::Verdict::kDoesNotFit) {
    // Lines of their own: what fills memory.
    const size_t line = answer.reason.find('\n');
    StrAppend(&text, WrapWords(StrCat("  it does not fit: ", answer.reason.substr(0, line)), 4));
    if (line == std::string::npos) return text;
    size_t begin = line + 1;
    while (begin < answer.reason.size()) {
      const size_t end = std::min(answer.reason.find('\n', begin), answer.reason.size());
      StrAppend(&text, Fit(answer.reason.substr(begin, end - begin), kColumns), "\n");
      begin = end + 1;
    }
    return text;
  }
  StrAppend(&text, WrapWords(StrCat("  ", VerdictText(plan, answer)), 4));
  if (answer.verdict == WhyNot::Verdict::kChosen || !answer.plan.has_value()) return text;
  return StrCat(text, DiffText(plan, *answer.plan, answer.difference));
}

std::string WhyNotJson(const Plan& plan, const WhyNotRequest& request, const WhyNot& answer) {
  nlohmann::ordered_json json = {{"asked", request.fixes},
                                 {"verdict", VerdictName(answer.verdict)},
                                 {"reason", answer.reason},
                                 {"objective_seconds", plan.objective_seconds}};
  json["forced_objective_seconds"] = answer.plan.has_value()
                                         ? nlohmann::ordered_json(answer.plan->objective_seconds)
                                         : nlohmann::ordered_json();
  json["difference"] = answer.plan.has_value()
                           ? nlohmann::ordered_json::parse(DiffJson(answer.difference))
                           : nlohmann::ordered_json();
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace meshwright
