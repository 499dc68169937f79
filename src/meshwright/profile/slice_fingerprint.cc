#include "meshwright/profile/slice_fingerprint.h"

#include "absl/strings/str_cat.h"
#include "meshwright/base/sha256.h"
#include "meshwright/inter/layers/fingerprint.h"

namespace meshwright {

std::string SliceFingerprint(const ProgramSlice& slice) {
  const Graph& graph = slice.graph;
  OpFingerprints fingerprints(graph, Entries::kAlike);
  std::string text;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    absl::StrAppend(&text, absl::Hex(fingerprints.Of(OpId(i)), absl::kZeroPad16));
    for (ValueId v : graph.ops[i].operands) absl::StrAppend(&text, " ", v.value);
    absl::StrAppend(&text, "\n");
  }
  // What crosses the borders, by itself too: parts that only hand values on have no operators.
  const auto add = [&](const char* what, const SliceValue& value, ValueId v) {
    absl::StrAppend(&text, what, " ", static_cast<int>(value.role), " ", value.dimension, " ",
                    v.value, " ", graph[v].shape.ToString(/*with_layout=*/false));
  };
  for (size_t i = 0; i < slice.inputs.size(); ++i) {
    add("in", slice.inputs[i], InputOf(slice, i));
    absl::StrAppend(&text, "\n");
  }
  for (size_t o = 0; o < slice.outputs.size(); ++o) {
    add("out", slice.outputs[o], OutputOf(slice, o));
    absl::StrAppend(&text, " ", graph.output_alias[o], "\n");
  }
  return Sha256Hex(text);
}

}  // namespace meshwright
