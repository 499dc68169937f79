#include "meshwright/request/request.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/mixed_cluster.h"
#include "meshwright/request/model_request.h"
#include "meshwright/request/program_request.h"

namespace meshwright {
namespace {

const Options& PlanRows() {
  static const auto* const kRows = new Options(PlanOptionRows(*new AskedOptions));
  return *kRows;
}

std::string Word(const Option& option) {
  return option.letter.empty() ? StrCat("--", option.name) : StrCat("-", option.letter);
}

// The first row of the options that were given for which `is` holds; null: none.
template <typename Predicate>
const Option* FirstGiven(const AskedOptions& asked, Predicate is) {
  const Options& rows = PlanRows();
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Option& row) {
    return asked.given.contains(row.name) && is(row);
  });
  return found == rows.end() ? nullptr : &*found;
}

bool OfModelsOnly(const Option& row) { return (row.kinds & kPrograms) == 0; }
bool OfProgramsOnly(const Option& row) { return (row.kinds & kModels) == 0; }
// Dollars and whole runs. What FASOP takes as well is refused by other models.
bool OfGroupsOnly(const Option& row) {
  return (row.kinds & kGroups) != 0 && (row.kinds & (kModel | kNersc | kPrograms)) == 0;
}

// What makes of a model a plan over groups of nodes; nullopt: nothing does.
std::optional<std::string> WhyGroups(const AskedOptions& asked) {
  if (IsMixedCluster(asked.cluster)) return "a cluster of groups of nodes";
  if (FromWord<ModelObjective>(asked.objective) == ModelObjective::kCost) return "--objective cost";
  if (const Option* const row = FirstGiven(asked, OfGroupsOnly); row != nullptr) return Word(*row);
  // Stages of a cluster of one kind are fixed as if it were one group.
  const absl::StatusOr<transformer::Fixes> fixes = transformer::ParseFixes(asked.fixes);
  if (fixes.ok() && !fixes->stage_layers.empty()) return "--fix layers";
  if (fixes.ok() && !fixes->stage_groups.empty()) return "--fix order";
  return std::nullopt;
}

// Why an option is not for a kind of planning.
std::string Refusal(const AskedOptions& asked, const Option& row, Kinds kind) {
  if (kind == kGroups) {
    return StrCat(" does not go with ", *WhyGroups(asked),
                  IsMixedCluster(asked.cluster) ? "" : ", which is planned over groups of nodes",
                  row.name == "launchable" ? "; --for megatron does" : "");
  }
  if (kind == kNersc) return " does not go with --cost-model nersc, which is as published";
  if (kind == kFasop) {
    return " does not go with --cost-model fasop, which is as published: only --cluster, --top, "
           "--pareto and --csv do";
  }
  if (row.kinds == kProfiled) {
    return " cannot be combined with --pipeline: stages are not planned from measurements";
  }
  return " is of pipelines: give --pipeline auto as well, or a number of stages";
}

absl::StatusOr<Kinds> ProgramKind(const AskedOptions& asked) {
  if (const Option* const wrong = FirstGiven(asked, OfModelsOnly); wrong != nullptr) {
    return absl::InvalidArgumentError(
        StrCat(Word(*wrong),
               " is for models, but this is a program; a model is a name that `meshwright model "
               "--list` shows, a config.json or a YAML file"));
  }
  if (asked.given.contains("db") && asked.db.empty())
    return absl::InvalidArgumentError("--db: found \"\", expected the name of a file");
  if (asked.pipeline != "off") return kPipeline;
  return asked.db.empty() ? kProgramAlone : kProfiled;
}

absl::StatusOr<Kinds> ModelKind(const Subject& subject, const AskedOptions& asked) {
  if (const Option* const wrong = FirstGiven(asked, OfProgramsOnly); wrong != nullptr) {
    return absl::InvalidArgumentError(
        StrCat(Word(*wrong), " is for programs, but ", subject.name,
               " is a model; its degrees are searched, and --fix tp=8,pp=4 fixes some of them"));
  }
  if (asked.cost_model == "fasop") return kFasop;
  if (asked.global_batch == 0)
    return absl::InvalidArgumentError("--global-batch is required: sequences of a step");
  if (WhyGroups(asked).has_value()) return kGroups;
  return asked.cost_model == "nersc" ? kNersc : kModel;
}

// What options say of one another.
absl::Status CheckModelOptions(Kinds kind, const AskedOptions& asked) {
  const auto error = [](std::string_view text) { return absl::InvalidArgumentError(ToAbsl(text)); };
  const Option* const table =
      FirstGiven(asked, [](const Option& row) { return row.name == "csv" || row.name == "plot"; });
  if (kind == kGroups) {
    if (asked.pareto && asked.given.contains("objective"))
      return error(
          "--pareto gives the plans of least time, of least cost and all between; leave "
          "--objective out, and choose one of them by --point");
    if (table != nullptr && !asked.pareto)
      return error(
          "over groups of nodes --csv and --plot write what --pareto finds; give that as well");
    return absl::OkStatus();
  }
  if (kind == kFasop) return absl::OkStatus();
  if (table != nullptr && asked.sweep.empty())
    return error(StrCat(Word(*table), " writes what --sweep or --pareto finds; give one"));
  if (asked.sweep.empty()) return absl::OkStatus();
  if (asked.explain)
    return error("--explain is of one plan; a --sweep has one for each number of devices");
  if (FromWord<ModelObjective>(asked.objective) == ModelObjective::kGpus)
    return error(
        "--objective gpus finds the fewest GPUs, --sweep plans on each number of them; give one");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Kinds> KindOf(const Subject& subject, const AskedOptions& asked) {
  const bool of_models = FirstGiven(asked, OfModelsOnly) != nullptr;
  bool model = asked.cost_model == "fasop";  // which has names of its own
  if (!model) {
    MW_ASSIGN_OR_RETURN(model, IsModel(subject, of_models));
  }
  MW_ASSIGN_OR_RETURN(const Kinds kind, model ? ModelKind(subject, asked) : ProgramKind(asked));
  if (const Option* const wrong =
          FirstGiven(asked, [&](const Option& row) { return (row.kinds & kind) == 0; });
      wrong != nullptr) {
    return absl::InvalidArgumentError(StrCat(Word(*wrong), Refusal(asked, *wrong, kind)));
  }
  if (model) MW_RETURN_IF_ERROR(CheckModelOptions(kind, asked));
  return kind;
}

absl::StatusOr<PlanningRequest> MakeRequest(const Subject& subject, const AskedOptions& asked) {
  MW_ASSIGN_OR_RETURN(const Kinds kind, KindOf(subject, asked));
  if ((kind & kPrograms) != 0) return ToProgramRequest(subject, asked);
  if (kind == kGroups) return ToGroupsRequest(subject, asked);
  if (kind == kFasop) return FasopRequest{subject.name, asked.cluster, asked.top, asked.pareto};
  MW_ASSIGN_OR_RETURN(ModelRequest model, ToModelRequest(subject, asked));
  if (asked.sweep.empty()) return model;
  MW_ASSIGN_OR_RETURN(const SweepRange range, ParseSweep(asked.sweep));
  if (asked.weak && range.axis != SweepAxis::kGpus)
    return absl::InvalidArgumentError(
        StrCat("--weak lets the batch grow with the GPUs of --sweep gpus=..., and not with ",
               asked.sweep));
  return SweepRequest{std::move(model), range, asked.weak};
}

}  // namespace meshwright
