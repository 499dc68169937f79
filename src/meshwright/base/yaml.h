#ifndef MESHWRIGHT_BASE_YAML_H_
#define MESHWRIGHT_BASE_YAML_H_

#include <yaml-cpp/yaml.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace meshwright {

// Common to readers of YAML files: errors that carry file:line:column, and maps read through a
// table of their fields, so that unknown, repeated and missing keys are found in one place and
// errors can name the valid ones.
class YamlReader {
 public:
  explicit YamlReader(std::string_view file) : file_(file) {}

 protected:
  struct Field {
    std::string key;
    bool required = false;
    std::function<absl::Status(const YAML::Node&)> read;
  };

  // `read` gets the only document of `text`. Errors: not YAML; no document, and `needs` says what a
  // file needs; more than one, where `describes` says what one describes ("a model"). yaml-cpp
  // reports by exceptions, of which none leaves this.
  absl::Status ReadDocument(std::string_view text, std::string_view needs,
                            std::string_view describes,
                            const std::function<absl::Status(const YAML::Node&)>& read) const;
  // Every key of `node`; `what` names the map ("a link").
  absl::Status ReadMap(const YAML::Node& node, std::string_view what,
                       const std::vector<Field>& fields) const;
  // Text that is not empty, of `key`.
  absl::Status ReadText(const YAML::Node& node, std::string_view key, std::string* value) const;

  absl::Status ErrorAt(const YAML::Mark& mark, std::string_view message) const;
  absl::Status Error(const YAML::Node& node, std::string_view message) const {
    return ErrorAt(node.Mark(), message);
  }
  absl::Status UnknownKey(const YAML::Node& key, std::string_view what,
                          const std::vector<std::string>& valid) const;
  // For "found ...": a scalar in quotes, or what else it is.
  static std::string Quoted(const YAML::Node& node);

  const std::string& file() const { return file_; }

 private:
  std::string file_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_BASE_YAML_H_
