#ifndef MESHWRIGHT_PROFILE_CHOICE_H_
#define MESHWRIGHT_PROFILE_CHOICE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/base/words.h"
#include "meshwright/cluster/mesh.h"

// What there is to choose for a segment of a network, and what was measured of a choice. These are
// the values that profiling, the database and the search over segments exchange.

namespace meshwright {

// One way to run a distinct segment: forward, backward and, where the program has one, the update
// of its weights, once. Everything that this leaves open (how weights are kept, what lies between
// blocks) is planned at least cost.
struct SegmentChoice {
  // By block of the segment, in order: an index into ParallelBlock::strategies of that block in any
  // of the segment's occurrences (blocks of one kind have the same strategies in the same order).
  std::vector<int32_t> strategies;
  // How the values that cross the borders are laid out, as sharding of the widest of them:
  // "[x,_,_]". The others follow from it (BorderLayout of inter/stages/layer_costs.h), and
  // gradients are laid out like what they are the gradients of. Empty: nothing crosses there (the
  // ends of a network).
  std::string entry, exit;

  // Canonical text, equal for equal choices of equal segments:
  // "[x,_,_] > m=x | k=x > [_,_,_]". `texts`: by block, of its chosen strategy (SegmentSpace).
  static std::string Key(const std::string& entry, const std::vector<std::string>& texts,
                         const std::string& exit);
  friend bool operator==(const SegmentChoice&, const SegmentChoice&) = default;
};

// What the cost model makes of a choice. Bytes are on one device.
struct PredictedChoice {
  SegmentChoice choice;
  std::string key;       // SegmentChoice::Key
  double seconds = 0;    // of one execution, collectives overlapped where the model has that
  double objective = 0;  // the same without overlap: what planning minimises
  // Parts of the objective; the rest is the update of the weights.
  double forward = 0, backward = 0;
  bool cuts_batch = false;    // along some axis, at a border
  int64_t state_bytes = 0;    // weights, optimizer state
  int64_t kept_bytes = 0;     // from the forward to the backward phase, inputs included
  int64_t working_bytes = 0;  // what else is in use at most
  int64_t peak_bytes() const { return state_bytes + kept_bytes + working_bytes; }
};

enum class MeasurementStatus : uint8_t {
  kMeasured,
  kOutOfMemory,  // compiled or ran into the device's memory
  kFailed,       // the compiler or the device refused it: see `error`
  kTimedOut,     // compiling or running took longer than allowed: see `limit_seconds`
};
template <>
inline constexpr auto kWords<MeasurementStatus> =
    std::to_array<std::string_view>({"measured", "out of memory", "failed", "timed out"});

// All executions of one kind of collective in a compiled program.
struct MeasuredCollective {
  std::string kind;   // "all-reduce", ...
  int64_t count = 0;  // executions
  int64_t bytes = 0;  // of the full buffers, all executions together
  friend bool operator==(const MeasuredCollective&, const MeasuredCollective&) = default;
};

// What a worker found out about one program under one choice. Of others than kMeasured only
// `status`, `error`, `compile_seconds` and `limit_seconds` mean something.
struct ProfileMeasurement {
  MeasurementStatus status = MeasurementStatus::kMeasured;
  std::string error;  // one line
  // Seconds of one execution each, means of several in a row, in the order of measuring.
  std::vector<double> sample_seconds;
  int32_t samples = 0;       // how many
  double seconds = 0;        // median of the samples
  double spread = 0;         // seconds between the first and the third quartile of the samples
  double least_seconds = 0;  // of the fastest sample
  int64_t peak_bytes = 0;    // on one device: arguments, results and temporaries
  std::vector<MeasuredCollective> collectives;  // of the compiled program, by kind
  double compile_seconds = 0;
  double limit_seconds = 0;  // that it was given, if it timed out
  friend bool operator==(const ProfileMeasurement&, const ProfileMeasurement&) = default;
};

// Where something was measured. Measurements of different environments never mix.
struct ProfileEnvironment {
  std::string device;     // as the worker's platform calls it: "NVIDIA H100 80GB HBM3", "cpu"
  std::string driver;     // "cuda 12080", empty on a CPU
  std::string libraries;  // "jax 0.11.0, jaxlib 0.11.0"
  // Type of the devices, as clusters call it: "h100-sxm". What is planned for another type is
  // refused; host devices stand for the type that was profiled for.
  std::string device_type;
  int32_t hosts = 1;
  friend bool operator==(const ProfileEnvironment&, const ProfileEnvironment&) = default;
};

// What was measured: with the environment the key of a measurement in a database.
struct ProfileKey {
  // A segment's name is 64 hexadecimal digits, of its program (operators, types, shapes, attributes
  // and data flow; no names). A resharding's is "reshard bf16[32,1024,2048]", a whole step's
  // StepProgram.
  std::string program;
  std::string mesh;  // "x=2,y=2"
  // PredictedChoice::key; of a resharding "[x,_,_] > [_,_,_]"; of a whole step StepChoice::plan.
  std::string choice;
  friend bool operator==(const ProfileKey&, const ProfileKey&) = default;
};

// "x=2,y=2", as in ProfileKey::mesh.
std::string ProfileMeshText(const Mesh& mesh);
// The same of a mesh as users write it, "4" or "2x2". Errors: see ParseMesh.
absl::StatusOr<std::string> ProfileMeshText(std::string_view spec);
// ProfileKey::program and ::choice of moving an array of `shape`, "bf16[32,1024,2048]", from one
// sharding to another, once.
ProfileKey ReshardingKey(const std::string& shape, const Mesh& mesh, const std::string& from,
                         const std::string& to);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_CHOICE_H_
