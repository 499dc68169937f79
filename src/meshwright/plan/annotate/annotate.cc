#include "meshwright/plan/annotate/annotate.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "meshwright/plan/annotate/branch_results.h"
#include "meshwright/plan/annotate/leaf_finder.h"
#include "meshwright/plan/annotate/output_shardings.h"
#include "meshwright/sharding/hlo_sharding.h"

namespace meshwright {
namespace {

// The `sharding=` text of a value of `shape` whose arrays have the texts `leaves`: the one text of
// an array, or a tuple's list. A leaf without one is dead: XLA drops it, but the list has to name
// it. Empty if no leaf has one.
std::string JoinLeaves(const Shape& shape, std::vector<std::string> leaves) {
  if (std::all_of(leaves.begin(), leaves.end(), [](const std::string& s) { return s.empty(); })) {
    return "";
  }
  if (!shape.is_tuple()) return leaves[0];
  for (std::string& leaf : leaves) {
    if (leaf.empty()) leaf = "{replicated}";
  }
  return absl::StrCat("{", absl::StrJoin(leaves, ", "), "}");
}

void SetNumPartitions(Module& module, int64_t devices) {
  constexpr const char* kKey = "num_partitions";
  for (auto& [key, value] : module.other) {
    if (key != kKey) continue;
    value = absl::StrCat(devices);
    return;
  }
  module.other.emplace_back(kKey, absl::StrCat(devices));
}

}  // namespace

Module AnnotateModule(const Graph& graph, const Mesh& mesh, const std::vector<Sharding>& values,
                      const std::vector<Sharding>& outputs) {
  const LeafFinder finder(graph);
  Module module = *graph.module;
  for (size_t c = 0; c < module.computations.size(); ++c) {
    const std::vector<LeafFinder::Leaves>& leaves = finder.leaves(ComputationId(c));
    for (size_t i = 0; i < leaves.size(); ++i) {
      Instruction& instruction = module.computations[c].instructions[i];
      std::vector<std::string> texts;
      for (ValueId leaf : leaves[i]) {
        texts.push_back(leaf.valid() ? ToHloShardingText(values[leaf.index()], mesh)
                                     : std::string());
      }
      const std::string text = JoinLeaves(instruction.shape, texts);
      if (!text.empty()) instruction.sharding = text;
    }
  }
  MoveBranchResults(graph, finder, mesh, values, &module);
  // The outputs leave as the plan says, however their values are kept inside.
  Computation& entry = module.computations[module.entry.index()];
  std::vector<std::string> texts;
  for (const Sharding& sharding : outputs) texts.push_back(ToHloShardingText(sharding, mesh));
  const std::string text = JoinLeaves(entry[entry.root].shape, texts);
  if (!text.empty()) entry[entry.root].sharding = text;
  SetNumPartitions(module, mesh.devices());
  return module;
}

Module AnnotateModule(const Graph& graph, const Mesh& mesh, const IntraPlan& intra,
                      const std::vector<int32_t>& tied) {
  return AnnotateModule(graph, mesh, intra.shardings, OutputShardings(graph, mesh, intra, tied));
}

}  // namespace meshwright
