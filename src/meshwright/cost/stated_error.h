#ifndef MESHWRIGHT_COST_STATED_ERROR_H_
#define MESHWRIGHT_COST_STATED_ERROR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "meshwright/base/words.h"
#include "meshwright/cluster/cluster.h"
#include "meshwright/hlo/graph.h"
#include "meshwright/sharding/rule.h"

// How far off a predicted step may be: what its time is spent on, and how far predictions of that
// were off where it was measured.

namespace meshwright {

// What a step's time is spent on, as far as predictions of it were measured by themselves.
enum class TimeClass : uint8_t {
  kMatmul,
  kConvolution,
  kGroupedConvolution,
  kAttention,
  kGroupedMatmul,  // of ragged-dot
  kLoop,           // elementwise operators, reductions, changes of layout, as they fuse
  kIndexed,        // gathers and scatters
  kOrdered,        // sorts, cumulative sums and products, windows, FFTs, random bits
  kCall,           // calls priced by the table of known targets or by the user's rules
  kUnknownCall,    // calls of which nothing is known but their bytes
  kCommunication,  // what collectives add to the kernels
  kLaunch,
  kModel,  // the step of a transformer from its sizes, as a whole
};
template <>
inline constexpr auto kWords<TimeClass> = std::to_array<std::string_view>(
    {"matmul", "convolution", "grouped convolution", "attention", "grouped matmul", "loop",
     "gather and scatter", "sort and scan", "call", "unknown call", "communication", "launch",
     "model"});
inline constexpr size_t kTimeClasses = kWords<TimeClass>.size();

// Seconds of a step by TimeClass.
using TimeByClass = std::array<double, kTimeClasses>;

TimeClass ClassOf(const Op& op, const Rule& rule);

struct ClassError {
  double error = 0;      // of the predicted seconds: measured is within +- this share of them
  bool measured = true;  // on a device of this type; else scaled from one that was
};
// As predicted by the cost model of that name on such devices; of kModel `ErrorOfModel` knows.
ClassError ErrorOf(TimeClass one, std::string_view cost_model, const DeviceType& device);

// The same of a step that is the sum of these: errors of different classes do not add up, as they
// have different causes.
double ErrorOfStep(const TimeByClass& seconds, std::string_view cost_model,
                   const DeviceType& device);

// Of a whole step of a model (kModel), predicted with parameters that were fitted on devices of
// this type or not.
ClassError ErrorOfModel(bool fitted);

// Of the part of peak memory that is neither parameters, optimizer state nor inputs, whose sizes
// are known: a share of it.
inline constexpr double kWorkingMemoryError = 0.2;
// Of the peak memory of a model, from its sizes: 34 published peaks, of which 29 are within it.
inline constexpr double kModelMemoryError = 0.3;

}  // namespace meshwright

#endif  // MESHWRIGHT_COST_STATED_ERROR_H_
