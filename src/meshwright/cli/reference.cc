#include "meshwright/cli/reference.h"

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "meshwright/base/json_value.h"
#include "meshwright/cli/option_facts.h"
#include "meshwright/cli/verb.h"
#include "meshwright/plan/document/version.h"

namespace meshwright {
namespace {

Json OptionJson(const OptionFacts& facts) {
  return {{"names", facts.names},
          {"value", facts.value},
          {"limits", facts.limits},
          {"default", facts.default_value},
          {"description", facts.description},
          {"group", facts.group},
          {"argument", facts.argument},
          {"required", facts.required},
          {"repeatable", facts.repeatable},
          {"needs", facts.needs},
          {"excludes", facts.excludes}};
}

Json CommandJson(const Verb& verb, const CLI::App& command) {
  Json options = Json::array();
  for (const OptionFacts& facts : FactsOf(command)) options.push_back(OptionJson(facts));
  const std::vector<std::string> examples = absl::StrSplit(verb.examples, '\n');
  return {{"name", verb.name},       {"summary", verb.summary},
          {"details", verb.details}, {"exit_codes", verb.exit_codes},
          {"examples", examples},    {"options", std::move(options)}};
}

}  // namespace

std::string ReferenceJson(const CLI::App& program) {
  Json commands = Json::array();
  for (const Verb& verb : Verbs()) {
    commands.push_back(CommandJson(verb, *program.get_subcommand(verb.name)));
  }
  const Json reference = {{"version", ToolVersion()}, {"commands", std::move(commands)}};
  return reference.dump(2) + "\n";
}

}  // namespace meshwright
