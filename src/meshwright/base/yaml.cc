#include "meshwright/base/yaml.h"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

// Where documents start: at their first nodes.
class DocumentStarts : public YAML::EventHandler {
 public:
  // Marks of the first `most` documents of `text`. A token that starts no node, as a stray comma,
  // ends a document and starts another that ends before it: YAML::LoadAll never returns.
  static std::vector<YAML::Mark> Find(const std::string& text, size_t most) {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    DocumentStarts starts;
    while (starts.marks_.size() < most && parser.HandleNextDocument(starts)) {
    }
    return std::move(starts.marks_);
  }

  void OnDocumentStart(const YAML::Mark&) override { inside_ = false; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { Add(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { Add(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    Add(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    Add(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    Add(mark);
  }
  void OnMapEnd() override {}

 private:
  void Add(const YAML::Mark& mark) {
    if (!inside_) marks_.push_back(mark);
    inside_ = true;
  }

  bool inside_ = false;
  std::vector<YAML::Mark> marks_;
};

// The character at `position` of `text`, in quotes.
std::string Found(std::string_view text, int position) {
  const auto at = static_cast<size_t>(position);
  if (at >= text.size()) return "the end of the file";
  return StrCat("'", absl::CHexEscape(absl::string_view(text.data() + at, 1)), "'");
}

}  // namespace

absl::Status YamlReader::ReadDocument(
    std::string_view text, std::string_view needs, std::string_view describes,
    const std::function<absl::Status(const YAML::Node&)>& read) const {
  try {
    const std::string copy(text);
    const std::vector<YAML::Mark> starts = DocumentStarts::Find(copy, 3);
    for (size_t i = 1; i < starts.size(); ++i) {
      if (starts[i].pos != starts[i - 1].pos) continue;
      return ErrorAt(starts[i], StrCat("not valid YAML: found ", Found(text, starts[i].pos),
                                       " where a value or the end of the file should be"));
    }
    const YAML::Node document = YAML::Load(copy);
    if (document.IsNull()) {
      return ErrorAt(YAML::Mark::null_mark(), StrCat("the file is empty; it needs ", needs));
    }
    if (starts.size() > 1) {
      return ErrorAt(starts[1],
                     StrCat("a second document starts here; a file describes one ", describes));
    }
    return read(document);
  } catch (const YAML::Exception& e) {
    return ErrorAt(e.mark, StrCat("not valid YAML: ", e.msg, "; a ", describes, " needs ", needs));
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
