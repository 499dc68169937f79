#include "meshwright/inter/slice/slice.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/counted_indices.h"
#include "meshwright/hlo/inline_calls.h"
#include "meshwright/hlo/loop_starts.h"
#include "meshwright/hlo/verify/verifier.h"
#include "meshwright/inter/layers/whole_batch.h"
#include "meshwright/inter/slice/slice_build.h"
#include "meshwright/inter/slice/slice_context.h"
#include "meshwright/inter/slice/slice_select.h"
#include "meshwright/intra/names.h"

namespace meshwright {
namespace {

// Fills in `phase` and `origin` of the slice's graph.
void LabelOps(const SliceContext& context, const BuiltSlice& built, const SliceSelection& selection,
              ProgramSlice* slice) {
  const Graph& graph = slice->graph;
  slice->origin.assign(graph.ops.size(), OpId());
  slice->phase.assign(graph.ops.size(), Phase::kForward);
  const Instruction* last = nullptr;
  size_t leaf = 0;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    leaf = op.instruction == last ? leaf + 1 : 0;
    last = op.instruction;
    if (op.kind == OpKind::kOutput || op.parameter >= 0) continue;
    const auto origin = built.origin.find(op.instruction->name);
    // An instruction with several results is one op.
    const size_t part = op.kind == OpKind::kInstruction ? 0 : leaf;
    // A loop may carry the number of the micro-batch besides.
    if (origin != built.origin.end() && part < origin->second.size()) {
      OpId from = origin->second[part];
      if (op.kind == OpKind::kLoopParameter) {
        const int32_t carry = context.structure.carry[from.index()];
        from = context.graph[context.graph.carries[carry].parameter].producer;
      }
      slice->origin[i] = from;
      slice->phase[i] = selection.phase[from.index()];
    } else if (const auto phase = built.phase.find(op.instruction->name);
               phase != built.phase.end()) {
      slice->phase[i] = phase->second;
    }
  }
  for (size_t i = 0; i < graph.parameters.size(); ++i) {
    slice->phase[graph.parameters[i].index()] = selection.input_phase[i];
  }
  // What else the slicing added, and outputs, go with what they are for.
  absl::flat_hash_map<ValueId, std::vector<OpId>>
      starts;  // loop parameters by what they start from
  for (const Carry& carry : graph.carries) {
    starts[carry.init].push_back(graph[carry.parameter].producer);
  }
  for (size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    if (op.kind == OpKind::kOutput || slice->origin[i].valid() || op.parameter >= 0 ||
        built.phase.contains(op.instruction->name)) {
      continue;
    }
    slice->phase[i] = Phase::kUpdate;
    const auto serve = [&](OpId user) {
      if (graph[user].kind == OpKind::kOutput) return;
      slice->phase[i] = std::min(slice->phase[i], slice->phase[user.index()]);
    };
    for (ValueId v : op.results) {
      for (OpId user : graph[v].users) serve(user);
      const auto start = starts.find(v);
      if (start == starts.end()) continue;
      for (OpId user : start->second) serve(user);
    }
  }
  for (OpId output : graph.outputs) {
    slice->phase[output.index()] = slice->phase[graph[graph[output].operands[0]].producer.index()];
  }
}

}  // namespace

Slicer::Slicer(std::unique_ptr<const SliceContext> context) : context_(std::move(context)) {}
Slicer::~Slicer() = default;

absl::StatusOr<std::unique_ptr<const Slicer>> Slicer::Make(const Graph& graph,
                                                           const BatchSplit& batch,
                                                           const Layers& layers) {
  MW_ASSIGN_OR_RETURN(SliceContext context, MakeSliceContext(graph, batch, layers));
  return std::unique_ptr<const Slicer>(
      new Slicer(std::make_unique<const SliceContext>(std::move(context))));
}

absl::StatusOr<Module> ModuleToSlice(const Module& module, const std::vector<std::string>& data,
                                     MicroBatchRng rng) {
  MW_ASSIGN_OR_RETURN(Module inlined, InlineCalls(module));
  SeparateLoopStarts(inlined);
  MW_ASSIGN_OR_RETURN(const Graph graph, BuildGraph(inlined));
  Module batched = WithBatchedIndices(graph);
  MW_ASSIGN_OR_RETURN(const Graph divided, BuildGraph(batched));
  const absl::StatusOr<BatchSplit> batch =
      FindBatch(divided, TiedParameters(divided, /*by_position=*/true), data, rng);
  // Without a batch nothing is cut: whoever tries will say why.
  return batch.ok() ? WithWholeBatchValues(divided, *batch) : std::move(batched);
}

absl::StatusOr<ProgramSlice> Slicer::Slice(const SliceRequest& request) const {
  MW_ASSIGN_OR_RETURN(SliceSelection selection, SelectSlice(*context_, request));
  MW_ASSIGN_OR_RETURN(BuiltSlice built, BuildSlice(*context_, request, selection));
  if (const auto error = FindVerifierError(built.module); error.has_value()) {
    return absl::InvalidArgumentError(StrCat("layers [", request.begin, ", ", request.end,
                                             ") for one of ", request.micro_batches,
                                             " micro-batches: ", error->message));
  }
  ProgramSlice slice;
  slice.module = std::make_unique<const Module>(std::move(built.module));
  MW_ASSIGN_OR_RETURN(slice.graph, BuildGraph(*slice.module));
  LabelOps(*context_, built, selection, &slice);
  slice.inputs = std::move(selection.inputs);
  slice.outputs = std::move(selection.outputs);
  return slice;
}

}  // namespace meshwright
