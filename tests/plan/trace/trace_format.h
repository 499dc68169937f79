#ifndef MESHWRIGHT_TESTS_PLAN_TRACE_TRACE_FORMAT_H_
#define MESHWRIGHT_TESTS_PLAN_TRACE_TRACE_FORMAT_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace meshwright {

// What is wrong with `text` as a trace in the Trace Event Format (the "JSON Object Format" of
// Google's document of that name), as far as the format and its viewers ask for it: an object with
// traceEvents; every event with a phase that we write (X, C, M, s, f) and what that phase needs;
// names of processes and threads for all that are used, and their order, both numbered from 1 (0 is
// special to Perfetto); arrows that begin and end once, in boxes; boxes of one row nested or side
// by side, never half over each other, which viewers drop; counters with finite numbers from 0 up.
// Empty: it is one.
inline std::vector<std::string> TraceFaults(const std::string& text) {
  using Json = nlohmann::json;
  std::vector<std::string> faults;
  const Json trace = Json::parse(text, nullptr, false);
  if (!trace.is_object() || !trace.contains("traceEvents") || !trace["traceEvents"].is_array()) {
    return {"no object with a list traceEvents"};
  }
  using Row = std::pair<int64_t, int64_t>;
  std::map<Row, std::vector<std::pair<double, double>>> boxes;
  std::set<Row> used_rows, named_rows;
  std::set<int64_t> used_processes, named_processes;
  struct Arrow {
    int begins = 0, ends = 0;
  };
  std::map<int64_t, Arrow> arrows;
  std::vector<std::pair<Row, double>> arrow_points;
  size_t number = 0;
  for (const Json& event : trace["traceEvents"]) {
    const std::string at = absl::StrCat("event ", number++, " ", event.dump());
    const auto require = [&](bool holds, const char* what) {
      if (!holds) faults.push_back(absl::StrCat(what, ": ", at));
      return holds;
    };
    const auto is_time = [&](const char* key) {
      return event.contains(key) && event[key].is_number() &&
             std::isfinite(event[key].get<double>()) && event[key].get<double>() >= 0;
    };
    const auto has_args = event.contains("args") && event["args"].is_object();
    if (!require(event.is_object() && event.contains("ph") && event["ph"].is_string(), "no phase"))
      continue;
    if (!require(event.contains("name") && event["name"].is_string(), "no name")) continue;
    if (!require(event.contains("pid") && event["pid"].is_number_integer(), "no process")) continue;
    const int64_t process = event["pid"];
    require(process >= 1 && (!event.contains("tid") || event["tid"].get<int64_t>() >= 1), "id 0");
    const std::string phase = event["ph"];
    if (phase == "X") {
      if (!require(event.contains("tid") && event["tid"].is_number_integer(), "no thread") ||
          !require(is_time("ts") && is_time("dur"), "no time"))
        continue;
      require(event.contains("cat") && event["cat"].is_string(), "no category");
      const Row row = {process, event["tid"]};
      used_rows.insert(row);
      used_processes.insert(process);
      const double start = event["ts"];
      boxes[row].emplace_back(start, start + event["dur"].get<double>());
    } else if (phase == "C") {
      require(is_time("ts"), "no time");
      used_processes.insert(process);
      if (!require(has_args && !event["args"].empty(), "no values")) continue;
      for (const auto& [key, value] : event["args"].items()) {
        require(value.is_number() && value.get<double>() >= 0, "no count");
      }
    } else if (phase == "s" || phase == "f") {
      if (!require(is_time("ts") && event.contains("id") && event.contains("tid"), "no arrow"))
        continue;
      Arrow& arrow = arrows[event["id"]];
      ++(phase == "s" ? arrow.begins : arrow.ends);
      arrow_points.push_back({{process, event["tid"]}, event["ts"]});
    } else if (phase == "M" && event["name"].get<std::string>().ends_with("_sort_index")) {
      require(has_args && event["args"]["sort_index"].is_number_integer(), "no order");
    } else if (phase == "M") {
      if (!require(has_args && event["args"].contains("name") && event["args"]["name"].is_string(),
                   "names nothing"))
        continue;
      if (event["name"] == "process_name") {
        require(named_processes.insert(process).second, "named twice");
      } else if (require(event["name"] == "thread_name" && event.contains("tid"),
                         "unknown metadata")) {
        require(named_rows.insert({process, event["tid"]}).second, "named twice");
      }
    } else {
      require(false, "unknown phase");
    }
  }
  for (const auto& [id, arrow] : arrows) {
    if (arrow.begins != 1 || arrow.ends != 1) faults.push_back(absl::StrCat("half an arrow: ", id));
  }
  for (const auto& [row, time] : arrow_points) {
    const auto around = [time](const std::pair<double, double>& box) {
      return box.first <= time + 1e-3 && time <= box.second + 1e-3;
    };
    if (std::none_of(boxes[row].begin(), boxes[row].end(), around))
      faults.push_back(absl::StrCat("an arrow at no box: ", row.first, ".", row.second));
  }
  for (const int64_t process : used_processes) {
    if (!named_processes.contains(process)) {
      faults.push_back(absl::StrCat("process ", process, " has no name"));
    }
  }
  for (const Row& row : used_rows) {
    if (!named_rows.contains(row)) {
      faults.push_back(absl::StrCat("thread ", row.first, ".", row.second, " has no name"));
    }
  }
  // Times were rounded when they became microseconds.
  constexpr double kSlack = 1e-3;
  for (auto& [row, list] : boxes) {
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first, -a.second) < std::pair(b.first, -b.second);
    });
    std::vector<double> open;  // ends of the boxes around
    for (const auto& [start, end] : list) {
      while (!open.empty() && open.back() <= start + kSlack) open.pop_back();
      if (!open.empty() && end > open.back() + kSlack) {
        faults.push_back(absl::StrCat("half over another: ", row.first, ".", row.second, " from ",
                                      start, " to ", end));
      }
      open.push_back(end);
    }
  }
  return faults;
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_PLAN_TRACE_TRACE_FORMAT_H_
