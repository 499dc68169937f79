#include "meshwright/plan/make/fix_option.h"

#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

bool BeginsSpec(absl::string_view text) {
  text = absl::StripLeadingAsciiWhitespace(text);
  return absl::StartsWith(text, "[") || absl::StartsWith(text, "P(") ||
         absl::StartsWith(text, "PartitionSpec(") || absl::StartsWith(text, "replicated");
}

// What the user wrote, short enough for one line.
std::string Shown(absl::string_view text) {
  constexpr size_t kShown = 60;
  return absl::CHexEscape(std::string(text.substr(0, kShown))) +
         (text.size() > kShown ? "..." : "");
}

}  // namespace

absl::StatusOr<Fix> ParseFix(std::string_view text, std::string_view origin) {
  const absl::string_view whole = ToAbsl(text);
  size_t equals = whole.rfind('=');
  while (equals != absl::string_view::npos && !BeginsSpec(whole.substr(equals + 1))) {
    equals = equals == 0 ? absl::string_view::npos : whole.rfind('=', equals - 1);
  }
  if (equals == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(origin), ": found \"", Shown(whole),
                     "\", expected NAME=SPEC with a spec like [x,_], P('x', None) or replicated"));
  }
  Fix fix;
  fix.pattern = std::string(absl::StripAsciiWhitespace(whole.substr(0, equals)));
  fix.spec = std::string(absl::StripAsciiWhitespace(whole.substr(equals + 1)));
  fix.origin = std::string(origin);
  if (fix.pattern.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(origin), ": the name before `=` is missing"));
  }
  return fix;
}

absl::StatusOr<std::vector<Fix>> ParseFixFile(std::string_view text, std::string_view file) {
  std::vector<Fix> fixes;
  int line_number = 0;
  for (absl::string_view line : absl::StrSplit(ToAbsl(text), '\n')) {
    ++line_number;
    if (const size_t comment = line.find(" #"); comment != absl::string_view::npos) {
      line = line.substr(0, comment);
    }
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    MW_ASSIGN_OR_RETURN(Fix fix,
                        ParseFix(FromAbsl(line), absl::StrCat(ToAbsl(file), ":", line_number)));
    fixes.push_back(std::move(fix));
  }
  return fixes;
}

}  // namespace meshwright
