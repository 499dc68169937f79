#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/base/status.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/model/check_model.h"
#include "meshwright/model/model_table.h"
#include "meshwright/request/model_request.h"
#include "meshwright/request/subject.h"

namespace meshwright {
namespace {

struct ModelCommand {
  std::string model;
  int64_t tokens = 0, source_tokens = 0;  // 0: not given
  bool list = false, json = false;
};

absl::Status RunModel(const ModelCommand& command) {
  if (command.list) return PrintScreen(transformer::BuiltinModelTable());
  if (command.model.empty()) {
    return absl::InvalidArgumentError(
        "MODEL is required: a name that --list shows, a config.json, or a YAML file");
  }
  std::string description;
  std::vector<InputFile> inputs;
  MW_ASSIGN_OR_RETURN(const transformer::Model model,
                      ReadModel({.name = command.model}, description, inputs));
  transformer::Batch batch;
  batch.tokens = SequenceOf(model, command.tokens);
  batch.source_tokens = command.source_tokens;
  MW_RETURN_IF_ERROR(CheckSequence(model, batch.tokens));
  if (command.source_tokens > 0) {
    if (model.stacks.size() < 2) {
      return absl::InvalidArgumentError("--source-seq: the model has no encoder beside a decoder");
    }
    MW_RETURN_IF_ERROR(CheckSequence(model, command.source_tokens));
  }
  return command.json ? PrintOutput(ModelJson(model, batch))
                      : PrintScreen(ModelTable(model, batch));
}

}  // namespace

Action AddModelVerb(CLI::App& app) {
  const auto command = std::make_shared<ModelCommand>();
  app.add_option("MODEL", command->model,
                 "name of a known model, Hugging Face config.json, folder with one, or YAML file "
                 "(docs/models.md); - for standard input");
  app.add_option("--seq", command->tokens,
                 "tokens per sequence; without it the model's longest, at most 4096")
      ->check(CLI::Range(int64_t{1}, transformer::kMaxSequence));
  app.add_option("--source-seq", command->source_tokens,
                 "tokens per sequence of the encoder; without it as many as of the decoder")
      ->check(CLI::Range(int64_t{1}, transformer::kMaxSequence));
  app.add_flag("--list", command->list, "list the models that are known by name");
  app.add_flag("--json", command->json,
               "print JSON, with every tensor and every kind of layer's matrix products");
  return [command] { return RunModel(*command); };
}

}  // namespace meshwright
