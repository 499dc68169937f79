#include "meshwright/plan/make/shortage.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/printable.h"
#include "meshwright/base/quantity_text.h"

namespace meshwright {
namespace {

constexpr size_t kMaxTensors = 10;

std::string ValueName(const Graph& graph, ValueId value) {
  const Op& producer = graph[graph[value].producer];
  return producer.parameter >= 0 ? ParameterName(graph, graph[value].producer) : producer.name;
}

}  // namespace

std::string ShortageText(const PlannedProgram& planned) {
  const Graph& graph = planned.program.graph;
  const IntraPlan& intra = planned.intra;
  std::string text = absl::StrFormat(
      "nothing fits into %s a device; the smallest budget that a plan was found for is %s "
      "(--memory %d)\n",
      BytesText(planned.plan.budget_bytes.value_or(0)), BytesText(intra.smallest_budget),
      intra.smallest_budget);
  const size_t count = std::min(intra.peak.live.size(), kMaxTensors);
  absl::StrAppend(&text, "  largest of ", intra.peak.live.size(), " tensors alive at its peak, at ",
                  Printable(planned.plan.peak_at), ":\n");
  for (size_t i = 0; i < count; ++i) {
    const ValueId value = intra.peak.live[i];
    absl::StrAppendFormat(&text, "    %10s  %s %s %s\n", BytesText(intra.bytes[value.index()]),
                          Printable(ValueName(graph, value)),
                          graph[value].shape.ToString(/*with_layout=*/false),
                          intra.shardings[value.index()].ToString(planned.mesh));
  }
  if (planned.enough.has_value()) {
    const Cluster& enough = *planned.enough;
    absl::StrAppendFormat(&text, "  it would fit on %d such devices, %s of %d\n", enough.devices(),
                          Counted(enough.nodes, "node"), enough.devices_per_node);
  }
  return text;
}

}  // namespace meshwright
