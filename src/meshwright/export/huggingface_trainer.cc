#include "meshwright/export/huggingface_trainer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/strings.h"
#include "meshwright/export/node_launcher.h"
#include "meshwright/export/quoting.h"

namespace meshwright {
namespace {

bool IsCausalText(const transformer::Model& model) {
  if (model.stacks.size() != 1 || model.embedding.vocabulary == 0) return false;
  const std::vector<transformer::Layer>& kinds = model.stacks[0].kinds;
  return model.head.every_token &&
         std::all_of(kinds.begin(), kinds.end(),
                     [](const transformer::Layer& layer) { return layer.attention.causal; });
}

constexpr const char* kDataAndModel = R"(

class Sequences(torch.utils.data.Dataset):
    """Sequences of a token more than the model sees: the targets are one token on.

    The data are token numbers in a row, as numpy.save writes an array of one dimension;
    "mock" makes them up.
    """

    def __init__(self, path, steps):
        self.tokens = None if path == "mock" else numpy.load(path, mmap_mode="r")
        self.count = GLOBAL_BATCH * steps
        if self.tokens is not None and len(self.tokens) <= SEQUENCE:
            raise SystemExit(f"{path} has {len(self.tokens)} tokens, a sequence has {SEQUENCE}")

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.tokens is None:
            generator = torch.Generator().manual_seed(index)
            return torch.randint(VOCABULARY, (SEQUENCE + 1,), generator=generator)
        start = index * SEQUENCE % (len(self.tokens) - SEQUENCE)
        return torch.from_numpy(self.tokens[start : start + SEQUENCE + 1].astype("int64"))


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-path", required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--learning-rate", type=float, required=True)
    parser.add_argument("--checkpoint")
    return parser.parse_args()


def cosine(step, steps):
    """The share of the learning rate: up over the first hundredth, then down to a tenth."""
    warmup = max(1, steps // 100)
    if step < warmup:
        return (step + 1) / warmup
    return 0.55 + 0.45 * math.cos(math.pi * (step - warmup) / max(1, steps - warmup))


def loss_of(logits, targets):
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())
)";

}  // namespace

bool IsTrainable(const ModelLaunch& launch) {
  return launch.is_huggingface && IsCausalText(launch.model);
}

absl::Status CheckTrainable(const ModelLaunch& launch, const ExportOptions& options) {
  if (!options.script.empty()) return absl::OkStatus();
  if (!launch.is_huggingface) {
    return absl::InvalidArgumentError(
        absl::StrCat(launch.model.name,
                     " was given in the short form, of which transformers makes no model; "
                     "name your own training program with --script"));
  }
  if (!IsCausalText(launch.model)) {
    return absl::InvalidArgumentError(
        absl::StrCat(launch.model.name,
                     " is no causal language model, which is what the program "
                     "that export writes trains; name your own with --script"));
  }
  return absl::OkStatus();
}

std::string HuggingFaceConfig(const ModelLaunch& launch) {
  // Read once already, so this parses.
  return absl::StrCat(Json::parse(launch.description).dump(2), "\n");
}

std::string HuggingFaceCommon(const ModelLaunch& launch) {
  return absl::StrCat("\nSEQUENCE = ", launch.workload.sequence,
                      "\nGLOBAL_BATCH = ", launch.workload.global_batch,
                      "\nMICRO_BATCH = ", launch.configuration.micro_batch,
                      "\nMICRO_BATCHES = ", launch.MicroBatches(launch.configuration),
                      "\nVOCABULARY = ", launch.model.embedding.vocabulary, "\n", kDataAndModel);
}

std::string TrainerSetup(const ExportOptions& options) {
  if (!options.script.empty()) {
    return absl::StrCat("script=", ShellWord(options.script),
                        "\n[ -f \"$script\" ] || fail \"there is no $script\"\narguments=()\n");
  }
  std::string text = absl::StrCat(
      TrainingLength(options),
      RequiredVariable("data_path", options.data_path, "DATA_PATH",
                       "set it to a .npy file of token numbers, or export with --data-path; mock "
                       "makes data up"),
      "arguments=(--data-path \"$data_path\" --steps \"$steps\" --learning-rate "
      "\"$learning_rate\"");
  if (!options.checkpoint.empty()) {
    absl::StrAppend(&text, " --checkpoint ", ShellWord(options.checkpoint));
  }
  return absl::StrCat(text, ")\n");
}

std::string TrainerCommand(const ExportOptions& options) {
  return options.script.empty() ? "train.py" : "\"$script\"";
}

}  // namespace meshwright
