#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/json_value.h"
#include "meshwright/explain/collective_causes.h"
#include "meshwright/explain/part_summary.h"
#include "meshwright/plan/document/spec_text.h"
#include "meshwright/report/segment_graph.h"
#include "meshwright/report/view_json.h"

namespace meshwright {
namespace {

// Values that occur often, each once: `Position` is where it stands in `list`.
class Pool {
 public:
  template <typename Make>
  int64_t Position(const std::string& key, const Make& make) {
    const auto [it, inserted] = positions_.try_emplace(key, static_cast<int64_t>(list.size()));
    if (inserted) list.push_back(make());
    return it->second;
  }
  int64_t Position(const std::string& text) {
    return Position(text, [&] { return Json(text); });
  }

  Json list = Json::array();

 private:
  absl::flat_hash_map<std::string, int64_t> positions_;
};

// `kinds`: by tensor how it is parallel; empty: nothing is said of any.
Json TensorsView(const std::vector<PlanTensor>& tensors, const std::vector<std::string>& kinds) {
  Json list = Json::array();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const PlanTensor& tensor = tensors[i];
    std::string category(Word(tensor.category));
    for (char& c : category) c = c == '_' ? ' ' : c;
    list.push_back({{"name", tensor.name},
                    {"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"spec", tensor.spec},
                    {"bytes", tensor.bytes_per_device},
                    {"category", std::move(category)},
                    {"kind", kinds.empty() ? "" : kinds[i]}});
  }
  return list;
}

Json CollectivesView(const std::vector<PlanCollective>& collectives) {
  Json list = Json::array();
  for (const PlanCollective& one : collectives) list.push_back(CollectiveView(one));
  return list;
}

// The operators' columns and what they refer to.
struct OperatorColumns {
  Json name = Json::array(), opcode = name, type = name, spec = name, strategy = name,
       operands = name, op_name = name, source = name, layer = name, phase = name, node = name,
       executions = name, seconds = name, moves = name;
  Pool opcodes, types, specs, strategies, op_names, sources;
  std::set<int64_t> views;  // of `opcodes`
};

void AddInstruction(const PlanPart& program, const PlanInstruction& one, OperatorColumns& columns) {
  columns.name.push_back(one.name);
  const int64_t opcode = columns.opcodes.Position(std::string(Word(one.opcode)));
  columns.opcode.push_back(opcode);
  if (ShowsItsOperand(one)) columns.views.insert(opcode);
  const std::string type =
      absl::StrCat(one.type.dtype, "[", absl::StrJoin(one.type.shape, ","), "]");
  columns.type.push_back(columns.types.Position(type, [&] {
    return Json{{"dtype", one.type.dtype}, {"shape", one.type.shape}};
  }));
  columns.spec.push_back(
      columns.specs.Position(SpecText(one.spec), [&] { return Json(one.spec); }));
  columns.strategy.push_back(columns.strategies.Position(one.strategy));
  columns.operands.push_back(one.operands);
  const std::string& op_name = MetadataName(program, one);
  columns.op_name.push_back(op_name.empty() ? -1 : columns.op_names.Position(op_name));
  const std::string source = SourceText(program, one);
  columns.source.push_back(source.empty() ? -1 : columns.sources.Position(source));
  columns.executions.push_back(one.executions);
  columns.seconds.push_back(Shortened(one.seconds));
}

// What each axis of several devices is used for.
Json AxesView(const PartSummary& summary) {
  Json list = Json::array();
  for (const AxisSummary& axis : summary.axes) {
    list.push_back({{"name", axis.axis}, {"use", SharesText(axis.roles)}});
  }
  return list;
}

Json PhasesView(const PartSummary& summary) {
  Json list = Json::array();
  for (const PhaseSeconds& one : summary.phases) {
    list.push_back({{"phase", one.phase},
                    {"compute", Shortened(one.compute)},
                    {"communication", Shortened(one.communication)}});
  }
  return list;
}

// The most expensive collectives by what causes them, as `explain` has them.
Json MostExpensiveView(const PartSummary& summary) {
  constexpr size_t kMost = 25;
  Json list = Json::array();
  for (size_t i = 0; i < std::min(summary.collectives.size(), kMost); ++i) {
    const CollectiveGroup& group = summary.collectives[i];
    list.push_back({{"collective", CollectiveView(group.sum)},
                    {"cause", group.cause},
                    {"source", group.source},
                    {"phase", group.phase},
                    {"places", group.places},
                    {"instruction", group.at}});
  }
  return list;
}

Json SegmentsView(const SegmentGraph& graph) {
  Json list = Json::array();
  for (const DrawnSegment& segment : graph.segments) {
    list.push_back({{"label", segment.label},
                    {"phase", segment.phase},
                    {"rounds", segment.rounds},
                    {"operators", segment.operators},
                    {"seconds", Shortened(segment.seconds)},
                    {"communication_seconds", Shortened(segment.communication_seconds)},
                    {"collectives", CollectivesView(segment.collectives)}});
  }
  return list;
}

Json NodesView(const SegmentGraph& graph, const LayerLabels& labels) {
  Json list = Json::array();
  for (const SegmentNode& node : graph.nodes) {
    list.push_back({{"segment", node.segment},
                    {"layers", node.layers},
                    {"text", LayersText(node, labels)},
                    {"block", node.block}});
  }
  return list;
}

Json EdgesView(const SegmentGraph& graph) {
  Json list = Json::array();
  for (const SegmentEdge& edge : graph.edges) {
    list.push_back({{"from", edge.from},
                    {"to", edge.to},
                    {"values", edge.values},
                    {"collectives", CollectivesView(edge.collectives)}});
  }
  return list;
}

// What users call each layer that an operator is of: its number and its name.
Json LayerNamesView(const SegmentGraph& graph, const LayerLabels& labels) {
  Json list = Json::array();
  for (const int64_t layer : std::set<int64_t>(graph.layer_of.begin(), graph.layer_of.end())) {
    if (layer >= 0) list.push_back({layer, labels.Text({layer})});
  }
  return list;
}

// When operators and collectives run, in ten-millionths of the end of the last: whole numbers are
// the shortest text. `first_move`: by instruction, where its collectives begin in the list of all.
Json StepView(const PlanPart& program, const std::vector<int64_t>& first_move) {
  if (!program.step_timeline.has_value()) return Json();
  const PlanStepTimeline& timeline = *program.step_timeline;
  double end = 0;
  for (size_t i = 0; i < timeline.start.size(); ++i)
    end = std::max(end, timeline.start[i] + program.instructions[i].seconds);
  for (const PlanCollectiveRun& run : timeline.collectives)
    end = std::max(end, run.start + run.seconds);
  const auto moment = [&](double seconds) {
    constexpr double kParts = 1e7;
    return end > 0 ? std::llround(seconds / end * kParts) : 0;
  };
  Json start = Json::array(), begin = start, stop = start, moves = start;
  for (const double seconds : timeline.start) start.push_back(moment(seconds));
  for (const PlanCollectiveRun& run : timeline.collectives) {
    begin.push_back(moment(run.start));
    stop.push_back(moment(run.start + run.seconds));
    Json own = Json::array();
    for (size_t i = 0; i < run.instructions.size(); ++i)
      own.push_back(first_move[static_cast<size_t>(run.instructions[i])] + run.positions[i]);
    moves.push_back(std::move(own));
  }
  return {{"end", end},
          {"contention", timeline.contention_seconds},
          {"launch", timeline.launch_seconds},
          {"start", std::move(start)},
          {"runs",
           {{"start", std::move(begin)}, {"end", std::move(stop)}, {"moves", std::move(moves)}}}};
}

Json MemoryView(const std::optional<PlanMemoryTimeline>& memory) {
  Json list = Json::array();
  if (!memory.has_value()) return list;
  for (const PlanMemoryPoint& point : memory->points) {
    list.push_back({{"seconds", Shortened(point.seconds)},
                    {"instruction", point.instruction},
                    {"bytes", point.bytes}});
  }
  return list;
}

}  // namespace

double Shortened(double value) {
  double rounded = 0;
  const std::string text = absl::StrFormat("%.5g", value);
  return std::isfinite(value) && absl::SimpleAtod(text, &rounded) ? rounded : 0;
}

Json CollectiveView(const PlanCollective& collective) {
  return {{"kind", collective.kind},
          {"axes", collective.axes},
          {"count", collective.count},
          {"bytes", collective.bytes_per_device},
          {"seconds", Shortened(collective.seconds)}};
}

Json ProgramView(const PlanPart& program, int64_t micro_batches, const LayerLabels& labels) {
  const SegmentGraph graph = SegmentsOf(program, micro_batches);
  const PartSummary summary = Summarize(program);
  const std::vector<PlanInstruction>& instructions = program.instructions;
  absl::flat_hash_map<std::string, size_t> by_name;
  for (size_t i = 0; i < instructions.size(); ++i) by_name[instructions[i].name] = i;
  OperatorColumns columns;
  std::vector<int64_t> first_move;
  for (size_t i = 0; i < instructions.size(); ++i) {
    AddInstruction(program, instructions[i], columns);
    columns.phase.push_back(graph.phase_of[i]);
    columns.layer.push_back(graph.layer_of[i]);
    columns.node.push_back(graph.node_of[i]);
    first_move.push_back(static_cast<int64_t>(columns.moves.size()));
    for (const PlanCollective& collective : instructions[i].collective) {
      const auto value = by_name.find(collective.value);
      columns.moves.push_back(
          {{"instruction", i},
           {"value", value == by_name.end() ? -1 : static_cast<int64_t>(value->second)},
           {"collective", CollectiveView(collective)}});
    }
  }
  return {{"mesh", MeshView(program.mesh)},
          {"opcodes", std::move(columns.opcodes.list)},
          {"views", columns.views},
          {"types", std::move(columns.types.list)},
          {"specs", std::move(columns.specs.list)},
          {"strategies", std::move(columns.strategies.list)},
          {"op_names", std::move(columns.op_names.list)},
          {"sources", std::move(columns.sources.list)},
          {"instructions",
           {{"name", std::move(columns.name)},
            {"opcode", std::move(columns.opcode)},
            {"type", std::move(columns.type)},
            {"spec", std::move(columns.spec)},
            {"strategy", std::move(columns.strategy)},
            {"operands", std::move(columns.operands)},
            {"op_name", std::move(columns.op_name)},
            {"source", std::move(columns.source)},
            {"layer", std::move(columns.layer)},
            {"phase", std::move(columns.phase)},
            {"node", std::move(columns.node)},
            {"executions", std::move(columns.executions)},
            {"seconds", std::move(columns.seconds)}}},
          {"moves", std::move(columns.moves)},
          {"collectives", CollectivesView(program.collectives)},
          {"parameters", TensorsView(program.parameters, ParameterKinds(program))},
          {"outputs", TensorsView(program.outputs, {})},
          {"recompute", program.recompute},
          {"axes", AxesView(summary)},
          {"phases", PhasesView(summary)},
          {"most_expensive", MostExpensiveView(summary)},
          {"segments", SegmentsView(graph)},
          {"nodes", NodesView(graph, labels)},
          {"edges", EdgesView(graph)},
          {"layer_names", LayerNamesView(graph, labels)},
          {"step", StepView(program, first_move)},
          {"memory", MemoryView(program.memory_timeline)}};
}

}  // namespace meshwright
