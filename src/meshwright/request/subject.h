#ifndef MESHWRIGHT_REQUEST_SUBJECT_H_
#define MESHWRIGHT_REQUEST_SUBJECT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/model/model.h"
#include "meshwright/plan/document/plan.h"

namespace meshwright {

// What is to be planned: a program or a model.
struct Subject {
  std::string name;  // a path, "-" for standard input, or a model that is known by name
  // What a file would hold; then `name` is only what it is called.
  std::optional<std::string_view> contents = std::nullopt;
};

// Whether `subject` is a model: one known by name, a folder with a config.json, YAML, or what
// begins as a JSON object. What cannot be looked at, such as a pipe, is one if `asked`, that is if
// it is asked what only models are. Error: it is neither a file nor known by name (not found); the
// message has the nearest name.
absl::StatusOr<bool> IsModel(const Subject& subject, bool asked);

// Reads the model. `description` becomes the text that it was read from, and a file is added to
// `inputs`.
absl::StatusOr<transformer::Model> ReadModel(const Subject& subject, std::string& description,
                                             std::vector<InputFile>& inputs);

}  // namespace meshwright

#endif  // MESHWRIGHT_REQUEST_SUBJECT_H_
