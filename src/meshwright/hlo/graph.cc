#include "meshwright/hlo/graph.h"

#include "meshwright/hlo/graph_builder.h"

namespace meshwright {

absl::StatusOr<Graph> BuildGraph(const Module& module) { return GraphBuilder(module).Build(); }

}  // namespace meshwright
