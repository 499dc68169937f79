#include "meshwright/plan/trace/trace_writer.h"

#include <utility>

#include "meshwright/base/json_value.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

double Microseconds(double seconds) { return seconds * 1e6; }

Json NameEvent(const char* what, int32_t process, int32_t row, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", process}, {"tid", row}, {"args", {{"name", name}}}};
}

}  // namespace

Json Box(std::string name, std::string_view category, int32_t process, int32_t row, double start,
         double end) {
  return {{"name", std::move(name)},
          {"cat", category},
          {"ph", "X"},
          {"ts", Microseconds(start)},
          {"dur", Microseconds(end - start)},
          {"pid", process},
          {"tid", row}};
}

void TraceWriter::Name(int32_t process, const std::string& name,
                       std::span<const char* const> rows) {
  Add(NameEvent("process_name", process, 0, name));
  for (size_t row = 0; row < rows.size(); ++row) {
    Add(NameEvent("thread_name", process, static_cast<int32_t>(row), rows[row]));
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
       {"pid", process},
       {"args", std::move(values)}});
}

std::string TraceWriter::Write(Json rest) && {
  rest["displayTimeUnit"] = "ms";
  std::string json = rest.dump(-1, ' ', false, Json::error_handler_t::replace);
  json.pop_back();  // the closing brace
  return StrCat(json, ",\"traceEvents\":[", events_, "\n]}\n");
}

}  // namespace meshwright
