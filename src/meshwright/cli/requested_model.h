#ifndef MESHWRIGHT_CLI_REQUESTED_MODEL_H_
#define MESHWRIGHT_CLI_REQUESTED_MODEL_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/model/model.h"
#include "meshwright/plan/document/plan.h"

namespace meshwright {

// The model that `plan` was given: a built-in name, a file, a folder or "-". `description` becomes
// the text that it was read from, and a file is added to `inputs`.
absl::StatusOr<transformer::Model> ReadRequestedModel(const std::string& name,
                                                      std::string& description,
                                                      std::vector<InputFile>& inputs);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLI_REQUESTED_MODEL_H_
