#include "meshwright/sharding/call_config.h"

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {
namespace {

std::optional<int64_t> NumberOf(const InputJson& json) {
  int64_t number = 0;
  if (json.is_number()) return json.get<int64_t>();
  if (json.is_string() && absl::SimpleAtoi(json.get<std::string>(), &number)) return number;
  return std::nullopt;
}

// What stands behind `name =`.
std::optional<std::string_view> WordAfter(std::string_view config, std::string_view name) {
  for (size_t at = config.find(name); at != std::string_view::npos;
       at = config.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at > 0 && IsNameChar(config[at - 1])) || (end < config.size() && IsNameChar(config[end])))
      continue;
    TextCursor cursor(config, "backend_config");
    cursor.set_position(end);
    if (cursor.Consume('=')) return cursor.Name();
  }
  return std::nullopt;
}

}  // namespace

std::optional<InputJson> CallConfigObject(const Instruction& call, std::string_view member) {
  std::string text = call.backend_config;
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    std::string unquoted;
    if (!absl::CUnescape(ToAbsl(std::string_view(text).substr(1, text.size() - 2)), &unquoted))
      return std::nullopt;
    text = std::move(unquoted);
  }
  const InputJson json = InputJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto found = json.find(std::string(member));
  if (found == json.end() || !found->is_object()) return std::nullopt;
  return *found;
}

std::vector<int64_t> NumbersOf(const InputJson& json, const char* key) {
  std::vector<int64_t> numbers;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_array()) return numbers;
  for (const InputJson& element : *found) numbers.push_back(NumberOf(element).value_or(-1));
  return numbers;
}

int64_t NumberOr(const InputJson& json, const char* key, int64_t otherwise) {
  const auto found = json.find(key);
  return found == json.end() ? otherwise : NumberOf(*found).value_or(otherwise);
}

std::optional<int64_t> CallConfigNumber(std::string_view config, std::string_view name) {
  const std::optional<std::string_view> word = WordAfter(config, name);
  int64_t number = 0;
  if (!word.has_value() || !absl::SimpleAtoi(ToAbsl(*word), &number)) return std::nullopt;
  return number;
}

std::optional<bool> CallConfigFlag(std::string_view config, std::string_view name) {
  const std::optional<std::string_view> word = WordAfter(config, name);
  if (word == "true") return true;
  if (word == "false") return false;
  return std::nullopt;
}

}  // namespace meshwright
