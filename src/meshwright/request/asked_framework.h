#ifndef MESHWRIGHT_REQUEST_ASKED_FRAMEWORK_H_
#define MESHWRIGHT_REQUEST_ASKED_FRAMEWORK_H_

#include "absl/status/statusor.h"
#include "meshwright/degrees/framework.h"
#include "meshwright/model/model.h"
#include "meshwright/request/plan_options.h"

namespace meshwright {

// The framework that `asked` names, or that --for implies, else the table's first; with the state
// and attention that the user gave in place of its own. `model` loses the modules that it does not
// train. Errors name the option at fault.
absl::StatusOr<transformer::ChosenFramework> AskedFramework(const AskedOptions& asked,
                                                            transformer::Model& model);

// The reverse: sets the options of `asked` that differ from what the framework has by itself.
void AskFramework(const transformer::ChosenFramework& framework, const transformer::Model& model,
                  AskedOptions& asked);

}  // namespace meshwright

#endif  // MESHWRIGHT_REQUEST_ASKED_FRAMEWORK_H_
