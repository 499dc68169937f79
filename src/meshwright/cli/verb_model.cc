#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/add_options.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/model/model_table.h"
#include "meshwright/request/model_request.h"

namespace meshwright {
namespace {

struct ModelCommand {
  std::string model;
  ModelAsked asked;
  bool list = false, json = false;
};

absl::Status RunModel(const ModelCommand& command) {
  if (command.list) return PrintScreen(transformer::BuiltinModelTable());
  if (command.model.empty()) {
    return absl::InvalidArgumentError(
        "MODEL is required: a name that --list shows, a config.json, or a YAML file");
  }
  MW_ASSIGN_OR_RETURN(const DescribedModel described,
                      DescribeModel({.name = command.model}, command.asked));
  return command.json ? PrintOutput(ModelJson(described.model, described.batch))
                      : PrintScreen(ModelTable(described.model, described.batch));
}

}  // namespace

Action AddModelVerb(CLI::App& app) {
  const auto command = std::make_shared<ModelCommand>();
  app.add_option("MODEL", command->model,
                 "name of a known model, Hugging Face config.json, folder with one, or YAML file "
                 "(docs/models.md); - for standard input");
  AddOptions(app, ModelOptionRows(command->asked));
  app.add_flag("--list", command->list, "list the models that are known by name");
  app.add_flag("--json", command->json,
               "print JSON, with every tensor and every kind of layer's matmuls");
  return [command] { return RunModel(*command); };
}

}  // namespace meshwright
