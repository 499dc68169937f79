#ifndef MESHWRIGHT_INTER_STAGES_LAYER_COSTS_H_
#define MESHWRIGHT_INTER_STAGES_LAYER_COSTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/cost/cost_model.h"
#include "meshwright/inter/slice/slice.h"
#include "meshwright/intra/planner.h"
#include "meshwright/sharding/sharding.h"

// What layers cost on a mesh. layer_costs.cc says how they are planned.

namespace meshwright {

// A variant of a slice of a program on a mesh. Bytes are on one device.
struct SliceCost {
  // Seconds of one micro-batch.
  double forward = 0, backward = 0;
  double weight_gradient = 0;    // of `backward`, what no other layer waits for
  double update = 0;             // seconds once a step: reducing sums over micro-batches, optimizer
  int64_t state_bytes = 0;       // weights, optimizer state, sums over micro-batches
  int64_t in_flight_bytes = 0;   // kept from the forward to the backward phase, inputs included
  int64_t input_bytes = 0;       // of that, what comes from other layers and the data
  int64_t working_bytes = 0;     // what else is in use at most
  int64_t activation_bytes = 0;  // leaves in the forward phase
  int64_t gradient_bytes = 0;    // leaves in the backward phase

  double seconds(int64_t micro_batches) const {
    return forward + backward + update / static_cast<double>(micro_batches);
  }
};

// Reads the cost of `plan`, a plan of `slice`.graph in which ops of the update phase have
// multiplicity 1/micro_batches (see ScaleUpdate).
SliceCost CostOfSlice(const ProgramSlice& slice, const IntraPlan& plan, int64_t micro_batches);

// The phase that a collective of a plan of `slice` is a part of.
inline Phase PhaseOfCollective(const ProgramSlice& slice, const PlannedCollective& collective) {
  return slice.phase[collective.user.index()];
}

// Lets the update phase of `slice` run once in `micro_batches` runs of the rest.
void ScaleUpdate(ProgramSlice* slice, int64_t micro_batches);

// How the values between layers are laid over a mesh.
struct BorderLayout {
  AxisList batch;  // axes along the batch dimension
  // The value with the most bytes between layers: its shape and sharding. Values of the same shape
  // are laid out like it, others by their batch dimension alone.
  std::vector<int64_t> dims;
  int32_t batch_dimension = -1;
  Sharding sharding;

  friend bool operator==(const BorderLayout&, const BorderLayout&) = default;
};

// What a kind of layer is planned from.
struct LayerKind {
  ProgramSlice slice;  // all phases of one layer of the kind, update scaled
  // If layers of this kind follow each other: (output, input) of `slice` for each value that goes
  // from one to the next, in either direction.
  std::vector<std::pair<int32_t, int32_t>> repeats;
  int32_t layers = 0;  // of the kind
  double flops = 0;    // of all of them
};

// The same kinds by SliceRequest::sum_parts, 1 among them.
using KindsByParts = std::map<int64_t, std::vector<LayerKind>>;

// All kinds on one mesh.
struct MeshCosts {
  // By variant: how values between layers are laid out. variants[k][w] of all kinds k agree.
  std::vector<BorderLayout> layouts;
  std::vector<std::vector<SliceCost>> variants;  // by kind, by variant; forward < 0: impossible
  // The same with collectives overlapped (overlapped.h).
  std::vector<std::vector<SliceCost>> overlapped;
  // By kind: seconds of the forward and backward phases that no variant with any borders undercuts.
  std::vector<double> bound;
  std::vector<double> multipliers;  // by variant: Lagrange multiplier of memory, seconds a byte
  std::vector<int64_t> sum_parts;   // by variant: see SliceRequest
};

// `options` as layers are planned with them: on one thread, not tied by position, near the optimum.
PlannerOptions LayerPlannerOptions(PlannerOptions options);

// Whether layers are worth planning that take no less than `bounds`, by kind, of which only the
// leading kind's is known and the others are 0.
using Worth = std::function<bool(const std::vector<double>& bounds)>;

// Plans every kind on the cost model's mesh, once without regard to memory and, if not all layers
// together fit into `memory_bytes` a device like that, at several multipliers of memory. Sums over
// the batch are whole, and again in as many parts as some of the mesh's axes have devices, where
// the leading kind then has its samples along as many. Where `worth` says no, the bounds that it
// was asked with are all that there is, and no variants. An error if the leading kind cannot be
// planned.
absl::StatusOr<MeshCosts> CostLayers(const KindsByParts& kinds, const CostModel& cost_model,
                                     int64_t micro_batches, int64_t memory_bytes,
                                     const PlannerOptions& options, const Worth& worth);

// By kind: seconds of the forward and backward phases that no plan undercuts.
absl::StatusOr<std::vector<double>> LayerBounds(const std::vector<LayerKind>& kinds,
                                                const CostModel& cost_model,
                                                const PlannerOptions& options);

// Options by which a plan of `slice` keeps to `layout` where values cross: adds to `options`.
void GiveBorders(const ProgramSlice& slice, const BorderLayout& layout, const Mesh& mesh,
                 PlannerOptions* options);

// The op of `slice` that runs when the most is kept from the forward for the backward phase.
OpId TurnOf(const ProgramSlice& slice);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_STAGES_LAYER_COSTS_H_
