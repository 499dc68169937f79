#include "meshwright/cli/add_options.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

#include "absl/strings/str_join.h"
#include "meshwright/base/strings.h"
#include "meshwright/cli/option_checks.h"
#include "meshwright/cli/option_facts.h"
#include "meshwright/cli/output.h"

namespace meshwright {
namespace {

// Registers one row's value under `names`.
struct Registrar {
  CLI::App& app;
  const Option& row;
  std::string names;

  CLI::Option* operator()(std::string* value) const {
    if (row.output) return AddOutputOption(app, names, *value, row.help);
    CLI::Option* const option = app.add_option(names, *value, row.help);
    return row.words.empty() ? option : option->check(CLI::IsMember(row.words));
  }
  // Each takes one value: a name may well begin with a bracket, which CLI11 would take for a list.
  CLI::Option* operator()(std::vector<std::string>* value) const {
    return app.add_option(names, *value, row.help)->allow_extra_args(false);
  }
  CLI::Option* operator()(int64_t* value) const {
    CLI::Option* const option = app.add_option(names, *value, row.help);
    if (!std::isfinite(row.most)) return option->check(IsOrdinal());
    return option->check(
        CLI::Range(static_cast<int64_t>(row.least), static_cast<int64_t>(row.most)));
  }
  CLI::Option* operator()(uint64_t* value) const {
    return app.add_option(names, *value, row.help)->check(IsSeed());
  }
  CLI::Option* operator()(double* value) const {
    const CLI::Range range(row.least, row.most);
    return app.add_option(names, *value, row.help)
        ->check(CLI::Validator(
            [range](std::string& text) {
              return text.find_first_of("nN") == std::string::npos
                         ? range(text)
                         : StrCat("found ", text, ", expected a number");
            },
            range.get_description()));
  }
  CLI::Option* operator()(bool* value) const { return app.add_flag(names, *value, row.help); }
};

CLI::Option* Find(const CLI::App& app, const std::string& name) {
  return const_cast<CLI::App&>(app).get_option(StrCat("--", name));
}

}  // namespace

void AddOptions(CLI::App& app, const Options& rows) {
  const std::string usual = app.option_defaults()->get_group();
  for (const Option& row : rows) {
    app.option_defaults()->group(row.group.empty() ? usual : row.group);
    const std::string names =
        row.letter.empty() ? StrCat("--", row.name) : StrCat("-", row.letter, ",--", row.name);
    CLI::Option* const option = std::visit(Registrar{app, row, names}, row.value);
    if (!row.known.empty()) {
      option->check(CLI::Validator([](std::string&) { return std::string(); },
                                   StrCat(kKnownWords, "{", absl::StrJoin(row.known, ","), "}")));
    }
    if (const std::string value = ValueName(row); !value.empty()) option->type_name(value);
    if (HasDefault(row)) option->capture_default_str();
    option->required(row.required);
  }
  app.option_defaults()->group(usual);
  for (const Option& row : rows) {
    if (!row.needs.empty()) Find(app, row.name)->needs(Find(app, row.needs));
    for (const std::string& other : row.excludes) Find(app, row.name)->excludes(Find(app, other));
  }
}

GivenOptions GivenOf(const CLI::App& app, const Options& rows) {
  GivenOptions given;
  for (const Option& row : rows) {
    if (Find(app, row.name)->count() > 0) given.insert(row.name);
  }
  return given;
}

}  // namespace meshwright
