#include "meshwright/cli/manual_page.h"

#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/strings.h"
#include "meshwright/plan/document/version.h"

namespace meshwright {
namespace {

// Text as roff takes it: dashes that are copied as such, and no line that begins like a request.
std::string Roff(std::string_view text) {
  std::string escaped = absl::StrReplaceAll(ToAbsl(text), {{"\\", "\\e"}, {"-", "\\-"}});
  if (!escaped.empty() && (escaped[0] == '.' || escaped[0] == '\'')) escaped.insert(0, "\\&");
  return absl::StrReplaceAll(escaped, {{"\n.", "\n\\&."}, {"\n'", "\n\\&'"}});
}

std::string Heading(std::string_view name, std::string_view summary) {
  return StrCat(".TH \"", Roff(absl::AsciiStrToUpper(ToAbsl(name))), "\" 1 \"\" \"meshwright ",
                ToolVersion(), "\"\n.SH NAME\n", Roff(name), " \\- ", Roff(summary), "\n");
}

std::string OptionText(const OptionFacts& facts) {
  std::string text = StrCat(".TP\n.B ", Roff(absl::StrJoin(facts.names, ", ")), "\n");
  if (!facts.argument && !facts.value.empty()) {
    text.pop_back();
    StrAppend(&text, " ", Roff(facts.value), "\n");
  }
  StrAppend(&text, Roff(WithNotes(facts)), "\n");
  return text;
}

std::string OptionsText(const CommandNode& node) {
  std::string text, group;
  for (const bool arguments : {true, false}) {
    for (const OptionFacts& facts : node.options) {
      if (facts.argument != arguments) continue;
      const std::string heading = arguments ? "ARGUMENTS" : absl::AsciiStrToUpper(facts.group);
      if (heading != group) StrAppend(&text, ".SH ", Roff(heading), "\n");
      group = heading;
      StrAppend(&text, OptionText(facts));
    }
  }
  return text;
}

std::string Paragraphs(std::string_view text) {
  return StrCat(Roff(absl::StrReplaceAll(ToAbsl(text), {{"\n", "\n\n"}})), "\n");
}

}  // namespace

std::string ProgramManual(const CommandNode& program) {
  std::string text = StrCat(Heading("meshwright", "plan the training of neural networks"),
                            ".SH SYNOPSIS\n.B meshwright\nCOMMAND [OPTION]...\n.SH DESCRIPTION\n",
                            Paragraphs(program.summary), ".SH COMMANDS\n");
  for (const CommandNode& command : program.commands) {
    StrAppend(&text, ".TP\n.BR meshwright\\-", Roff(command.path.back()), " (1)\n",
              Roff(command.summary), "\n");
  }
  return StrCat(text, OptionsText(program));
}

std::string CommandManual(const CommandNode& node, const Verb& verb) {
  std::string arguments;
  for (const OptionFacts& facts : node.options) {
    if (!facts.argument) continue;
    const std::string name = StrCat(facts.names[0], facts.repeatable ? "..." : "");
    StrAppend(&arguments, " ", facts.required ? name : StrCat("[", name, "]"));
  }
  if (!node.commands.empty()) arguments = " COMMAND";
  std::string text = StrCat(Heading(StrCat("meshwright-", verb.name), verb.summary),
                            ".SH SYNOPSIS\n.B meshwright ", Roff(verb.name), "\n",
                            Roff(arguments.empty() ? arguments : arguments.substr(1)),
                            arguments.empty() ? "" : " ", "[OPTION]...\n");
  if (*verb.details != '\0') StrAppend(&text, ".SH DESCRIPTION\n", Paragraphs(verb.details));
  StrAppend(&text, OptionsText(node));
  for (const CommandNode& command : node.commands) {
    StrAppend(&text, ".SH ", Roff(absl::AsciiStrToUpper(command.path.back())), "\n",
              Roff(command.summary), "\n");
    for (const OptionFacts& facts : command.options) StrAppend(&text, OptionText(facts));
  }
  StrAppend(&text, ".SH EXIT STATUS\n", Paragraphs(verb.exit_codes), ".SH EXAMPLES\n.EX\n",
            Roff(verb.examples), "\n.EE\n.SH SEE ALSO\n.BR meshwright (1)\n");
  return text;
}

}  // namespace meshwright
