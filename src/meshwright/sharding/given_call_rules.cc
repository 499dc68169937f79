#include "meshwright/sharding/given_call_rules.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/glob.h"
#include "meshwright/base/printable.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/python_callback.h"
#include "meshwright/hlo/text_cursor.h"
#include "meshwright/sharding/call_rule.h"
#include "meshwright/sharding/rule.h"

namespace meshwright {
namespace {

bool IsWhite(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// End of what a line that ends at `end` says: a comment begins at a `#` that follows a blank, or
// begins the line (targets may hold one).
size_t EndOfContent(std::string_view text, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (text[i] == '#' && (i == begin || IsWhite(text[i - 1]))) return i;
  }
  return end;
}

// Letters for the dimensions of `shapes`: one for each size, another one where a tensor has a size
// twice.
class DraftFactors {
 public:
  std::string Tensor(const Shape& shape) {
    std::map<int64_t, size_t> seen;
    std::vector<std::string> dims;
    for (int64_t size : shape.dims) dims.push_back(Name(size, seen[size]++));
    return StrCat("[", absl::StrJoin(dims, ", "), "]");
  }

  const std::vector<std::string>& names() const { return names_; }

 private:
  std::string Name(int64_t size, size_t which) {
    std::vector<std::string>& names = by_size_[size];
    while (names.size() <= which) {
      constexpr int kLetters = 26;
      const auto number = static_cast<int>(names_.size());
      const std::string letter(1, static_cast<char>('a' + number % kLetters));
      names_.push_back(number < kLetters ? letter : StrCat(letter, "_", number / kLetters));
      names.push_back(names_.back());
    }
    return names[which];
  }

  std::map<int64_t, std::vector<std::string>> by_size_;
  std::vector<std::string> names_;
};

}  // namespace

absl::StatusOr<std::vector<GivenCallRule>> ParseGivenCallRules(std::string_view text,
                                                               std::string_view file_name) {
  std::vector<GivenCallRule> rules;
  int64_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    ++number;
    size_t newline = text.find('\n', begin);
    if (newline == std::string_view::npos) newline = text.size();
    const size_t end = EndOfContent(text, begin, newline);
    size_t at = begin;
    while (at < end && IsWhite(text[at])) ++at;
    if (at < end) {
      size_t behind = at;
      while (behind < end && !IsWhite(text[behind])) ++behind;
      // Lines before keep their numbers in errors.
      const std::string_view upto = text.substr(0, end);
      MW_RETURN_IF_ERROR(ParseCallRule(upto, file_name, behind).status());
      rules.push_back(
          {std::string(text.substr(at, behind - at)),
           std::string(absl::StripAsciiWhitespace(ToAbsl(text.substr(behind, end - behind)))),
           StrCat(file_name, ":", number)});
    }
    begin = newline + 1;
  }
  return rules;
}

absl::Status StateGivenCallRules(const std::vector<GivenCallRule>& rules, const Graph& graph,
                                 Module* module) {
  std::vector<CallRule> parsed;
  for (const GivenCallRule& rule : rules) {
    MW_ASSIGN_OR_RETURN(parsed.emplace_back(), ParseCallRule(rule.rule, rule.where));
  }
  absl::flat_hash_map<const Instruction*, const std::string*> chosen;
  for (const Op& op : graph.ops) {
    if (op.kind != OpKind::kInstruction || op.instruction->opcode != Opcode::kCustomCall) continue;
    std::string why;
    bool fits = false;
    for (size_t i = 0; i < rules.size() && !fits; ++i) {
      if (!GlobMatch(rules[i].target, op.instruction->custom_call_target)) continue;
      RuleBuilder builder(graph, op);
      const std::string problem = ApplyCallRule(parsed[i], builder);
      fits = problem.empty();
      if (fits) chosen[op.instruction] = &rules[i].rule;
      if (!fits && why.empty())
        why = StrCat(rules[i].where, ": the rule for ", rules[i].target, " ", problem, " (call \"",
                     op.name, "\" to ", op.instruction->custom_call_target, ")");
    }
    if (!fits && !why.empty()) return absl::InvalidArgumentError(why);
  }
  for (Computation& computation : module->computations) {
    for (Instruction& instruction : computation.instructions) {
      const auto found = chosen.find(&instruction);
      if (found == chosen.end()) continue;
      auto& attributes = instruction.frontend_attributes;
      std::erase_if(attributes, [](const auto& a) { return a.first == kGivenRuleAttribute; });
      attributes.emplace_back(kGivenRuleAttribute, *found->second);
    }
  }
  return absl::OkStatus();
}

std::string DraftCallRule(const Graph& graph, const Op& op) {
  DraftFactors factors;
  const auto tensors = [&](const std::vector<ValueId>& values) {
    std::vector<std::string> texts;
    texts.reserve(values.size());
    for (ValueId v : values) texts.push_back(factors.Tensor(graph[v].shape));
    return absl::StrJoin(texts, ", ");
  };
  const std::string operands = tensors(op.operands), results = tensors(op.results);
  const std::string target = op.instruction->custom_call_target;
  return StrCat(target, "  (", operands, ")->(", results, ")",
                factors.names().empty()
                    ? ""
                    : StrCat(" need_replication={", absl::StrJoin(factors.names(), ", "), "}"));
}

std::string DraftCallRules(const Graph& graph, std::string_view name) {
  std::map<std::string, int> counts;  // by line
  std::vector<const Op*> first;       // of each line
  for (const Op& op : graph.ops) {
    if (op.kind != OpKind::kInstruction || op.instruction->opcode != Opcode::kCustomCall) continue;
    if (RuleFor(graph, op).supported || IsPythonCallback(*op.instruction)) continue;
    if (++counts[DraftCallRule(graph, op)] == 1) first.push_back(&op);
  }
  std::string text =
      StrCat("# calls of ", Printable(name),
             " without a rule: ", first.empty() ? "none\n" : "complete the lines for --rules\n");
  const auto types = [&](const std::vector<ValueId>& values) {
    return absl::StrJoin(values, ", ", [&](std::string* out, ValueId v) {
      StrAppend(out, graph[v].shape.ToString(false));
    });
  };
  for (const Op* op : first) {
    const std::string line = DraftCallRule(graph, *op);
    StrAppend(&text, "# ", counts[line], counts[line] == 1 ? " call, " : " calls, ", "as ",
              op->name, ": (", types(op->operands), ") -> (", types(op->results), ")\n", line,
              "\n");
  }
  return text;
}

}  // namespace meshwright
