#include "meshwright/cli/option_facts.h"

#include <CLI/CLI.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace meshwright {
namespace {

// CLI11 describes its checks as "INT in [1 - 1024]", "{xla,least-cost}" and "POSITIVE".
std::string LimitsText(absl::string_view check) {
  if (check == "POSITIVE") return "more than 0";
  if (const size_t at = check.find(" in ["); at != absl::string_view::npos) {
    const absl::string_view range = absl::StripSuffix(check.substr(at + 5), "]");
    return absl::StrReplaceAll(range, {{" - ", " to "}});
  }
  if (absl::ConsumePrefix(&check, "{") && absl::ConsumeSuffix(&check, "}")) {
    return absl::StrReplaceAll(check, {{",", ", "}});
  }
  return std::string(check);
}

template <typename Options>
std::vector<std::string> NamesOf(const Options& options) {
  std::vector<std::string> names;
  names.reserve(options.size());
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  return names;
}

// The names that IsMember allows: "{xla,least-cost}".
std::vector<std::string> WordsOf(absl::string_view check) {
  if (!absl::ConsumePrefix(&check, "{") || !absl::ConsumeSuffix(&check, "}")) return {};
  return absl::StrSplit(check, ',');
}

}  // namespace

std::string WithNotes(const OptionFacts& facts) {
  std::vector<std::string> notes;
  if (!facts.limits.empty()) notes.push_back(facts.limits);
  if (facts.required && !facts.argument) notes.emplace_back("needed");
  if (facts.repeatable && !facts.argument) notes.emplace_back("repeatable");
  if (!facts.default_value.empty()) notes.push_back("default: " + facts.default_value);
  if (!facts.needs.empty()) notes.push_back("with " + absl::StrJoin(facts.needs, ", "));
  if (!facts.excludes.empty()) notes.push_back("not with " + absl::StrJoin(facts.excludes, ", "));
  if (notes.empty()) return facts.description;
  return absl::StrCat(facts.description, " (", absl::StrJoin(notes, "; "), ")");
}

OptionFacts FactsOf(const CLI::Option& option) {
  OptionFacts facts;
  facts.argument = option.get_positional();
  if (facts.argument) facts.names.push_back(option.get_name(/*positional=*/true));
  for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  facts.description = option.get_description();
  facts.group = option.get_group();
  facts.required = option.get_required();
  facts.needs = NamesOf(option.get_needs());
  facts.excludes = NamesOf(option.get_excludes());
  if (option.get_type_size() == 0) return facts;
  const std::vector<std::string> type = absl::StrSplit(option.get_type_name(), ':');
  facts.value = type[0] == "UINT" ? "INT" : type[0];
  std::vector<std::string> limits;
  for (auto check = type.begin() + 1; check != type.end(); ++check) {
    absl::string_view text = *check;
    const bool is_limit = !absl::ConsumePrefix(&text, kKnownWords);
    if (const auto words = WordsOf(text); !words.empty()) facts.words = words;
    if (is_limit) limits.push_back(LimitsText(text));
  }
  facts.limits = absl::StrJoin(limits, "; ");
  facts.default_value = option.get_default_str();
  facts.repeatable = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  return facts;
}

std::vector<OptionFacts> FactsOf(const CLI::App& command) {
  std::vector<OptionFacts> all;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_group().empty()) all.push_back(FactsOf(*option));
  }
  return all;
}

}  // namespace meshwright
