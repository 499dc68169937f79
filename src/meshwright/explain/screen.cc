#include "meshwright/explain/screen.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/columns.h"
#include "meshwright/base/strings.h"
#include "meshwright/intra/cost_model_table.h"
#include "meshwright/plan/document/memory_category.h"

namespace meshwright {

std::string Labelled(std::string_view label, std::string_view text) {
  constexpr size_t kIndent = 10;
  // Words are put in line again, so the gap behind the label is filled with something that is none.
  std::string lines = WrapWords(StrCat(std::string(kIndent, ' '), text), kIndent);
  return lines.replace(0, std::min(label.size(), kIndent), label);
}

std::string SubjectText(const Plan& plan) {
  if (plan.of_model()) return plan.model->model;
  const InputFile* const program = plan.program_file();
  return program == nullptr ? "not named in the plan" : program->path;
}

std::string NumbersText(const std::vector<int64_t>& numbers) {
  constexpr size_t kMostRows = 12;
  std::vector<std::string> rows;
  for (size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
    for (end = begin + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;) ++end;
    rows.push_back(end - begin == 1 ? absl::StrCat(numbers[begin])
                                    : absl::StrCat(numbers[begin], "-", numbers[end - 1]));
  }
  if (rows.size() > kMostRows) {
    const std::string last = rows.back();
    rows.resize(kMostRows - 2);
    rows.insert(rows.end(), {"...", last});
  }
  return absl::StrJoin(rows, ", ");
}

std::string ShareText(double part, double whole) {
  return absl::StrFormat("%.3g %%", whole > 0 ? 100 * part / whole : 0.0);
}

}  // namespace meshwright
