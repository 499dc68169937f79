#include "meshwright/plan/annotate/mlir_edits.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

// [begin, end) of an entry of a dictionary with the comma that goes with it.
std::pair<size_t, size_t> WithComma(std::string_view text, std::pair<size_t, size_t> entry) {
  size_t after = text.find_first_not_of(" \n\r\t", entry.second);
  if (after != std::string_view::npos && text[after] == ',') {
    after = text.find_first_not_of(" \n\r\t", after + 1);
    return {entry.first, std::min(after, text.size())};
  }
  const size_t before = text.find_last_not_of(" \n\r\t", entry.first - 1);
  if (before != std::string_view::npos && text[before] == ',') entry.first = before;
  return entry;
}

}  // namespace

std::string ApplyEdits(std::string_view text, std::vector<Edit> edits) {
  std::stable_sort(edits.begin(), edits.end(),
                   [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
  std::string result;
  size_t at = 0;
  for (const Edit& edit : edits) {
    StrAppend(&result, text.substr(at, edit.begin - at), edit.text);
    at = edit.end;
  }
  StrAppend(&result, text.substr(at));
  return result;
}

void SetSharding(std::string_view text, const MlirAnchor& anchor, std::string_view value,
                 std::vector<Edit>& edits) {
  const std::string entry = StrCat("sdy.sharding = ", value);
  if (!anchor.shardings.empty()) {
    edits.push_back({anchor.shardings[0].first, anchor.shardings[0].second, entry});
    for (size_t i = 1; i < anchor.shardings.size(); ++i) {
      const auto [begin, end] = WithComma(text, anchor.shardings[i]);
      edits.push_back({begin, end, ""});
    }
    return;
  }
  const size_t at = anchor.position;
  switch (anchor.form) {
    case MlirAnchor::Form::kNone:
      return;
    case MlirAnchor::Form::kBare:
      edits.push_back({at, at, StrCat(" {", entry, "}")});
      return;
    case MlirAnchor::Form::kInside:
      edits.push_back({at, at, StrCat(entry, ", ")});
      return;
    case MlirAnchor::Form::kInsideEmpty:
      edits.push_back({at, at, entry});
      return;
    case MlirAnchor::Form::kParentheses:
      edits.push_back({at, at, "("});
      edits.push_back({anchor.end, anchor.end, StrCat(" {", entry, "})")});
      return;
    case MlirAnchor::Form::kReplace:
      edits.push_back({at, anchor.end, std::string(value)});
      return;
  }
}

}  // namespace meshwright
