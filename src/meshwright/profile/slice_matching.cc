#include "meshwright/profile/slice_matching.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "meshwright/inter/layers/fingerprint.h"

namespace meshwright {
namespace {

using Colours = std::vector<uint64_t>;  // by OpId

Colours FirstColours(const ProgramSlice& slice) {
  OpFingerprints fingerprints(slice.graph, Entries::kAlike);
  Colours colours;
  for (size_t i = 0; i < slice.graph.ops.size(); ++i)
    colours.push_back(Fingerprint().Add(fingerprints.Of(OpId(i))).value());
  for (size_t i = 0; i < slice.inputs.size(); ++i) {
    uint64_t& colour = colours[slice.graph.parameters[i].index()];
    colour = Fingerprint()
                 .Add(colour)
                 .Add(static_cast<uint64_t>(slice.inputs[i].role))
                 .Add(static_cast<uint64_t>(slice.inputs[i].dimension))
                 .value();
  }
  for (size_t o = 0; o < slice.outputs.size(); ++o) {
    uint64_t& colour = colours[slice.graph.outputs[o].index()];
    colour = Fingerprint().Add(colour).Add(static_cast<uint64_t>(slice.outputs[o].role)).value();
  }
  return colours;
}

Colours Refined(const Graph& graph, const Colours& colours) {
  Colours refined;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    Fingerprint f;
    f.Add(colours[i]);
    for (ValueId v : op.operands) {
      f.Add(colours[graph[v].producer.index()]);
      f.Add(static_cast<uint64_t>(graph[v].result));
    }
    uint64_t users = 0;  // in no order
    for (ValueId v : op.results) {
      for (OpId user : graph[v].users) {
        Fingerprint use;
        use.Add(colours[user.index()]).Add(static_cast<uint64_t>(graph[v].result));
        const std::vector<ValueId>& taken = graph[user].operands;
        for (size_t k = 0; k < taken.size(); ++k) {
          if (taken[k] == v) use.Add(k);
        }
        users += use.value();
      }
    }
    refined.push_back(f.Add(users).value());
  }
  // What replaces a parameter belongs with it.
  for (size_t o = 0; o < graph.outputs.size(); ++o) {
    if (graph.output_alias[o] < 0) continue;
    uint64_t& output = refined[graph.outputs[o].index()];
    uint64_t& parameter =
        refined[graph.parameters[static_cast<size_t>(graph.output_alias[o])].index()];
    const uint64_t both = Fingerprint().Add(output).Add(parameter).value();
    output = Fingerprint().Add(both).Add(uint64_t{0}).value();
    parameter = Fingerprint().Add(both).Add(uint64_t{1}).value();
  }
  return refined;
}

size_t Classes(const Colours& colours) {
  return absl::flat_hash_set<uint64_t>(colours.begin(), colours.end()).size();
}

}  // namespace

std::vector<OpId> MatchOps(const ProgramSlice& a, const ProgramSlice& b) {
  Colours of_a = FirstColours(a), of_b = FirstColours(b);
  // Refining never merges classes; each round splits one, or is the last.
  for (size_t before = 0, now = Classes(of_a); now > before;) {
    of_a = Refined(a.graph, of_a);
    of_b = Refined(b.graph, of_b);
    before = std::exchange(now, Classes(of_a));
  }
  absl::flat_hash_map<uint64_t, std::vector<OpId>> by_colour;
  for (size_t i = of_a.size(); i-- > 0;) by_colour[of_a[i]].push_back(OpId(i));
  std::vector<OpId> match(of_b.size());
  for (size_t i = 0; i < of_b.size(); ++i) {
    const auto found = by_colour.find(of_b[i]);
    if (found == by_colour.end() || found->second.empty()) continue;
    match[i] = found->second.back();
    found->second.pop_back();
  }
  return match;
}

}  // namespace meshwright
