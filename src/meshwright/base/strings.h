#ifndef MESHWRIGHT_BASE_STRINGS_H_
#define MESHWRIGHT_BASE_STRINGS_H_

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

// absl's string functions for std::string_view. Debian builds absl with a string_view class of its
// own, to which std::string_view does not convert; where both are the same type these are the
// identity.

namespace meshwright {

inline absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view FromAbsl(absl::string_view text) { return {text.data(), text.size()}; }

namespace strings_internal {
inline absl::string_view Piece(std::string_view text) { return ToAbsl(text); }
template <typename T>
const T& Piece(const T& piece) {
  return piece;
}
}  // namespace strings_internal

// absl::StrCat and absl::StrAppend that also take std::string_view.
template <typename... Pieces>
std::string StrCat(const Pieces&... pieces) {
  return absl::StrCat(strings_internal::Piece(pieces)...);
}
template <typename... Pieces>
void StrAppend(std::string* out, const Pieces&... pieces) {
  absl::StrAppend(out, strings_internal::Piece(pieces)...);
}

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_STRINGS_H_
