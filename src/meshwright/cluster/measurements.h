#ifndef MESHWRIGHT_CLUSTER_MEASUREMENTS_H_
#define MESHWRIGHT_CLUSTER_MEASUREMENTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cluster/calibration.h"
#include "meshwright/cluster/cluster.h"

namespace meshwright {

// One row of a file of measurements, "op,group,bytes_or_flops,dtype,usec":
//   all_reduce, all_gather, reduce_scatter, all_to_all, send_recv   collectives over `group`
//   devices;
//                          bytes of the full buffer as in collective.h
//   gemm_MxNxK             one matmul; operations
//   copy, gelu, add, ...   memory-bound kernels; bytes read and written
//   transpose_*            kernels that change the order of dimensions; bytes read and written
//   kernel_start           a kernel that does nothing, in a stream of such
//   overlap_*              what a collective adds to kernels that run at the same time; its bytes
//   step_host              a program that does nothing, started and waited for by the host, on
//                          `group` devices; arrays that it takes and returns (0: 200)
struct Measurement {
  std::string op;
  int64_t group = 1;
  double amount = 0;  // bytes, operations or arrays
  std::string type;   // element type as frameworks spell it: "bf16", "bfloat16", "float32"
  double seconds = 0;
  int line = 0;
};

// Lines that start with `#` are skipped. Errors carry file:line:column.
absl::StatusOr<std::vector<Measurement>> ParseMeasurements(std::string_view text,
                                                           std::string_view file);

// Fits the curves of `device`'s calibration. Where rows named kernel_start are there, times are
// taken to be from inside of programs; else short kernels are taken to wait for the host and left
// out. So are, with a warning each, operations that are faster than the device can be. Errors: no
// matmuls, no memory-bound kernels, or no collectives among the measurements.
absl::StatusOr<Calibration> Calibrate(const std::vector<Measurement>& measurements,
                                      const DeviceType& device, std::string_view source,
                                      std::vector<std::string>* warnings);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLUSTER_MEASUREMENTS_H_
