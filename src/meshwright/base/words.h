#ifndef MESHWRIGHT_BASE_WORDS_H_
#define MESHWRIGHT_BASE_WORDS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

// Words of enums, for documents, options and screens: one table for each enum, beside it.

namespace meshwright {

// The words of an enum's values, in their order. A specialization is an array of std::string_view:
//   template <>
//   inline constexpr auto kWords<Color> = std::to_array<std::string_view>({"red", "green"});
template <typename Enum>
inline constexpr std::nullptr_t kWords = nullptr;

template <typename Enum>
concept HasWords = !std::is_same_v<decltype(kWords<Enum>), const std::nullptr_t>;

template <HasWords Enum>
constexpr std::string_view Word(Enum value) {
  return kWords<Enum>[static_cast<size_t>(value)];
}

// The word of what is there; "" of nothing.
template <HasWords Enum>
constexpr std::string_view Word(const std::optional<Enum>& value) {
  return value.has_value() ? Word(*value) : std::string_view();
}

template <HasWords Enum>
std::optional<Enum> FromWord(std::string_view word) {
  const auto found = std::find(kWords<Enum>.begin(), kWords<Enum>.end(), word);
  if (found == kWords<Enum>.end()) return std::nullopt;
  return static_cast<Enum>(found - kWords<Enum>.begin());
}

// "forward, backward or update".
template <HasWords Enum>
std::string WordList() {
  std::string list;
  for (size_t i = 0; i < kWords<Enum>.size(); ++i) {
    if (i > 0) list += i + 1 == kWords<Enum>.size() ? " or " : ", ";
    list += kWords<Enum>[i];
  }
  return list;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_WORDS_H_
