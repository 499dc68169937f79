#include "meshwright/base/yaml.h"

#include <algorithm>
#include <map>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {

absl::Status YamlReader::ReadDocument(
    std::string_view text, std::string_view needs, std::string_view describes,
    const std::function<absl::Status(const YAML::Node&)>& read) const {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.empty() || documents[0].IsNull()) {
      return ErrorAt(YAML::Mark::null_mark(), StrCat("the file is empty; it needs ", needs));
    }
    if (documents.size() > 1) {
      return Error(documents[1],
                   StrCat("a second document starts here; a file describes one ", describes));
    }
    return read(documents[0]);
  } catch (const YAML::Exception& e) {
    return ErrorAt(e.mark, StrCat("not valid YAML: ", e.msg));
  }
}

absl::Status YamlReader::ReadMap(const YAML::Node& node, std::string_view what,
                                 const std::vector<Field>& fields) const {
  std::vector<std::string> keys;
  keys.reserve(fields.size());
  for (const Field& field : fields) keys.push_back(field.key);
  if (!node.IsMap()) {
    return Error(node, StrCat("expected ", what, ", a map of ", absl::StrJoin(keys, ", "),
                              "; found ", Quoted(node)));
  }
  std::map<std::string, YAML::Mark> seen;
  for (const auto& entry : node) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.key == key; });
    if (field == fields.end()) return UnknownKey(entry.first, what, keys);
    const auto [first, is_new] = seen.try_emplace(key, entry.first.Mark());
    if (!is_new) {
      return Error(entry.first, StrCat("key \"", key, "\" stands here twice; the first is at ",
                                       first->second.line + 1, ":", first->second.column + 1));
    }
    MW_RETURN_IF_ERROR(field->read(entry.second));
  }
  for (const Field& field : fields) {
    if (field.required && seen.count(field.key) == 0) {
      return Error(node, StrCat(what, " needs the key \"", field.key, "\""));
    }
  }
  return absl::OkStatus();
}

absl::Status YamlReader::ReadText(const YAML::Node& node, std::string_view key,
                                  std::string* value) const {
  if (!node.IsScalar() || node.Scalar().empty()) {
    return Error(node, StrCat(key, ": expected text, found ", Quoted(node)));
  }
  *value = node.Scalar();
  return absl::OkStatus();
}

absl::Status YamlReader::ErrorAt(const YAML::Mark& mark, std::string_view message) const {
  // yaml-cpp counts from 0; a null mark (line -1) is an empty document.
  return absl::InvalidArgumentError(StrCat(file_, ":", std::max(mark.line, 0) + 1, ":",
                                           std::max(mark.column, 0) + 1, ": ", message));
}

absl::Status YamlReader::UnknownKey(const YAML::Node& key, std::string_view what,
                                    const std::vector<std::string>& valid) const {
  const std::string name = key.IsScalar() ? key.Scalar() : "";
  return Error(key, StrCat("unknown key ", Quoted(key), " in ", what, "; did you mean \"",
                           NearestName(name, valid), "\"? Valid are ", absl::StrJoin(valid, ", ")));
}

std::string YamlReader::Quoted(const YAML::Node& node) {
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  if (!node.IsScalar()) return "nothing";
  return StrCat("\"", absl::CHexEscape(node.Scalar().substr(0, 60)), "\"");
}

}  // namespace meshwright
