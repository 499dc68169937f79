#ifndef MESHWRIGHT_PLAN_TRACE_TRACE_WRITER_H_
#define MESHWRIGHT_PLAN_TRACE_TRACE_WRITER_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// Traces in the Trace Event Format ("JSON Object Format"), which Perfetto and chrome://tracing
// show: processes (`pid`) with rows (`tid`) of boxes, counters, and arrows between boxes. Times are
// in seconds here and in microseconds in the trace.

#include "meshwright/base/json_value.h"
namespace meshwright {

// A box ("complete event"); further keys may be added, "args" above all.
Json Box(std::string name, std::string_view category, int32_t process, int32_t row, double start,
         double end);

// A point of a box that an arrow leaves or reaches.
struct FlowEnd {
  int32_t process = 0, row = 0;
  double time = 0;
};

// Events become text one by one: all of them as JSON values take many times the memory.
class TraceWriter {
 public:
  // Names a process and its rows, which are shown in this order.
  void Name(int32_t process, const std::string& name, std::span<const char* const> rows);
  void Add(const Json& event);
  // From `time` on the counter `name` has `values`: an object of numbers, shown stacked.
  void AddCounter(const char* name, int32_t process, double time, Json values);

  // An arrow from the box around one point to the box around another.
  void AddFlow(const char* name, const FlowEnd& from, const FlowEnd& to);

  // The trace. `rest`: further members of its object.
  std::string Write(Json rest) &&;

 private:
  std::string events_;
  int64_t flows_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_TRACE_TRACE_WRITER_H_
