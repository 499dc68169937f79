#ifndef MESHWRIGHT_BASE_JSON_VALUE_H_
#define MESHWRIGHT_BASE_JSON_VALUE_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

// JSON documents read member by member, with errors that say where ("$.edges[3]: ...").

namespace meshwright {

// What is written: members stay in their order.
using Json = nlohmann::ordered_json;
// What is read: an ordered object copies its members when it grows, and documents are large.
using InputJson = nlohmann::json;

// Deeper documents are refused, so that recursive readers cannot exhaust the stack.
inline constexpr int kMostJsonLevels = 200;

// The library's message of a syntax error without its tag, at most a line long: the text that it
// quotes can be the whole rest of the file.
std::string JsonErrorText(std::string_view what);

// Parses `text`; `name` stands for it in errors. Errors: not JSON (with path, line and column), a
// member that occurs twice in an object, too many levels.
absl::StatusOr<Json> ParseJson(std::string_view text, std::string_view name);
absl::StatusOr<InputJson> ParseInputJson(std::string_view text, std::string_view name);

// A value and the path to it. The first error of a document sticks in the status that all values of
// it share; from then on reading goes on with empty values, so callers check once, before they use
// what they read as an index.
class JsonValue {
 public:
  // The root. `json` and `status` must outlive all values made of it.
  JsonValue(const InputJson& json, absl::Status* status) : JsonValue(&json, "$", status) {}

  bool ok() const { return status_->ok(); }
  bool IsObject() const { return json_->is_object(); }
  bool IsList() const { return json_->is_array(); }
  bool IsNull() const { return json_->is_null(); }
  bool IsText() const { return json_->is_string(); }
  bool IsNumber() const { return json_->is_number(); }
  bool IsBoolean() const { return json_->is_boolean(); }
  bool IsUnsigned() const { return json_->is_number_unsigned(); }
  bool Has(const char* key) const { return json_->is_object() && json_->contains(key); }

  JsonValue At(const char* key) const;                             // an error if there is none
  std::optional<JsonValue> Find(const char* key) const;            // nullopt: absent or null
  std::vector<std::pair<std::string, JsonValue>> Members() const;  // in the order of their keys
  std::vector<JsonValue> Elements() const;
  // `size` of them; `of` says what for ("nodes").
  std::vector<JsonValue> Elements(size_t size, const char* of) const;

  double Number() const;  // at most 1e30 in magnitude
  double Number(double least, double most) const;
  int64_t Integer(int64_t least, int64_t most) const;  // 5.0 is one; `least` after an error
  uint64_t Unsigned() const;
  bool Boolean() const;
  std::string Text() const;
  std::vector<double> Numbers(size_t size, const char* of) const;

  // An error unless this is an object without other keys than these.
  void CheckKeys(const std::vector<const char*>& keys) const;

  // Records "<path>: <message>" unless there is an error already.
  void Fail(const std::string& message) const;
  // Records "<path>: found <the value, or what it is>, expected <what>" likewise.
  void FailWanting(std::string_view what) const;

 private:
  JsonValue(const InputJson* json, std::string path, absl::Status* status)
      : json_(json), path_(std::move(path)), status_(status) {}
  JsonValue Nothing() const;
  void Wanted(const char* what) const;

  const InputJson* json_;
  std::string path_;
  absl::Status* status_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_JSON_VALUE_H_
