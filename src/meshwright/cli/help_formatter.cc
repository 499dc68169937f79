#include "meshwright/cli/help_formatter.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/option_facts.h"
#include "meshwright/cli/verb.h"

namespace meshwright {
namespace {

// `name` with `description` in the column beside it, or below it if it is too long for that. On a
// narrow terminal all descriptions are below, where they have most of a line.
std::string Entry(std::string_view name, std::string_view description) {
  constexpr size_t kBeside = 26, kBelow = 6, kLeastForBoth = 66;
  const size_t columns = ScreenColumns();
  const size_t column = columns < kLeastForBoth ? kBelow : kBeside;
  const std::string margin(column, ' ');
  std::string text = StrCat("  ", name);
  if (text.size() + 2 > column) {
    absl::StrAppend(&text, "\n", margin);
  } else {
    text.resize(column, ' ');
  }
  return absl::StrCat(
      text, absl::StrJoin(Wrapped(description, columns - column), absl::StrCat("\n", margin)),
      "\n");
}

// nullptr also for commands of a verb, whatever they are called.
const Verb* FindVerb(const CLI::App& app) {
  if (app.get_parent() == nullptr || app.get_parent()->get_parent() != nullptr) return nullptr;
  const auto& verbs = Verbs();
  const auto found = std::find_if(verbs.begin(), verbs.end(),
                                  [&app](const Verb& verb) { return app.get_name() == verb.name; });
  return found == verbs.end() ? nullptr : &*found;
}

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    label("Positionals", "Arguments");
    label("SUBCOMMAND", "COMMAND");
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const OptionFacts facts = FactsOf(*option);
    std::string name = absl::StrJoin(facts.names, ", ");
    if (!facts.argument && !facts.value.empty()) absl::StrAppend(&name, " ", facts.value);
    return Entry(name, WithNotes(facts));
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return Entry(command->get_name(), command->get_description());
  }

  // CLI11 leaves two empty lines between groups of options.
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return absl::StrReplaceAll(CLI::Formatter::make_help(app, std::move(name), mode),
                               {{"\n\n\n", "\n\n"}});
  }

  std::string make_description(const CLI::App* app) const override {
    std::string text = app->get_description();
    if (const Verb* const verb = FindVerb(*app)) {
      text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
      absl::StrAppend(&text, ".");
      if (*verb->details != '\0') absl::StrAppend(&text, "\n\n", verb->details);
    }
    return absl::StrCat(absl::StrJoin(Wrapped(text, ScreenColumns()), "\n"), "\n\n");
  }

  std::string make_footer(const CLI::App* app) const override {
    const Verb* const verb = FindVerb(*app);
    if (verb == nullptr) return app->get_footer();
    return absl::StrCat(
        "Exit codes:\n  ", absl::StrJoin(Wrapped(verb->exit_codes, ScreenColumns() - 2), "\n  "),
        "\n\nExamples:\n  ", absl::StrReplaceAll(verb->examples, {{"\n", "\n  "}}), "\n");
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter() {
  return std::make_shared<HelpFormatter>();
}

}  // namespace meshwright
