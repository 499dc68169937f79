#include "meshwright/inter/stages/kind_slices.h"

#include <algorithm>
#include <utility>

#include "meshwright/base/status.h"

namespace meshwright {
namespace {

// Whether the same inputs and outputs of both are of the same role, shape and side of the batch.
bool HaveSameBorders(const ProgramSlice& a, const ProgramSlice& b) {
  if (a.inputs.size() != b.inputs.size() || a.outputs.size() != b.outputs.size()) return false;
  const auto same = [&](const SliceValue& x, ValueId in_a, const SliceValue& y, ValueId in_b) {
    return x.role == y.role && x.dimension == y.dimension &&
           a.graph[in_a].shape == b.graph[in_b].shape;
  };
  for (size_t i = 0; i < a.inputs.size(); ++i) {
    if (!same(a.inputs[i], InputOf(a, i), b.inputs[i], InputOf(b, i))) return false;
  }
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (!same(a.outputs[i], OutputOf(a, i), b.outputs[i], OutputOf(b, i))) return false;
  }
  return true;
}

// What goes from one layer to the next of its kind and back, as (output, input) of either.
std::vector<std::pair<int32_t, int32_t>> Repeats(const ProgramSlice& before,
                                                 const ProgramSlice& after) {
  std::vector<std::pair<int32_t, int32_t>> repeats;
  const auto match = [&](const ProgramSlice& from, const ProgramSlice& to, SliceRole role) {
    for (size_t o = 0; o < from.outputs.size(); ++o) {
      for (size_t i = 0; i < to.inputs.size(); ++i) {
        const SliceValue& left = from.outputs[o];
        const SliceValue& taken = to.inputs[i];
        if (left.role == role && taken.role == role && left.value == taken.value &&
            left.layer == taken.layer && left.first == taken.first && left.count == taken.count)
          repeats.emplace_back(static_cast<int32_t>(o), static_cast<int32_t>(i));
      }
    }
  };
  match(before, after, SliceRole::kActivation);
  match(after, before, SliceRole::kGradient);
  return repeats;
}

}  // namespace

absl::StatusOr<ProgramSlice> SliceToPlan(const Slicer& slicer, int32_t begin, int32_t end,
                                         int64_t micro_batches, int64_t sum_parts) {
  SliceRequest request;
  request.begin = begin;
  request.end = end;
  request.micro_batches = micro_batches;
  request.sum_parts = sum_parts;
  MW_ASSIGN_OR_RETURN(ProgramSlice slice, slicer.Slice(request));
  ScaleUpdate(&slice, micro_batches);
  return slice;
}

absl::StatusOr<std::vector<LayerKind>> KindSlices(const Slicer& slicer, const Layers& layers,
                                                  int64_t micro_batches, int64_t sum_parts) {
  const int32_t count = *std::max_element(layers.kind.begin(), layers.kind.end()) + 1;
  std::vector<LayerKind> kinds(count);
  for (int32_t l = 0; l < layers.count; ++l) {
    LayerKind& kind = kinds[layers.kind[l]];
    kind.flops += layers.flops[l];
    if (kind.layers++ == 0) {
      MW_ASSIGN_OR_RETURN(kind.slice, SliceToPlan(slicer, l, l + 1, micro_batches, sum_parts));
    }
    const bool again = l > 0 && layers.kind[l] == layers.kind[l - 1];
    if (!again || !kind.repeats.empty()) continue;
    MW_ASSIGN_OR_RETURN(ProgramSlice before,
                        SliceToPlan(slicer, l - 1, l, micro_batches, sum_parts));
    MW_ASSIGN_OR_RETURN(const ProgramSlice after,
                        SliceToPlan(slicer, l, l + 1, micro_batches, sum_parts));
    if (!HaveSameBorders(before, after)) continue;  // its numbers would mean other values
    kind.repeats = Repeats(before, after);
    kind.slice = std::move(before);
  }
  return kinds;
}

absl::StatusOr<KindsByParts> KindSlicesByParts(const Slicer& slicer, const Layers& layers,
                                               int64_t micro_batches,
                                               const std::set<int64_t>& sum_parts) {
  KindsByParts kinds;
  for (int64_t parts : sum_parts) {
    MW_ASSIGN_OR_RETURN(std::vector<LayerKind> made,
                        KindSlices(slicer, layers, micro_batches, parts));
    const auto alike = [](const LayerKind& a, const LayerKind& b) {
      return AreAlike(a.slice, b.slice);
    };
    const bool changes =
        parts == 1 || !std::equal(made.begin(), made.end(), kinds.at(1).begin(), alike);
    if (changes) kinds[parts] = std::move(made);
  }
  return kinds;
}

bool AreAlike(const ProgramSlice& a, const ProgramSlice& b) {
  if (a.graph.ops.size() != b.graph.ops.size() || a.inputs.size() != b.inputs.size() ||
      a.outputs.size() != b.outputs.size())
    return false;
  for (size_t i = 0; i < a.graph.ops.size(); ++i) {
    const Op& x = a.graph.ops[i];
    const Op& y = b.graph.ops[i];
    if (x.kind != y.kind || x.operands != y.operands || x.results != y.results ||
        x.instruction->opcode != y.instruction->opcode)
      return false;
    for (ValueId v : x.results) {
      if (!(a.graph[v].shape == b.graph[v].shape)) return false;
    }
  }
  return true;
}

}  // namespace meshwright
