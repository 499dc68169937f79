#include "meshwright/plan/document/degrees_json.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "meshwright/degrees/degree_table.h"

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

std::optional<int64_t> ValueOf(const Degree& degree, const JsonValue& json) {
  if (degree.is_boolean) {
    return json.IsBoolean() ? std::optional<int64_t>(json.Boolean()) : std::nullopt;
  }
  const bool fits = degree.words.empty() ? json.IsUnsigned() : json.IsText();
  if (!fits) return std::nullopt;
  return ParseValue(degree, json.IsText() ? json.Text() : std::to_string(json.Unsigned()));
}

}  // namespace

Json JsonForm<Configuration>::Write(const Configuration& configuration) {
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

void JsonForm<Configuration>::Read(const JsonValue& json, Configuration& configuration,
                                   MemberForm) {
  std::map<std::string, std::vector<std::string>> keys;  // by part
  for (const Degree& degree : transformer::DegreeTable()) {
    if (degree.name.empty()) continue;
    const auto [part, key] = PartAndKey(degree);
    if (!part.empty() && keys[part].empty()) keys[""].push_back(part);
    keys[part].push_back(key);
    const JsonValue member = (part.empty() ? json : json.At(part.c_str())).At(key.c_str());
    if (!member.ok()) return;
    const std::optional<int64_t> value = ValueOf(degree, member);
    if (!value.has_value())
      return member.FailWanting(degree.is_boolean ? "true or false" : ValidValues(degree));
    degree.set(configuration, *value);
  }
  for (const auto& [part, names] : keys) {
    std::vector<const char*> known;
    for (const std::string& name : names) known.push_back(name.c_str());
    (part.empty() ? json : json.At(part.c_str())).CheckKeys(known);
  }
}

}  // namespace meshwright
