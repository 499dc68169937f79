#include "meshwright/blocks/block_kinds.h"

#include <algorithm>
#include <unordered_map>

#include "meshwright/inter/fingerprint.h"

namespace meshwright {

std::vector<int32_t> FindBlockKinds(const Graph& graph, const BlockAnalysis& analysis) {
  OpFingerprints fingerprints(graph, Entries::kAlike);
  std::vector<uint64_t> hash(graph.ops.size(), 0);
  std::vector<int32_t> kinds;
  std::unordered_map<uint64_t, int32_t> known;
  for (size_t b = 0; b < analysis.blocks.size(); ++b) {
    const ParallelBlock& block = analysis.blocks[b];
    const auto inside = [&](OpId op) {
      return analysis.block_of[op.index()] == static_cast<int32_t>(b);
    };
    uint64_t sum = 0;  // the order of operators does not matter
    for (OpId id : block.ops) {
      const Op& op = graph[id];
      Fingerprint f;
      f.Add(fingerprints.Of(id));
      for (ValueId v : op.operands) {
        const OpId producer = graph[v].producer;
        f.Add(inside(producer) ? hash[producer.index()] : 0);
        f.Add(static_cast<uint64_t>(inside(producer) ? graph[v].result : 0));
      }
      for (ValueId v : op.results) {
        const std::vector<OpId>& users = graph[v].users;
        f.Add(static_cast<uint64_t>(!std::all_of(users.begin(), users.end(), inside)));
      }
      hash[id.index()] = f.value();
      sum += Fingerprint().Add(f.value()).value();
    }
    Fingerprint f;
    f.Add(sum);
    for (const BlockCut& cut : block.cuts) {
      f.Add(static_cast<uint64_t>(cut.size_index));
      for (OpId op : block.contractions) f.Add(static_cast<uint64_t>(cut.choices.at(op)->factor));
    }
    kinds.push_back(known.try_emplace(f.value(), static_cast<int32_t>(known.size())).first->second);
  }
  return kinds;
}

std::vector<int32_t> KindSequence(const Graph& graph, const BlockAnalysis& analysis,
                                  const std::vector<int32_t>& kinds, int64_t most) {
  std::vector<int32_t> sequence;
  const auto loop_of = [&](size_t b) { return graph[analysis.blocks[b].contractions[0]].loop; };
  for (size_t begin = 0, end = 0; begin < kinds.size(); begin = end) {
    end = begin + 1;
    while (end < kinds.size() && loop_of(end) == loop_of(begin)) ++end;
    double times = 1;
    for (int32_t loop = loop_of(begin); loop >= 0; loop = graph.loops[loop].parent)
      times *= std::max(1.0, graph.loops[loop].trip_count);
    if (times * static_cast<double>(end - begin) > static_cast<double>(most)) times = 1;
    for (int64_t i = 0; i < static_cast<int64_t>(times); ++i)
      sequence.insert(sequence.end(), kinds.begin() + begin, kinds.begin() + end);
  }
  return sequence;
}

}  // namespace meshwright
