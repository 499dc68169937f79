#include "meshwright/published/runs/key.h"

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

namespace meshwright::transformer {
namespace {

// Sizes of models are left out: they follow from its name, and not all tables have them.
constexpr const char* kKeyColumns[] = {"source",
                                       "model",
                                       "seq",
                                       "gpu",
                                       "n_gpus",
                                       "tp",
                                       "pp",
                                       "vpp",
                                       "cp",
                                       "ep",
                                       "etp",
                                       "mbs",
                                       "gbs",
                                       "dtype",
                                       "recompute",
                                       "zero",
                                       "fsdp_shard",
                                       "iteration_time_s",
                                       "tokens_per_s_per_gpu",
                                       "tflops_per_gpu"};

// Numbers in one way of writing, words in lower case.
std::string Canonical(const std::string& text) {
  double number = 0;
  return absl::SimpleAtod(text, &number) ? absl::StrFormat("%.12g", number)
                                         : absl::AsciiStrToLower(text);
}

}  // namespace

std::string RunKey(const RowReader& row) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char* const column : kKeyColumns) {
    for (const char c : Canonical(row.Text(column)) + "\n") {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
  }
  return absl::StrFormat("%016x", hash);
}

}  // namespace meshwright::transformer
