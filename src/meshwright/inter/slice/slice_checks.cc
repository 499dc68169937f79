#include "meshwright/inter/slice/slice_checks.h"

#include "meshwright/base/counted.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/layers/obstacle_texts.h"

namespace meshwright {
namespace {

absl::Status CheckObstacle(const SliceContext& context, OpId op) {
  const auto obstacle = context.stacks.obstacles.find(op);
  if (obstacle == context.stacks.obstacles.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(
      "\"", context.graph[op].name, "\" ", obstacle->second,
      ": its loop cannot be cut between layers, as pipelines and profiles need; plan without "
      "them"));
}

// Layers that the loop does not have need `stack`, of which stages of the loop hold their layers.
absl::Status ReadBesideItsLoop(const Graph& graph, ValueId stack, const LayerLoop& loop,
                               const std::vector<bool>& selected) {
  std::vector<OpId> readers;
  for (OpId user : graph[stack].users) {
    if (selected[user.index()]) readers.push_back(user);
  }
  const bool chosen = !readers.empty() && (graph[readers[0]].kind == OpKind::kSelectBranch ||
                                           graph[readers[0]].branch >= 0);
  return absl::InvalidArgumentError(StrCat(
      "\"", graph[graph[stack].producer].name, "\" is stacked for a loop over ",
      Counted(loop.count, "layer"), ", which stages divide among themselves, and ",
      readers.empty() ? "is read" : OpsText(graph, readers, "reads it", "read it"),
      " beside that loop too: ",
      chosen ? "choose by jnp.where in place of lax.cond" : "let that read an array of its own",
      ", or plan without a pipeline"));
}

}  // namespace

absl::Status CheckRequest(const SliceContext& context, const SliceRequest& request) {
  const Graph& graph = context.graph;
  if (request.begin < 0 || request.end > context.layers.count || request.begin >= request.end) {
    return absl::InvalidArgumentError(StrCat("there are no layers [", request.begin, ", ",
                                             request.end, "); the program has ",
                                             context.layers.count));
  }
  const bool update_only = request.update && !request.forward && !request.backward;
  if (request.part != UpdatePart::kWhole && !update_only) {
    return absl::InvalidArgumentError("only an update phase by itself has parts");
  }
  const int64_t parts = request.micro_batches;
  if (parts < 1) {
    return absl::InvalidArgumentError(
        StrCat("the number of micro-batches is ", parts, "; it has to be at least 1"));
  }
  if (context.batch.Divides(graph, parts)) return absl::OkStatus();
  if (parts > 1 && !context.batch.indivisible.empty()) {
    return absl::InvalidArgumentError(
        StrCat("the batch cannot be divided into micro-batches because of \"",
               graph[context.batch.indivisible[0]].name, "\""));
  }
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const int32_t d = context.batch.dimension[i];
    if (d < 0 || graph.values[i].shape.dims[d] % parts == 0) continue;
    return absl::InvalidArgumentError(StrCat("\"", graph[graph.values[i].producer].name,
                                             "\" cannot be divided into ", parts,
                                             " micro-batches: the batch is its dimension ", d,
                                             " of size ", graph.values[i].shape.dims[d]));
  }
  return absl::InvalidArgumentError(StrCat("a batch of ", context.batch.size,
                                           " cannot be divided into ", parts, " micro-batches"));
}

absl::Status CheckStacks(const SliceContext& context, const SliceRequest& request,
                         const SliceMembers& members, const std::vector<bool>& needed,
                         const std::vector<bool>& selected) {
  const Graph& graph = context.graph;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const int32_t l = context.stacks.loop[i];
    if (!needed[i] || l < 0) continue;
    const LayerLoop& loop = context.layers.loops[l];
    if (members.Within(loop.first, loop.first + loop.count)) continue;
    if (PartOf(loop, request.begin, request.end).high == 0)
      return ReadBesideItsLoop(graph, ValueId(i), loop, selected);
    MW_RETURN_IF_ERROR(CheckObstacle(context, graph.values[i].producer));
    for (OpId user : graph.values[i].users) {
      if (selected[user.index()]) MW_RETURN_IF_ERROR(CheckObstacle(context, user));
    }
  }
  for (size_t i = 0; i < context.layers.loops.size(); ++i) {
    const LayerLoop& loop = context.layers.loops[i];
    const LoopPart part = PartOf(loop, request.begin, request.end);
    const OpId exit = context.structure.first_exit[loop.loop];
    if (!members.Makes(exit) || part.whole() || context.stacks.counter[i] >= 0) continue;
    return absl::InvalidArgumentError(
        StrCat("the loop \"", graph[exit].instruction->name,
               "\" cannot be cut between its layers: it counts by no constant"));
  }
  return absl::OkStatus();
}

}  // namespace meshwright
