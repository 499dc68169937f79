#include "meshwright/cli/completion.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

// A text in single quotes, as sh and zsh read it.
std::string Quoted(std::string_view text) {
  return StrCat("'", absl::StrReplaceAll(ToAbsl(text), {{"'", "'\\''"}}), "'");
}

// fish reads backslashes in single quotes too.
std::string FishQuoted(std::string_view text) {
  return StrCat("'", absl::StrReplaceAll(ToAbsl(text), {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

// Descriptions of options are paragraphs; a list beside the prompt has a line for each.
std::string FirstClause(const std::string& description) {
  constexpr size_t kLongest = 70;
  std::string clause = description.substr(0, description.find_first_of(";:("));
  if (clause.size() <= kLongest) return clause;
  return StrCat(clause.substr(0, clause.rfind(' ', kLongest)), " ...");
}

std::string FunctionOf(const CommandNode& node) {
  return StrCat("_meshwright", node.path.empty() ? "" : "_", absl::StrJoin(node.path, "_"));
}

std::vector<std::string> NamesOfCommands(const CommandNode& node) {
  std::vector<std::string> names;
  for (const CommandNode& command : node.commands) names.push_back(command.path.back());
  return names;
}

// Of the options of `node` all names, or those of options with a value.
std::vector<std::string> OptionNames(const CommandNode& node) {
  std::vector<std::string> names;
  for (const OptionFacts& facts : node.options) {
    if (!facts.argument) names.insert(names.end(), facts.names.begin(), facts.names.end());
  }
  return names;
}

}  // namespace

std::string BashCompletion(const CommandNode& program) {
  std::string cases, values;
  ForEachCommand(program, [&](const CommandNode& node) {
    const std::string path = absl::StrJoin(node.path, " ");
    StrAppend(&cases, "    ", Quoted(path),
              ")\n      commands=", Quoted(absl::StrJoin(NamesOfCommands(node), " ")),
              "\n      options=", Quoted(absl::StrJoin(OptionNames(node), " ")), "\n      ;;\n");
    for (const OptionFacts& facts : node.options) {
      if (facts.argument || facts.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : facts.names)
        patterns.push_back(Quoted(StrCat(path, " ", name)));
      StrAppend(&values, "    ", absl::StrJoin(patterns, " | "), ")\n      ");
      if (!facts.words.empty()) {
        StrAppend(&values, "words=", Quoted(absl::StrJoin(facts.words, " ")));
      } else {
        StrAppend(&values, facts.value == "PATH" || facts.value == "CLUSTER" ? "files=yes" : ":");
      }
      StrAppend(&values, "\n      return 0\n      ;;\n");
    }
  });
  return StrCat(R"(# Completion of meshwright for bash; made by `meshwright completion bash`.
# shellcheck shell=bash

# Sets commands and options to those of the command $1.
_meshwright_command() {
  case "$1" in
)",
                cases, R"(    *)
      return 1
      ;;
  esac
}

# Sets words, or files, to what the option $2 of the command $1 takes; fails where it takes nothing.
_meshwright_value() {
  case "$1 $2" in
)",
                values, R"(    *)
      return 1
      ;;
  esac
}

_meshwright() {
  local command='' commands='' options='' words='' files='' word i
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD - 1]}"
  # Bash takes the "=" of --name=value for a word of its own.
  if [ "$current" = "=" ]; then
    current=''
  elif [ "$previous" = "=" ]; then
    previous="${COMP_WORDS[COMP_CWORD - 2]}"
  fi
  _meshwright_command ''
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word="${COMP_WORDS[i]}"
    case " $commands " in
      *" $word "*)
        command="${command:+$command }$word"
        _meshwright_command "$command"
        ;;
    esac
  done
  if _meshwright_value "$command" "$previous"; then
    if [ -n "$files" ]; then
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
    else
      mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    fi
  elif [ "${current#-}" != "$current" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  elif [ -n "$commands" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}

complete -o filenames -F _meshwright meshwright
)");
}

std::string ZshCompletion(const CommandNode& program) {
  // What _arguments reads as its own marks.
  const auto escaped = [](std::string_view text) {
    return absl::StrReplaceAll(ToAbsl(text),
                               {{"\\", "\\\\"}, {":", "\\:"}, {"[", "\\["}, {"]", "\\]"}});
  };
  std::string functions;
  ForEachCommand(program, [&](const CommandNode& node) {
    std::vector<std::string> specs;
    for (const OptionFacts& facts : node.options) {
      if (facts.argument) continue;
      std::string value;
      if (!facts.value.empty()) {
        value = StrCat(":", facts.value, ":",
                       !facts.words.empty() ? StrCat("(", absl::StrJoin(facts.words, " "), ")")
                       : facts.value == "PATH" || facts.value == "CLUSTER" ? "_files"
                                                                           : " ");
      }
      for (const std::string& name : facts.names) {
        specs.push_back(Quoted(StrCat(facts.repeatable ? "*" : "", name, "[",
                                      escaped(FirstClause(facts.description)), "]", value)));
      }
    }
    StrAppend(&functions, FunctionOf(node), "() {\n");
    if (node.commands.empty()) {
      specs.push_back("'*:file:_files'");
      StrAppend(&functions, "  _arguments \\\n    ", absl::StrJoin(specs, " \\\n    "), "\n}\n\n");
      return;
    }
    specs.push_back("'1:command:->command'");
    specs.push_back("'*::argument:->arguments'");
    StrAppend(&functions, "  local curcontext=\"$curcontext\" state line\n  local -a commands=(\n");
    for (const CommandNode& command : node.commands) {
      StrAppend(&functions, "    ",
                Quoted(StrCat(command.path.back(), ":", escaped(command.summary))), "\n");
    }
    StrAppend(&functions, "  )\n  _arguments -C \\\n    ", absl::StrJoin(specs, " \\\n    "),
              "\n  case $state in\n    command) _describe command commands ;;\n    arguments)\n"
              "      case $line[1] in\n");
    for (const CommandNode& command : node.commands) {
      StrAppend(&functions, "        ", command.path.back(), ") ", FunctionOf(command), " ;;\n");
    }
    StrAppend(&functions, "      esac\n      ;;\n  esac\n}\n\n");
  });
  return StrCat("#compdef meshwright\n# Made by `meshwright completion zsh`.\n\n", functions,
                "compdef _meshwright meshwright\n");
}

std::string FishCompletion(const CommandNode& program) {
  std::string text = "# Completion of meshwright for fish; made by `meshwright completion fish`.\n";
  ForEachCommand(program, [&](const CommandNode& node) {
    std::string where = node.path.empty() ? "__fish_use_subcommand" : "";
    for (const std::string& name : node.path)
      StrAppend(&where, where.empty() ? "" : "; and ", "__fish_seen_subcommand_from ", name);
    const std::string begin = StrCat("complete -c meshwright -n ", FishQuoted(where));
    const std::string names = absl::StrJoin(NamesOfCommands(node), " ");
    for (const CommandNode& command : node.commands) {
      const std::string condition =
          node.path.empty() ? where
                            : StrCat(where, "; and not __fish_seen_subcommand_from ", names);
      StrAppend(&text, "complete -c meshwright -n ", FishQuoted(condition), " -f -a ",
                command.path.back(), " -d ", FishQuoted(command.summary), "\n");
    }
    for (const OptionFacts& facts : node.options) {
      if (facts.argument) continue;
      StrAppend(&text, begin);
      for (const std::string& name : facts.names) {
        const bool is_long = name.starts_with("--");
        StrAppend(&text, is_long ? " -l " : " -s ", name.substr(is_long ? 2 : 1));
      }
      if (!facts.words.empty()) {
        StrAppend(&text, " -x -a ", FishQuoted(absl::StrJoin(facts.words, " ")));
      } else if (!facts.value.empty()) {
        StrAppend(&text, facts.value == "PATH" || facts.value == "CLUSTER" ? " -r" : " -x");
      }
      StrAppend(&text, " -d ", FishQuoted(FirstClause(facts.description)), "\n");
    }
  });
  return text;
}

}  // namespace meshwright
