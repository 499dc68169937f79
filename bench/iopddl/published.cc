#include "bench/iopddl/published.h"

#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status.h"

namespace meshwright {
namespace {

constexpr size_t kFields = 5;

}  // namespace

absl::StatusOr<std::map<std::string, Published>> ReadPublished(const std::string& path) {
  MW_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  std::map<std::string, Published> published;
  int line_number = 0;
  bool titles = true;
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) {
    ++line_number;
    if (line.empty() || line[0] == '#') continue;
    if (std::exchange(titles, false)) continue;
    const auto error = [&](const auto&... what) {
      return absl::InvalidArgumentError(absl::StrCat(path, ":", line_number, ": ", what...));
    };
    const std::vector<std::string> fields = absl::StrSplit(line, ',');
    if (fields.size() != kFields) return error(fields.size(), " fields, expected ", kFields);
    Published one{{}, {}, {}, fields[4]};
    std::optional<int64_t>* const numbers[] = {&one.best_in_contest, &one.best, &one.bound};
    for (size_t i = 0; i < 3; ++i) {
      const std::string& field = fields[i + 1];
      if (field.empty()) continue;
      int64_t number = 0;
      if (!absl::SimpleAtoi(field, &number)) return error("\"", field, "\" is not an integer");
      *numbers[i] = number;
    }
    published[fields[0]] = one;
  }
  return published;
}

}  // namespace meshwright
