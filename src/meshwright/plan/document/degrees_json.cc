#include "meshwright/plan/document/degrees_json.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/strings.h"
#include "meshwright/degrees/degree_table.h"
#include "meshwright/plan/document/json_reader.h"

namespace meshwright {
namespace {

using transformer::Configuration;
using transformer::Degree;

// "inside", "tp" of "inside.tp"; "", "tp" of "tp".
std::pair<std::string, std::string> PartAndKey(const Degree& degree) {
  const size_t dot = degree.name.find('.');
  if (dot == std::string_view::npos) return {"", std::string(degree.name)};
  return {std::string(degree.name.substr(0, dot)), std::string(degree.name.substr(dot + 1))};
}

std::string Pointer(const Degree& degree) {
  const auto [part, key] = PartAndKey(degree);
  return part.empty() ? key : absl::StrCat(part, ".", key);
}

std::optional<int64_t> ValueOf(const Degree& degree, const InputJson& json) {
  if (degree.is_boolean) {
    return json.is_boolean() ? std::optional<int64_t>(json.get<bool>()) : std::nullopt;
  }
  if (degree.words.empty()) {
    return json.is_number_unsigned() ? ParseValue(degree, json.dump()) : std::nullopt;
  }
  return json.is_string() ? ParseValue(degree, json.get_ref<const std::string&>()) : std::nullopt;
}

}  // namespace

Json DegreesJson(const Configuration& configuration) {
  Json json = Json::object();
  for (const Degree& degree : transformer::DegreeTable()) {
    if (degree.name.empty()) continue;
    const auto [part, key] = PartAndKey(degree);
    Json& object = part.empty() ? json : json[part];
    const int64_t value = degree.value(configuration);
    if (degree.is_boolean) {
      object[key] = value != 0;
    } else if (degree.words.empty()) {
      object[key] = value;
    } else {
      object[key] = ValueText(degree, value);
    }
  }
  return json;
}

absl::Status ReadJson(const InputJson& json, const std::string& path, Configuration& value) {
  if (!json.is_object()) return WrongJsonType(json, path, "an object");
  std::map<std::string, std::vector<std::string>> keys;  // by part
  for (const Degree& degree : transformer::DegreeTable()) {
    if (degree.name.empty()) continue;
    const auto [part, key] = PartAndKey(degree);
    keys[part].push_back(key);
    const InputJson* object = &json;
    if (!part.empty()) {
      const auto found = json.find(part);
      if (found == json.end() || !found->is_object()) {
        return JsonErrorAt(path, absl::StrCat("the key \"", part, "\" is missing"));
      }
      object = &*found;
    }
    const auto found = object->find(key);
    if (found == object->end()) {
      return JsonErrorAt(part.empty() ? path : absl::StrCat(path, ".", part),
                         absl::StrCat("the key \"", key, "\" is missing"));
    }
    const std::optional<int64_t> number = ValueOf(degree, *found);
    if (!number.has_value()) {
      return JsonErrorAt(absl::StrCat(path, ".", Pointer(degree)),
                         absl::StrCat("found ", found->dump(), ", expected ",
                                      degree.is_boolean ? "true or false" : ValidValues(degree)));
    }
    degree.set(value, *number);
  }
  for (const auto& [part, known] : keys) {
    if (!part.empty()) keys[""].push_back(part);
  }
  for (const auto& [part, known] : keys) {
    for (const auto& [key, member] : (part.empty() ? json : json[part]).items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      return JsonErrorAt(part.empty() ? path : absl::StrCat(path, ".", part),
                         absl::StrCat("unknown key ", InputJson(key).dump()));
    }
  }
  return absl::OkStatus();
}

}  // namespace meshwright
