#ifndef MESHWRIGHT_EXPORT_HUGGINGFACE_TRAINER_H_
#define MESHWRIGHT_EXPORT_HUGGINGFACE_TRAINER_H_

#include <string>

#include "absl/status/status.h"
#include "meshwright/export/export_options.h"
#include "meshwright/export/model_launch.h"

// What the launches for DeepSpeed and Accelerate have in common: a training program for a causal
// language model of Hugging Face's transformers, unless the user has one of their own (--script).

namespace meshwright {

// Whether transformers trains the model as a causal language model.
bool IsTrainable(const ModelLaunch& launch);
// An error if there is no script and it does not.
absl::Status CheckTrainable(const ModelLaunch& launch, const ExportOptions& options);

// The model's config.json, for transformers.
std::string HuggingFaceConfig(const ModelLaunch& launch);

// Python: arguments, data and the model, before the loop that differs.
std::string HuggingFaceCommon(const ModelLaunch& launch);

// Lines of launch.sh that make the array `arguments` and, of the user's own script, `script`.
std::string TrainerSetup(const ExportOptions& options);

// The program to start: "train.py", or the user's.
std::string TrainerCommand(const ExportOptions& options);

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_HUGGINGFACE_TRAINER_H_
