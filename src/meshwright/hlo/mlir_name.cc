#include "meshwright/hlo/mlir_name.h"

#include <algorithm>

#include "absl/strings/ascii.h"

namespace meshwright {

bool StartsMlirName(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool ContinuesMlirName(char c) {
  return StartsMlirName(c) || absl::ascii_isdigit(c) || c == '$' || c == '.';
}

bool IsMlirName(std::string_view text) {
  return !text.empty() && StartsMlirName(text[0]) &&
         std::all_of(text.begin(), text.end(), ContinuesMlirName);
}

std::string_view MlirName(TextCursor& cursor) {
  cursor.SkipSpace();
  const std::string_view text = cursor.text();
  const size_t begin = cursor.position();
  if (begin >= text.size() || !StartsMlirName(text[begin])) return {};
  size_t end = begin + 1;
  while (end < text.size() && ContinuesMlirName(text[end])) ++end;
  cursor.set_position(end);
  return text.substr(begin, end - begin);
}

}  // namespace meshwright
