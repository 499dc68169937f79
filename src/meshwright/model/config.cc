#include "meshwright/model/config.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/model/json_position.h"

namespace meshwright::transformer {
namespace {

constexpr size_t kLongestQuote = 60;

// For messages, at most a line long.
std::string Quoted(const Json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  std::string text = value.is_string()
                         ? absl::StrCat("\"", absl::CHexEscape(value.get_ref<const std::string&>()))
                         : value.dump();
  if (text.size() > kLongestQuote) text = text.substr(0, kLongestQuote) + "...";
  return value.is_string() ? text + "\"" : text;
}

// JSON as Python writes it has NaN, Infinity and -Infinity, which no field that is read here may
// be: null in their place.
std::string WithoutNonFinite(std::string_view text) {
  std::string json;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      json += text.substr(i++, 2);
      continue;
    }
    if (text[i] == '"') quoted = !quoted;
    bool replaced = false;
    for (const std::string_view number : {"-Infinity", "Infinity", "NaN"}) {
      if (quoted || replaced || !text.substr(i).starts_with(number)) continue;
      json += "null";
      i += number.size() - 1;
      replaced = true;
    }
    if (!replaced) json += text[i];
  }
  return json;
}

std::vector<std::string> Names(std::string_view field) {
  return absl::StrSplit(ToAbsl(field), '|');
}

}  // namespace

struct Config::File {
  std::string name;
  std::string text;
  Json root;
  absl::Status status;
  std::set<std::string> read;  // names of the fields that were asked for and are there
};

// A field, and its way from the root; json is null if it is absent.
struct Config::Value {
  const Json* json = nullptr;
  std::vector<std::string> path;
};

Config::Config(std::shared_ptr<File> file, std::vector<std::string> path)
    : file_(std::move(file)), path_(std::move(path)) {}

absl::StatusOr<Config> Config::Parse(std::string_view text, std::string_view file) {
  MW_ASSIGN_OR_RETURN(Json root, ParseJson(WithoutNonFinite(text), file));
  Config config(std::make_shared<File>(File{std::string(file), std::string(text), {}, {}}), {});
  if (!root.is_object()) {
    config.FailPath({},
                    absl::StrCat("expected an object of the model's fields, found ", Quoted(root)));
  }
  config.file_->root = std::move(root);
  if (!config.ok()) return config.status();
  return config;
}

Config::Value Config::Object() const {
  const Json* object = &file_->root;
  for (const std::string& step : path_) {
    const auto member = object->find(step);
    if (member == object->end() || !member->is_object()) return {nullptr, path_};
    object = &*member;
  }
  return {object, path_};
}

Config::Value Config::Find(std::string_view field) const {
  Value value = Object();
  const Json* const object = std::exchange(value.json, nullptr);
  if (object == nullptr) return value;
  for (std::string& name : Names(field)) {
    const auto member = object->find(name);
    if (member == object->end() || member->is_null()) continue;
    value.json = &*member;
    file_->read.insert(name);
    value.path.push_back(std::move(name));
    break;
  }
  return value;
}

bool Config::Has(std::string_view field) const { return Find(field).json != nullptr; }

bool Config::IsNull(std::string_view field) const {
  const Json* const object = Object().json;
  if (object == nullptr) return false;
  const auto member = object->find(std::string(field));
  return member != object->end() && member->is_null();
}

Config Config::Nested(std::string_view field) const {
  const Value value = Find(field);
  if (value.json != nullptr && !value.json->is_object()) {
    Fail(field, absl::StrCat("expected an object, found ", Quoted(*value.json)));
  }
  std::vector<std::string> path = value.path;
  if (value.json == nullptr) path.emplace_back(field);
  return {file_, std::move(path)};
}

int64_t Config::Integer(const Value& value, int64_t least, int64_t most) const {
  const Json& json = *value.json;
  const auto as_first = [&](const Json& element) { return element == json.front(); };
  if (json.is_array() && !json.empty() && std::all_of(json.begin(), json.end(), as_first)) {
    Value first{&json.front(), value.path};
    first.path.emplace_back("0");
    return Integer(first, least, most);
  }
  // Beyond 63 bits the library gives unsigned integers or floating-point numbers.
  const bool fits =
      json.is_number_integer() &&
      (!json.is_number_unsigned() || json.get<uint64_t>() <= static_cast<uint64_t>(most)) &&
      json.get<int64_t>() >= least && json.get<int64_t>() <= most;
  if (fits) return json.get<int64_t>();
  FailPath(value.path, absl::StrCat("expected a whole number from ", least, " to ", most,
                                    ", found ", Quoted(json)));
  return least;
}

int64_t Config::Count(std::string_view field, int64_t most, std::optional<int64_t> fallback) const {
  const Value value = Find(field);
  if (value.json != nullptr) return Integer(value, 1, most);
  if (fallback.has_value()) return *fallback;
  FailPath(path_, absl::StrCat("the field \"", absl::StrJoin(Names(field), "\" or \""),
                               "\" is missing; it must be a whole number from 1 to ", most));
  return 1;
}

int64_t Config::CountOrZero(std::string_view field, int64_t most, int64_t fallback) const {
  const Value value = Find(field);
  return value.json != nullptr ? Integer(value, 0, most) : fallback;
}

bool Config::Flag(std::string_view field, bool fallback) const {
  const Value value = Find(field);
  if (value.json == nullptr) return fallback;
  if (value.json->is_boolean()) return value.json->get<bool>();
  Fail(field, absl::StrCat("expected true or false, found ", Quoted(*value.json)));
  return fallback;
}

double Config::Real(std::string_view field, double fallback) const {
  const Value value = Find(field);
  if (value.json == nullptr) return fallback;
  if (value.json->is_number() && value.json->get<double>() > 0) return value.json->get<double>();
  Fail(field, absl::StrCat("expected a number above 0, found ", Quoted(*value.json)));
  return fallback;
}

bool Config::IsText(std::string_view field, std::string_view word) const {
  const Value value = Find(field);
  return value.json != nullptr && value.json->is_string() && *value.json == word;
}

bool Config::IsNumber(std::string_view field, int64_t number) const {
  const Value value = Find(field);
  return value.json != nullptr && value.json->is_number_integer() && *value.json == number;
}

std::string Config::Text(std::string_view field, std::string_view fallback) const {
  const Value value = Find(field);
  if (value.json == nullptr) return std::string(fallback);
  if (value.json->is_string()) return value.json->get<std::string>();
  Fail(field, absl::StrCat("expected a string, found ", Quoted(*value.json)));
  return std::string(fallback);
}

std::optional<std::vector<int64_t>> Config::Counts(std::string_view field, int64_t most) const {
  const Value list = Find(field);
  if (list.json == nullptr) return std::nullopt;
  std::vector<int64_t> counts;
  if (!list.json->is_array()) {
    Fail(field, absl::StrCat("expected a list of whole numbers, found ", Quoted(*list.json)));
    return counts;
  }
  for (const Json& element : *list.json) {
    Value value{&element, list.path};
    value.path.push_back(absl::StrCat(counts.size()));
    counts.push_back(Integer(value, 0, most));
    if (!ok()) break;
  }
  return counts;
}

std::optional<std::vector<std::string>> Config::Texts(std::string_view field) const {
  const Value list = Find(field);
  if (list.json == nullptr) return std::nullopt;
  std::vector<std::string> texts;
  if (!list.json->is_array()) {
    Fail(field, absl::StrCat("expected a list of strings, found ", Quoted(*list.json)));
    return texts;
  }
  for (const Json& element : *list.json) {
    if (!element.is_string()) {
      FailAt(field, texts.size(), absl::StrCat("expected a string, found ", Quoted(element)));
      break;
    }
    texts.push_back(element.get<std::string>());
  }
  return texts;
}

int64_t Config::Members(std::string_view field) const {
  const Value value = Find(field);
  if (value.json == nullptr) return 0;
  if (value.json->is_object()) return static_cast<int64_t>(value.json->size());
  Fail(field, absl::StrCat("expected an object, found ", Quoted(*value.json)));
  return 0;
}

void Config::Fail(std::string_view field, std::string_view message) const {
  FailPath(Find(field).path, message);
}

void Config::FailAt(std::string_view field, size_t index, std::string_view message) const {
  std::vector<std::string> path = Find(field).path;
  path.push_back(absl::StrCat(index));
  FailPath(path, message);
}

void Config::FailPath(const std::vector<std::string>& path, std::string_view message) const {
  if (!ok()) return;
  const TextPosition position = PositionOf(file_->text, path);
  std::string field;
  for (const std::string& step : path) {
    const bool index = !step.empty() && step.find_first_not_of("0123456789") == step.npos;
    absl::StrAppend(&field, field.empty() || index ? "" : ".", index ? "[" : "",
                    absl::Utf8SafeCEscape(step), index ? "]" : "");
  }
  if (!field.empty()) field += ": ";
  file_->status = absl::InvalidArgumentError(
      StrCat(file_->name, ":", position.line, ":", position.column, ": ", field, message));
}

int64_t Config::FieldsRead() const { return static_cast<int64_t>(file_->read.size()); }
bool Config::ok() const { return file_->status.ok(); }
const absl::Status& Config::status() const { return file_->status; }

}  // namespace meshwright::transformer
