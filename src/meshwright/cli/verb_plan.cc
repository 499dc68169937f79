#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/model_planning.h"
#include "meshwright/cli/option_checks.h"
#include "meshwright/cli/planning_command.h"
#include "meshwright/cli/verb.h"
#include "meshwright/inter/layers/layers.h"
#include "meshwright/inter/schedule/schedule.h"

namespace meshwright {
namespace {

std::string ScheduleNames() {
  return absl::StrCat(absl::StrJoin(ScheduleTable(), ", ",
                                    [](std::string* out, const ScheduleKind& kind) {
                                      StrAppend(out, kind.name, " (", kind.description, ")");
                                    }),
                      ", or auto");
}

absl::Status CheckDatabaseOption(const RequestOptions& search) {
  if (search.db.empty())
    return absl::InvalidArgumentError("--db: found \"\", expected the name of a file");
  if (search.pipeline == "off") return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--db cannot be combined with --pipeline: stages are not planned from measurements");
}

}  // namespace

Action AddPlanVerb(CLI::App& app) {
  const std::shared_ptr<PlanningOptions> options = AddPlanningOptions(app);
  app.get_option("PROGRAM")->description(
      "HLO text, HloModuleProto, StableHLO text or bytecode, gzipped or not; - for standard input; "
      "or a transformer: config.json, YAML or a name of `meshwright model --list`");
  app.get_option("--fix")->description(
      "programs: NAME=SPEC shards the parameter, output or instruction NAME (* and ? match any "
      "characters) like SPEC, say [x,_]; models: degrees like tp=8,pp=4");
  app.get_option("--deadline")
      ->description(
          "time for the search, like 30s or 5min. Models on nodes of one type: at its end, and "
          "after "
          "an interrupt (Ctrl-C, SIGTERM), the best plan so far is given, and by how much others "
          "may be better; "
          "exit code 3 if none was found. A second interrupt ends the program at once");
  app.get_option("--emit")->description(
      "write the program with sharding annotations here; with --pipeline a folder with the "
      "programs of its stages");
  options->search.memory = "device";
  app.add_option("--mesh", options->search.mesh,
                 "logical mesh, of every stage with --pipeline: 8, 2x4 or x=2,y=4; auto tries "
                 "those that suit the cluster")
      ->capture_default_str();
  app.add_option("--db", options->search.db,
                 "profile database of `meshwright profile`: what was measured of the program's "
                 "segments goes before what is predicted of them");
  app.add_option("--db-environment", options->search.db_environment,
                 "number of the environment in that database whose measurements count (see `db "
                 "list`); needed where several have some of the program")
      ->check(IsOrdinal())
      ->needs("--db");
  app.add_flag("--explain", options->explain,
               "print the plan in words, as `meshwright explain` does, in place of the table")
      ->excludes("--json");
  app.add_option("--memory", options->search.memory,
                 "memory a device may use, like 60GiB; device: all it has; or unlimited")
      ->capture_default_str();
  app.option_defaults()->group("Options of pipelines");
  app.add_option("--pipeline", options->search.pipeline,
                 "off; auto: cut the program into as many stages as is best; or their number "
                 "(of groups of devices where a schedule gives a group several)")
      ->capture_default_str();
  std::vector<const CLI::Option*> of_pipelines;
  of_pipelines.push_back(app.add_option("--micro-batches", options->search.micro_batches,
                                        "auto, or the number of parts of the batch")
                             ->capture_default_str());
  of_pipelines.push_back(app.add_option("--schedule", options->search.schedule, ScheduleNames())
                             ->capture_default_str());
  of_pipelines.push_back(app.add_option("--layers", options->search.layers,
                                        "layers to cut the program into; 0: as it repeats")
                             ->check(CLI::Range(0, kMostLayers))
                             ->capture_default_str());
  of_pipelines.push_back(
      app.add_option("--data", options->search.data,
                     "parameters that hold the batch in their first dimension (* and ? match "
                     "any characters); else those that the outputs do not replace")
          ->allow_extra_args(false));
  of_pipelines.push_back(app.add_flag("!--no-recompute", options->search.recompute,
                                      "keep all activations for the backward phase"));
  app.option_defaults()->group("Options of models");
  const std::shared_ptr<ModelPlanningOptions> model = AddModelPlanningOptions(app);
  return [options, model, of_pipelines, &app]() -> absl::Status {
    if (IsModel(options->program, app)) return RunModelPlanning(*options, *model, app);
    MW_RETURN_IF_ERROR(CheckNoModelOptions(app));
    if (app.get_option("--db")->count() > 0) {
      MW_RETURN_IF_ERROR(CheckDatabaseOption(options->search));
    }
    for (const CLI::Option* option : of_pipelines) {
      if (options->search.pipeline != "off" || option->count() == 0) continue;
      return absl::InvalidArgumentError(
          StrCat(option->get_name(),
                 " is of pipelines: give --pipeline auto as well, or a number of "
                 "stages"));
    }
    return options->search.pipeline == "off" ? RunPlanning(*options)
                                             : RunPipelinePlanning(*options);
  };
}

}  // namespace meshwright
