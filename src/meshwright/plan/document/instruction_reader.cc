#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/plan/document/plan_reader.h"

// The instructions of a plan, and what points at them.

namespace meshwright {

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanType& value) {
  return ObjectReader(json, path)
      .Member("dtype", value.dtype)
      .Member("shape", value.shape)
      .Finish();
}

// The list [file, line].
absl::Status ReadJson(const InputJson& json, const std::string& path, PlanSource& value) {
  std::vector<int64_t> numbers;
  MW_RETURN_IF_ERROR(ReadJson(json, path, numbers));
  if (numbers.size() != 2) {
    return JsonErrorAt(
        path, absl::StrFormat("found %d numbers, expected a file and a line", numbers.size()));
  }
  value = {numbers[0], numbers[1]};
  return absl::OkStatus();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanResident& value) {
  return ObjectReader(json, path)
      .Member("bytes", value.bytes)
      .Member("category", value.category)
      .Finish();
}

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanInstruction& value) {
  MW_RETURN_IF_ERROR(ObjectReader(json, path)
                         .Member("name", value.name)
                         .Member("opcode", value.opcode)
                         .Member("dtype", value.type.dtype)
                         .Member("shape", value.type.shape)
                         .OptionalMember("other_types", value.other_types)
                         .Member("operands", value.operands)
                         .OptionalMember("operand_results", value.operand_results)
                         .OptionalMember("op_name", value.op_name)
                         .OptionalMember("source", value.source)
                         .OptionalMember("layer", value.layer)
                         .OptionalMember("phase", value.phase)
                         .OptionalMember("batch_dimension", value.batch_dimension)
                         .OptionalMember("at_peak", value.at_peak)
                         .Member("spec", value.spec)
                         .OptionalMember("other_specs", value.other_specs)
                         .OptionalMember("operand_specs", value.operand_specs)
                         .OptionalMember("computed_specs", value.computed_specs)
                         .OptionalMember("operand_paths", value.operand_paths)
                         .OptionalMember("result_paths", value.result_paths)
                         .OptionalMember("shared_spec", value.shared_spec)
                         .OptionalMember("pending_axes", value.pending_axes)
                         .OptionalMember("reduced_axes", value.reduced_axes)
                         .Member("strategy", value.strategy)
                         .Member("executions", value.executions)
                         .Amount("seconds", value.seconds)
                         .Member("collective", value.collective)
                         .Finish());
  if (value.spec.size() != value.type.shape.size()) {
    return JsonErrorAt(absl::StrCat(path, ".spec"),
                       absl::StrFormat("found %d dimensions, but the shape has %d",
                                       value.spec.size(), value.type.shape.size()));
  }
  if (value.batch_dimension.has_value() &&
      static_cast<uint64_t>(*value.batch_dimension) >= value.type.shape.size()) {
    return JsonErrorAt(absl::StrCat(path, ".batch_dimension"),
                       absl::StrFormat("found %d, but the shape has %d dimensions",
                                       *value.batch_dimension, value.type.shape.size()));
  }
  if (value.phase.empty() || value.phase == "forward" || value.phase == "backward" ||
      value.phase == "update")
    return absl::OkStatus();
  return JsonErrorAt(absl::StrCat(path, ".phase"),
                     absl::StrCat("found ", InputJson(value.phase).dump(),
                                  ", expected forward, backward or update"));
}

absl::Status ReadJson(const InputJson& json, const std::string& path, PlanMemoryTimeline& value) {
  std::vector<int64_t> time, instruction;
  std::vector<double> seconds;
  std::array<std::vector<int64_t>, kMemoryCategories> bytes;
  ObjectReader reader(json, path);
  reader.Member("length", value.length)
      .Member("time", time)
      .Member("instruction", instruction)
      .Member("seconds", seconds);
  for (size_t c = 0; c < kMemoryCategories; ++c)
    reader.Member(MemoryCategoryName(static_cast<MemoryCategory>(c)).data(), bytes[c]);
  MW_RETURN_IF_ERROR(reader.Finish());
  bool equal = instruction.size() == time.size() && seconds.size() == time.size();
  for (const std::vector<int64_t>& list : bytes) equal = equal && list.size() == time.size();
  if (!equal) return JsonErrorAt(path, "its lists are not equally long");
  value.points.resize(time.size());
  for (size_t i = 0; i < time.size(); ++i) {
    PlanMemoryPoint& point = value.points[i];
    point = {time[i], instruction[i], seconds[i], {}};
    if (point.time >= value.length || (i > 0 && point.time <= value.points[i - 1].time)) {
      return JsonErrorAt(
          absl::StrCat(path, ".time[", i, "]"),
          absl::StrCat("found ", point.time, ", expected ascending numbers below ", value.length));
    }
    if (!(point.seconds >= 0 && point.seconds <= kMostCost)) {
      return JsonErrorAt(absl::StrCat(path, ".seconds[", i, "]"),
                         absl::StrCat("found ", InputJson(point.seconds).dump(),
                                      ", expected a number from 0 to ", kMostCost));
    }
    for (size_t c = 0; c < kMemoryCategories; ++c) point.bytes[c] = bytes[c][i];
  }
  return absl::OkStatus();
}

namespace {

absl::Status CheckPosition(int64_t position, size_t size, absl::string_view what,
                           const std::string& path) {
  if (static_cast<uint64_t>(position) < size) return absl::OkStatus();
  return JsonErrorAt(path, size == 0 ? absl::StrCat("found ", position, ", but there are no ", what)
                                     : absl::StrCat("found ", position, ", but the ", what,
                                                    " are numbered from 0 to ", size - 1));
}

template <typename Part>
absl::Status CheckInstruction(const Part& part, size_t i, const std::string& path) {
  const PlanInstruction& instruction = part.instructions[i];
  const std::string at = absl::StrCat(path, ".instructions[", i, "]");
  const bool loops = instruction.opcode == "loop-parameter";
  for (size_t k = 0; k < instruction.operands.size(); ++k) {
    const std::string operand = absl::StrCat(at, ".operands[", k, "]");
    MW_RETURN_IF_ERROR(
        CheckPosition(instruction.operands[k], part.instructions.size(), "instructions", operand));
    if (static_cast<size_t>(instruction.operands[k]) >= i && !(loops && k == 1)) {
      return JsonErrorAt(operand, absl::StrCat("found ", instruction.operands[k],
                                               ", expected an instruction before ", i));
    }
  }
  if (!instruction.operand_results.empty() &&
      instruction.operand_results.size() != instruction.operands.size()) {
    return JsonErrorAt(absl::StrCat(at, ".operand_results"), "expected a number for each operand");
  }
  if (instruction.op_name.has_value()) {
    MW_RETURN_IF_ERROR(CheckPosition(*instruction.op_name, part.op_names.size(), "op_names",
                                     absl::StrCat(at, ".op_name")));
  }
  if (instruction.source.has_value()) {
    MW_RETURN_IF_ERROR(CheckPosition(instruction.source->file, part.source_files.size(),
                                     "source_files", absl::StrCat(at, ".source[0]")));
  }
  return absl::OkStatus();
}

template <typename Part>
absl::Status CheckReferencesOf(const Part& part, const std::string& path) {
  for (size_t i = 0; i < part.instructions.size(); ++i)
    MW_RETURN_IF_ERROR(CheckInstruction(part, i, path));
  if (!part.memory_timeline.has_value()) return absl::OkStatus();
  const std::vector<PlanMemoryPoint>& points = part.memory_timeline->points;
  for (size_t i = 0; i < points.size(); ++i) {
    MW_RETURN_IF_ERROR(CheckPosition(points[i].instruction, part.instructions.size(),
                                     "instructions",
                                     absl::StrCat(path, ".memory_timeline.instruction[", i, "]")));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckReferences(const Plan& plan, const std::string& path) {
  return CheckReferencesOf(plan, path);
}

absl::Status CheckReferences(const PlanStage& stage, const std::string& path) {
  return CheckReferencesOf(stage, path);
}

}  // namespace meshwright
