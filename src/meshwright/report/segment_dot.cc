#include "meshwright/report/segment_dot.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/quantity_text.h"
#include "meshwright/plan/text/plan_table.h"
#include "meshwright/report/headline.h"
#include "meshwright/report/segment_graph.h"

namespace meshwright {
namespace {

// By phase, none first: pale forms of the page's colours.
constexpr const char* kFills[] = {"#ffffff", "#d6e9fb", "#f9e3c8", "#e2d9f3"};

// A quoted string of the DOT language. Its escapes begin with a backslash, so text may have none.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      quoted.push_back(c);
    }
  }
  return quoted + "\"";
}

std::string CollectiveLines(const Plan& plan, const std::vector<PlanCollective>& collectives) {
  return absl::StrJoin(collectives, "\n", [&plan](std::string* out, const PlanCollective& one) {
    absl::StrAppend(out, one.kind, " ", absl::StrJoin(one.axes, ","), ", ",
                    BytesText(one.bytes_per_device), ", ", CostText(plan, one.seconds));
  });
}

void AddProgram(const Plan& plan, const SegmentGraph& graph, const LayerLabels& labels,
                size_t number, std::string& dot) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const SegmentNode& node = graph.nodes[n];
    const DrawnSegment& segment = graph.segments[node.segment];
    const std::string layers = LayersText(node, labels);
    std::string label = layers.empty() ? segment.label
                                       : absl::StrCat(PhaseText(segment.phase),
                                                      segment.phase == 0 ? "" : " ", layers);
    if (node.layers.size() > 1) absl::StrAppend(&label, " (x", node.layers.size(), ")");
    absl::StrAppend(&label, "\n", Counted(segment.operators, "operator"), ", ",
                    CostText(plan, segment.seconds + segment.communication_seconds));
    if (!segment.collectives.empty()) {
      absl::StrAppend(&label, "\n", CollectiveLines(plan, segment.collectives));
    }
    absl::StrAppend(&dot, "    p", number, "_", n, " [label=", Quoted(label), ", fillcolor=\"",
                    kFills[segment.phase], "\"];\n");
  }
  for (const SegmentEdge& edge : graph.edges) {
    const bool communicates = !edge.collectives.empty();
    absl::StrAppend(&dot, "    p", number, "_", edge.from, " -> p", number, "_", edge.to,
                    " [label=",
                    Quoted(communicates ? CollectiveLines(plan, edge.collectives)
                                        : Counted(edge.values, "value")),
                    communicates ? ", color=red, fontcolor=red" : "", "];\n");
  }
}

}  // namespace

std::string SegmentDot(const Plan& plan) {
  const DevicePrograms programs = ProgramsOf(plan);
  const LayerLabels labels = LabelsOf(programs);
  std::string dot = absl::StrCat("digraph ", Quoted(ProgramName(plan)),
                                 " {\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n"
                                 "  edge [fontname=\"sans-serif\", fontsize=10];\n");
  for (size_t p = 0; p < programs.programs.size(); ++p) {
    std::vector<size_t> stages;
    for (size_t s = 0; s < programs.of_stage.size(); ++s) {
      if (programs.of_stage[s] == p) stages.push_back(s);
    }
    const std::string label =
        stages.empty()
            ? ""
            : absl::StrCat(stages.size() == 1 ? "stage " : "stages ", absl::StrJoin(stages, ", "));
    absl::StrAppend(&dot, "  subgraph cluster_", p, " {\n    label=", Quoted(label), ";\n");
    AddProgram(plan, SegmentsOf(programs.programs[p], plan.micro_batches), labels, p, dot);
    dot += "  }\n";
  }
  return dot + "}\n";
}

}  // namespace meshwright
