#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/base/wrap.h"
#include "meshwright/cli/message.h"
#include "meshwright/cli/output.h"
#include "meshwright/cli/verb.h"
#include "meshwright/sharding/rule_table.h"

namespace meshwright {
namespace {

constexpr size_t kNameWidth = 28;

absl::Status CheckNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (OpcodeFromName(name).has_value()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("unknown operator \"", name, "\"; `meshwright ops` lists all"));
  }
  return absl::OkStatus();
}

// What does not fit stands below.
std::string RowText(const RuleRow& row) {
  std::string name(OpcodeName(row.opcode));
  name.resize(std::max(kNameWidth, name.size() + 2), ' ');
  const std::string rule(row.notation.empty() ? "no rule: replicated" : row.notation);
  if (row.remark.empty()) return Hanging(name, rule);
  const std::string remark = StrCat("-- ", row.remark);
  if (name.size() + rule.size() + 2 + remark.size() <= kTerminalColumns) {
    return StrCat(name, rule, "  ", remark, "\n");
  }
  return StrCat(Hanging(name, rule), Hanging(std::string(name.size(), ' '), remark));
}

absl::Status PrintRules(const std::vector<std::string>& names) {
  MW_RETURN_IF_ERROR(CheckNames(names));
  std::string text;
  for (const RuleRow& row : RuleTable()) {
    const bool wanted =
        names.empty() ||
        std::find(names.begin(), names.end(), std::string(OpcodeName(row.opcode))) != names.end();
    if (wanted) absl::StrAppend(&text, RowText(row));
  }
  return PrintScreen(text);
}

}  // namespace

Action AddOpsVerb(CLI::App& app) {
  auto names = std::make_shared<std::vector<std::string>>();
  app.add_option("OPCODE", *names, "only these");
  return [names] { return PrintRules(*names); };
}

}  // namespace meshwright
