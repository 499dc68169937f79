#include "meshwright/plan/trace/trace_writer.h"

#include <utility>

#include "meshwright/base/json_value.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

double Microseconds(double seconds) { return seconds * 1e6; }

// Processes and rows count from 0 here and from 1 in traces: Perfetto's 0 is the idle process, and
// its importer merges what has the id 0.
int32_t TraceId(int32_t number) { return number + 1; }

Json TrackMetadata(const char* what, int32_t process, int32_t row, Json args) {
  return {{"name", what},
          {"ph", "M"},
          {"pid", TraceId(process)},
          {"tid", TraceId(row)},
          {"args", std::move(args)}};
}

}  // namespace

Json Box(std::string name, std::string_view category, int32_t process, int32_t row, double start,
         double end) {
  return {{"name", std::move(name)},
          {"cat", category},
          {"ph", "X"},
          {"ts", Microseconds(start)},
          {"dur", Microseconds(end - start)},
          {"pid", TraceId(process)},
          {"tid", TraceId(row)}};
}

void TraceWriter::Name(int32_t process, const std::string& name,
                       std::span<const char* const> rows) {
  Add(TrackMetadata("process_name", process, 0, {{"name", name}}));
  Add(TrackMetadata("process_sort_index", process, 0, {{"sort_index", process}}));
  for (int32_t row = 0; row < static_cast<int32_t>(rows.size()); ++row) {
    Add(TrackMetadata("thread_name", process, row, {{"name", rows[row]}}));
    Add(TrackMetadata("thread_sort_index", process, row, {{"sort_index", row}}));
  }
}

void TraceWriter::Add(const Json& event) {
  StrAppend(&events_, events_.empty() ? "\n" : ",\n",
            event.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void TraceWriter::AddCounter(const char* name, int32_t process, double time, Json values) {
  Add({{"name", name},
       {"ph", "C"},
       {"ts", Microseconds(time)},
       {"pid", TraceId(process)},
       {"args", std::move(values)}});
}

void TraceWriter::AddFlow(const char* name, const FlowEnd& from, const FlowEnd& to) {
  const auto end = [&](const FlowEnd& one, const char* phase) {
    return Json{{"name", name},
                {"cat", "flow"},
                {"ph", phase},
                {"id", flows_},
                {"ts", Microseconds(one.time)},
                {"pid", TraceId(one.process)},
                {"tid", TraceId(one.row)}};
  };
  ++flows_;
  Add(end(from, "s"));
  Json finish = end(to, "f");
  finish["bp"] = "e";  // bound to the box around it, not to the next one
  Add(finish);
}

std::string TraceWriter::Write(Json rest) && {
  rest["displayTimeUnit"] = "ms";
  std::string json = rest.dump(-1, ' ', false, Json::error_handler_t::replace);
  json.pop_back();  // the closing brace
  return StrCat(json, ",\"traceEvents\":[", events_, "\n]}\n");
}

}  // namespace meshwright
