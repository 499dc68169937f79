#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/hlo/program/program.h"
#include "meshwright/sharding/call_table.h"
#include "meshwright/sharding/given_call_rules.h"
#include "meshwright/sharding/rule_table.h"

namespace meshwright {
namespace {

constexpr size_t kNameWidth = 28;

// A row of either table as users see it.
struct PrintedRow {
  std::string_view name, notation, remark;
};

// What does not fit stands below.
std::string RowText(const PrintedRow& row) {
  std::string name(row.name);
  name.resize(std::max(kNameWidth, name.size() + 2), ' ');
  std::vector<std::string> rules = absl::StrSplit(ToAbsl(row.notation), '\n');
  if (row.notation.empty()) rules = {"no rule: replicated"};
  const std::string remark = row.remark.empty() ? "" : StrCat("-- ", row.remark);
  if (rules.size() == 1 && !remark.empty() &&
      name.size() + rules[0].size() + 2 + remark.size() <= kTerminalColumns) {
    return StrCat(name, rules[0], "  ", remark, "\n");
  }
  // A long name stands above what is said of it.
  std::string text;
  if (name.size() > kNameWidth) {
    StrAppend(&text, row.name, "\n");
    name = "";
  }
  const std::string indent(kNameWidth, ' ');
  for (const std::string& rule : rules) {
    StrAppend(&text, Hanging(name.empty() ? indent : name, rule));
    name = "";
  }
  if (!remark.empty()) StrAppend(&text, Hanging(indent, remark));
  return text;
}

// Rows of opcodes, and of calls; with names, those that they name: an opcode, the target of a call
// or a pattern of the table.
struct ChosenRows {
  std::vector<PrintedRow> opcodes, calls;
};

absl::StatusOr<ChosenRows> ChooseRows(const std::vector<std::string>& names) {
  ChosenRows rows;
  std::vector<bool> known(names.size(), false);
  const auto wanted = [&](auto matches) {
    bool any = names.empty();
    for (size_t i = 0; i < names.size(); ++i) {
      if (!matches(names[i])) continue;
      known[i] = any = true;
    }
    return any;
  };
  std::vector<std::string> all;
  for (const RuleRow& row : RuleTable()) {
    const std::string_view name = OpcodeName(row.opcode);
    all.emplace_back(name);
    if (wanted([&](const std::string& given) { return given == name; }))
      rows.opcodes.push_back({name, row.notation, row.remark});
  }
  for (const CallRow& row : CallTable()) {
    all.emplace_back(row.target);
    if (wanted([&](const std::string& given) {
          return given == row.target || FindCall(given) == &row;
        })) {
      rows.calls.push_back({row.target, row.notation, row.remark});
    }
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (known[i]) continue;
    return absl::InvalidArgumentError(StrCat("unknown operator \"", names[i], "\"; did you mean ",
                                             NearestName(names[i], all),
                                             "? `meshwright ops` lists all"));
  }
  return rows;
}

std::string RowsText(const ChosenRows& rows) {
  std::string text;
  for (const PrintedRow& row : rows.opcodes) StrAppend(&text, RowText(row));
  if (rows.calls.empty()) return text;
  StrAppend(&text, text.empty() ? "" : "\n",
            "calls (custom-call), by what they call: rules in Shardy's notation\n");
  for (const PrintedRow& row : rows.calls) StrAppend(&text, RowText(row));
  return text;
}

std::string RowsJson(const ChosenRows& rows) {
  const auto list = [](const std::vector<PrintedRow>& printed) {
    Json json = Json::array();
    for (const PrintedRow& row : printed) {
      json.push_back({{"name", row.name},
                      {"rules", row.notation.empty() ? std::vector<std::string>()
                                                     : std::vector<std::string>(absl::StrSplit(
                                                           ToAbsl(row.notation), '\n'))},
                      {"remark", row.remark}});
    }
    return json;
  };
  return Json{{"opcodes", list(rows.opcodes)}, {"calls", list(rows.calls)}}.dump(1) + "\n";
}

absl::Status PrintRules(const std::vector<std::string>& names, bool json) {
  // What has a slash or a dot is the name of a file, also of one that is not there.
  std::error_code error;
  const bool path = names.size() == 1 && (names[0].find_first_of("/.") != std::string::npos ||
                                          std::filesystem::exists(names[0], error));
  if (path && FindCall(names[0]) == nullptr) {
    if (json) {
      return absl::InvalidArgumentError(
          "--json prints the tables; of a program there is the draft of a file for --rules");
    }
    MW_ASSIGN_OR_RETURN(const Program program, ReadProgram(names[0]));
    return PrintOutput(
        DraftCallRules(program.graph, names[0]));  // a file: its lines are not broken
  }
  MW_ASSIGN_OR_RETURN(const ChosenRows rows, ChooseRows(names));
  return json ? PrintOutput(RowsJson(rows)) : PrintScreen(RowsText(rows));
}

}  // namespace

Action AddOpsVerb(CLI::App& app) {
  auto names = std::make_shared<std::vector<std::string>>();
  app.add_option("NAME", *names,
                 "only these: opcodes, or what calls call; or a program: those of its calls that "
                 "have no rule");
  const auto json = std::make_shared<bool>(false);
  app.add_flag("--json", *json, "print JSON: of each its rules and a remark");
  return [names, json] { return PrintRules(*names, *json); };
}

}  // namespace meshwright
