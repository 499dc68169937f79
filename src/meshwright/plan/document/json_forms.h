#ifndef MESHWRIGHT_PLAN_DOCUMENT_JSON_FORMS_H_
#define MESHWRIGHT_PLAN_DOCUMENT_JSON_FORMS_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "meshwright/base/json_members.h"
#include "meshwright/plan/document/program_part.h"

// Types of a plan whose JSON is not an object of their members.

namespace meshwright {

// {"axes": [...]}
template <>
struct JsonForm<std::vector<PlanAxis>> {
  static Json Write(const std::vector<PlanAxis>& mesh) {
    Json axes = Json::array();
    for (const PlanAxis& axis : mesh) axes.push_back(WriteJson(axis));
    return {{"axes", std::move(axes)}};
  }
  static void Read(const JsonValue& json, std::vector<PlanAxis>& mesh, MemberForm) {
    json.CheckKeys({"axes"});
    mesh.clear();
    for (const JsonValue& one : json.At("axes").Elements()) ReadJson(one, mesh.emplace_back());
  }
};

// An object with a member for each category.
template <>
struct JsonForm<MemoryByCategory> {
  static Json Write(const MemoryByCategory& memory) {
    Json json = Json::object();
    for (size_t c = 0; c < memory.size(); ++c) json[kWords<MemoryCategory>[c].data()] = memory[c];
    return json;
  }
  static void Read(const JsonValue& json, MemoryByCategory& memory, MemberForm) {
    JsonMembers members(json);
    for (size_t c = 0; c < memory.size(); ++c)
      members.Read(kWords<MemoryCategory>[c].data(), memory[c]);
    members.Finish();
  }
};

// [file, line]
template <>
struct JsonForm<PlanSource> {
  static Json Write(const PlanSource& source) { return {source.file, source.line}; }
  static void Read(const JsonValue& json, PlanSource& source, MemberForm) {
    const std::vector<JsonValue> numbers = json.Elements(2, "a file and a line");
    ReadJson(numbers[0], source.file);
    ReadJson(numbers[1], source.line);
  }
};

// A list for each member of the points: short, and tables of columns are what plots take.
template <>
struct JsonForm<PlanMemoryTimeline> {
  struct Columns {
    int64_t length = 0;
    std::vector<int64_t> time, instruction;
    std::vector<double> seconds;
    std::array<std::vector<int64_t>, kMemoryCategories> bytes;

    template <typename Self, typename Visitor>
    static void VisitMembers(Self& self, const Visitor& visit) {
      visit("length", self.length);
      visit("time", self.time);
      visit("instruction", self.instruction);
      visit("seconds", self.seconds);
      for (size_t c = 0; c < kMemoryCategories; ++c)
        visit(kWords<MemoryCategory>[c].data(), self.bytes[c]);
    }
  };

  static Json Write(const PlanMemoryTimeline& timeline) {
    Columns columns{.length = timeline.length};
    for (const PlanMemoryPoint& point : timeline.points) {
      columns.time.push_back(point.time);
      columns.instruction.push_back(point.instruction);
      columns.seconds.push_back(point.seconds);
      for (size_t c = 0; c < kMemoryCategories; ++c) columns.bytes[c].push_back(point.bytes[c]);
    }
    return WriteJson(columns);
  }
  static void Read(const JsonValue& json, PlanMemoryTimeline& timeline, MemberForm) {
    Columns columns;
    ReadJson(json, columns);
    const size_t count = columns.time.size();
    bool equal = columns.instruction.size() == count && columns.seconds.size() == count;
    for (const std::vector<int64_t>& list : columns.bytes) equal = equal && list.size() == count;
    if (!equal) json.Fail("its lists are not equally long");
    if (!json.ok()) return;
    timeline.length = columns.length;
    timeline.points.resize(count);
    for (size_t i = 0; i < count; ++i) {
      PlanMemoryPoint& point = timeline.points[i];
      point = {columns.time[i], columns.instruction[i], columns.seconds[i], {}};
      for (size_t c = 0; c < kMemoryCategories; ++c) point.bytes[c] = columns.bytes[c][i];
      if (point.time >= timeline.length || (i > 0 && point.time <= columns.time[i - 1])) {
        json.At("time").Elements()[i].FailWanting(
            absl::StrCat("ascending numbers below ", timeline.length));
      }
    }
  }
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_JSON_FORMS_H_
