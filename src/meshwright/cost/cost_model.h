#ifndef MESHWRIGHT_COST_COST_MODEL_H_
#define MESHWRIGHT_COST_COST_MODEL_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "meshwright/hlo/graph.h"
#include "meshwright/sharding/reshard.h"
#include "meshwright/sharding/rule.h"
#include "meshwright/sharding/sharding.h"

namespace meshwright {

// What one device does for one execution of one operator under one strategy.
struct Work {
  Opcode opcode = Opcode::kAdd;
  KernelClass kernel = KernelClass::kLoop;  // what reaches which share of the peak, of calls
  ElementType element_type =
      ElementType::kF32;  // of the operands of a contraction, else of the result
  double flops = 0;       // multiplications + additions on this device
  double bytes = 0;       // read from and written to device memory (fused values do not count)
  double copy_bytes = 0;  // read and written by kernels that rearrange operands beforehand
  double copies = 0;      // such kernels
  // Contractions and calls like them: the device's share as a (batched) matmul; 0
  // otherwise.
  int64_t m = 0, n = 0, k = 0, batch = 0;
  // Of products that no tensor core computes: the share of the rate of plain units that they reach
  // (kernel_rates.h); 0: tensor cores do.
  double plain_share = 0;
  // Of convolutions: places of the window that a kernel goes through one after another for its
  // results; 0 where the library has several blocks share them.
  double window = 0;
  // Kernels the operator starts: FusionInfo::kernel, 0 for one that runs inside another's kernel.
  // An operator without flops and bytes never counts as one.
  double kernels = 1;
  // Whether it runs in a loop, whose kernels are recorded once and not by the host each time.
  bool in_loop = false;
};

// How kernels and collectives that run at the same time get on.
struct Overlap {
  double cost = 0;  // what a second of a hidden collective costs
  // Of a step besides both: launch overhead, and more of it for each array that the step takes or
  // returns on each device of a process.
  double step_seconds = 0, array_seconds = 0;

  // Of a step of this program on the cluster's devices, one process a node.
  double LaunchSeconds(const Graph& graph, const Cluster& cluster) const {
    const auto arrays = static_cast<double>(graph.parameters.size() + graph.outputs.size());
    return step_seconds + array_seconds * arrays * static_cast<double>(cluster.devices_per_node);
  }
};

// Prices. One object serves one mesh. Implementations must be safe to call from several threads.
class CostModel {
 public:
  explicit CostModel(const Mesh& mesh) : mesh_(mesh) {}
  virtual ~CostModel() = default;
  const Mesh& mesh() const { return mesh_; }

  virtual std::string name() const = 0;  // "roofline", "alpha_beta", ...
  // Whether costs are seconds (else they are the unitless numbers of a published model).
  virtual bool in_seconds() const { return true; }

  virtual double ComputeSeconds(const Work& work) const = 0;
  virtual double CollectiveSeconds(CollectiveKind kind, const AxisList& axes,
                                   int64_t bytes) const = 0;
  // nullopt: a step is the serial sum of its parts.
  virtual std::optional<Overlap> overlap() const { return std::nullopt; }
  // Time to read and write `bytes` in all while changing the order of dimensions in memory, as XLA
  // does around collectives that work along an inner dimension (Resharding::copy_bytes).
  virtual double RearrangeSeconds(int64_t bytes) const { return 0; }
  // What it costs by itself to choose `sharding` for an entry parameter (Alpa's 2 for replicated
  // ones).
  virtual double ParameterSeconds(const Shape& shape, const Sharding& sharding) const { return 0; }
  // Default: PlanResharding with CollectiveSeconds.
  virtual Resharding Reshard(const Shape& shape, const Sharding& from, const Sharding& to) const;
  // Reshard's seconds to each of `to`, infinite where it is not possible. Default: PlanReshardings.
  virtual std::vector<double> ReshardSeconds(const Shape& shape, const Sharding& from,
                                             std::span<const Sharding> to) const;

 private:
  Mesh mesh_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_COST_MODEL_H_
