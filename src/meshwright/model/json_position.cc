#include "meshwright/model/json_position.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "meshwright/base/json_value.h"

namespace meshwright::transformer {
namespace {

// Walks over valid JSON without building anything.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) { SkipSpace(); }

  size_t at() const { return at_; }

  // Enters the object or list that starts here and stops at the value of `step`; nullopt leaves the
  // walker anywhere.
  std::optional<size_t> Enter(const std::string& step) {
    const char open = Peek();
    if (open != '{' && open != '[') return std::nullopt;
    Advance();
    for (int64_t index = 0; Peek() != '}' && Peek() != ']' && Peek() != '\0'; ++index) {
      const std::string name = open == '{' ? TakeName() : absl::StrCat(index);
      if (name == step) return at_;
      SkipValue();
      if (Peek() == ',') Advance();
    }
    return std::nullopt;
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void Advance() {
    ++at_;
    SkipSpace();
  }
  void SkipSpace() {
    constexpr std::string_view kSpace = " \t\r\n";
    while (at_ < text_.size() && kSpace.find(text_[at_]) != kSpace.npos) ++at_;
  }
  // To behind the closing quote.
  void SkipString() {
    for (++at_; Peek() != '"' && at_ < text_.size(); ++at_) {
      if (Peek() == '\\') ++at_;
    }
    ++at_;
  }
  std::string TakeName() {
    const size_t begin = at_;
    SkipString();
    const auto name = Json::parse(text_.substr(begin, at_ - begin), nullptr, false);
    SkipSpace();
    Advance();  // over the colon
    return name.is_string() ? name.get<std::string>() : std::string();
  }
  void SkipValue() {
    int64_t depth = 0;
    do {
      const char c = Peek();
      if (c == '"') {
        SkipString();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') {
        if (depth == 0) return;
        --depth;
      }
      if (c == ',' && depth == 0) return;
      ++at_;
    } while (at_ < text_.size());
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

TextPosition PositionOf(std::string_view json, const std::vector<std::string>& path) {
  Walker walker(json);
  size_t at = walker.at();
  for (const std::string& step : path) {
    const std::optional<size_t> inner = walker.Enter(step);
    if (!inner.has_value()) break;
    at = *inner;
  }
  TextPosition position;
  for (const char c : json.substr(0, at)) {
    ++position.column;
    if (c == '\n') position = {position.line + 1, 1};
  }
  return position;
}

}  // namespace meshwright::transformer
