#ifndef MESHWRIGHT_DEGREES_DEVICE_PARAMETERS_H_
#define MESHWRIGHT_DEGREES_DEVICE_PARAMETERS_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

// The performance of devices and frameworks in large training runs: the figures of the calibrated
// model that no data sheet has. Peaks, bandwidths and sizes are the cluster's
// (cluster/device_table.cc).

namespace meshwright::transformer {

struct DeviceParameters {
  std::string device;  // DeviceType::name
  // Fractions of the peak that large matmuls reach at the clock that the power limit
  // leaves, of 16-, 8- and 4-bit operands.
  double matmul_16 = 0.7, matmul_8 = 0.6, matmul_4 = 0.45;
  // A matmul with a side of this many elements reaches half of that.
  double half_side = 128;
  double attention = 0.5;  // of the 16-bit peak, flash attention of up to 8192 keys
  // ... of endlessly many, where kernels hide all else behind matmuls; 0: the same.
  double attention_long = 0;
  double memory = 0.8;           // of the memory bandwidth
  double kernel_seconds = 5e-6;  // between the ends of two kernels, beside their work
  // A GPU's share of its host: bytes a second of the link one way and of the host's memory, as
  // large copies reach them, and bytes of that memory.
  double host_link = 2e10, host_memory = 2e10, host_bytes = 1e11;
};

// How a framework runs the same mathematics.
struct FrameworkParameters {
  // As rows of degrees/framework.h refer to it: "megatron", "megatron-2021" (before flash
  // attention), "megatron-23.04" and "megatron-23.09" (with the first and the second flash
  // attention, before cuDNN's), "megatron-26.06" (which runs experts faster), "fsdp" (PyTorch's
  // FSDP).
  std::string framework;
  double attention = 1;           // flash attention's speed as a multiple of the device's
  double score_traffic = 0;       // passes of attention's scores through memory, forward; 0: flash
  double elementwise = 1;         // memory traffic as a multiple of fused kernels'
  double tensor_exposed = 0.6;    // fraction of tensor parallel communication not hidden
  double expert_exposed = 0.6;    // ... of expert parallel communication
  double expert_kernels = 1;      // launched for each expert in a grouped matmul
  double overlap_slowdown = 0.2;  // of computation while collectives run beside it
  double step_seconds = 0.02;     // a step's fixed work: data, logging, clipping
  // Bytes kept of each element that enters a matmul of 8 bits. Transformer Engine keeps it as it is
  // multiplied, and so that of a matmul of 4 bits in these; torchao keeps 16 and converts again.
  double kept_input = 2;
  // Framework's, and no parameter of a file.
  bool keeps_every_other_matmul = false;
  bool shards_working_weights = false;
  bool long_attention = false;  // its attention kernel reaches DeviceParameters::attention_long
};

// The state of training beside weights and activations, where frameworks leave it to their users;
// degrees/framework.h has what each does by itself. These are Megatron-LM's defaults.
struct StateOptions {
  double gradient_bytes = 4;  // of a parameter: 4, or 2 (--grad-reduce-in-bf16)
  double moment_bytes = 4;    // of each of Adam's two: 4, or 2 (--exp-avg-dtype bf16)
  // Bytes of a logit: 12 with loss and its gradient in f32; 4 where one kernel makes the gradient
  // in place (--cross-entropy-loss-fusion).
  double logit_bytes = 12;

  friend bool operator==(const StateOptions&, const StateOptions&) = default;
};

struct CostParameters {
  std::vector<DeviceParameters> devices;
  std::vector<FrameworkParameters> frameworks;
  std::set<std::string> fitted_runs;  // that they were fitted on, by key (runs_key.h)

  // Those of the device; of one that is not listed, the defaults above.
  DeviceParameters Device(std::string_view name) const;
  FrameworkParameters Framework(std::string_view name) const;
  bool Knows(std::string_view device) const;
};

// YAML: `devices` and `frameworks`, maps from names to maps from the fields above to numbers more
// than 0 (at most 1 for fractions of a peak); `fitted_runs`, a list of keys. Errors carry
// file:line:column.
absl::StatusOr<CostParameters> ParseCostParameters(std::string_view text, std::string_view file);

// Fitted to published runs; docs/accuracy-runs.md says how.
const CostParameters& BuiltinCostParameters();

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_DEVICE_PARAMETERS_H_
