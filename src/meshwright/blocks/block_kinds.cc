#include "meshwright/blocks/block_kinds.h"

#include <algorithm>
#include <unordered_map>

#include "meshwright/inter/layers/fingerprint.h"

namespace meshwright {
namespace {

class SequenceWriter {
 public:
  SequenceWriter(const Graph& graph, const BlockAnalysis& analysis,
                 const std::vector<int32_t>& kinds, int64_t most)
      : graph_(graph), analysis_(analysis), kinds_(kinds), most_(static_cast<double>(most)) {}

  std::vector<int32_t> Run() { return Blocks(0, kinds_.size(), -1, 1); }

 private:
  // The loop of block `b` that is directly inside of `around`; -1: it is in no other.
  int32_t LoopOf(size_t b, int32_t around) const {
    int32_t loop = graph_[analysis_.blocks[b].contractions[0]].loop;
    while (loop != around && graph_.loops[loop].parent != around) loop = graph_.loops[loop].parent;
    return loop == around ? -1 : loop;
  }

  // Kinds of blocks [begin, end), all inside of loop `around`, which itself runs `times` times.
  std::vector<int32_t> Blocks(size_t begin, size_t end, int32_t around, double times) const {
    std::vector<int32_t> sequence;
    for (size_t next = begin; begin < end; begin = next) {
      const int32_t loop = LoopOf(begin, around);
      for (next = begin + 1; loop >= 0 && next < end && LoopOf(next, around) == loop;) ++next;
      if (loop < 0) {
        sequence.push_back(kinds_[begin]);
        continue;
      }
      double trips = std::max(1.0, graph_.loops[loop].trip_count);
      std::vector<int32_t> once = Blocks(begin, next, loop, times * trips);
      if (times * trips * static_cast<double>(once.size()) > most_) trips = 1;
      for (int64_t i = 0; i < static_cast<int64_t>(trips); ++i)
        sequence.insert(sequence.end(), once.begin(), once.end());
    }
    return sequence;
  }

  const Graph& graph_;
  const BlockAnalysis& analysis_;
  const std::vector<int32_t>& kinds_;
  const double most_;
};

}  // namespace

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
  return SequenceWriter(graph, analysis, kinds, most).Run();
}

}  // namespace meshwright
