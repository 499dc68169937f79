#include "meshwright/inter/layers/forward_layers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/layers/fingerprint.h"
#include "meshwright/inter/layers/forward_sequence.h"
#include "meshwright/inter/layers/layer_clustering.h"
#include "meshwright/inter/layers/repetition.h"

namespace meshwright {
namespace {

constexpr double kLeastRepeatedShare = 0.25;  // of a part's flops, for its repetition to count
constexpr double kLightFlops = 0.01;          // shares of an average layer's
constexpr double kLightWeights = 0.1;
constexpr int32_t kMostClustered = 600;  // heavy units that clustering takes singly

// Units [begin, end) of the sequence that make a layer, or several if they are a loop over layers.
struct Segment {
  int32_t begin = 0, end = 0;
  int32_t layers = 1;
  bool loop = false;
};

class Cutter {
 public:
  Cutter(const Graph& graph, const FusionInfo& fusion, const UnitGraph& units,
         const std::vector<Phase>& phase, const std::vector<LoopOverLayers>& loops,
         const LayerOptions& options)
      : graph_(graph),
        units_(units),
        phase_(phase),
        loops_(loops),
        options_(options),
        sequence_(MakeForwardSequence(graph, fusion, units, phase)) {}

  absl::StatusOr<ForwardLayers> Run() {
    int32_t begin = 0;
    for (const LoopOverLayers& loop : loops_) {
      const int32_t at = sequence_.position[loop.unit];
      CutNaturally(begin, at);
      segments_.push_back({at, at + 1, loop.count, true});
      begin = at + 1;
    }
    CutNaturally(begin, static_cast<int32_t>(sequence_.units.size()));
    MergeLight();
    if (options_.count > 0 && Count() != options_.count)
      MW_RETURN_IF_ERROR(CutInto(options_.count));
    return Assign();
  }

 private:
  const Unit& UnitAt(int32_t position) const { return units_.units[sequence_.units[position]]; }
  int32_t Count() const {
    int32_t count = 0;
    for (const Segment& segment : segments_) count += segment.layers;
    return count;
  }
  double Flops(int32_t begin, int32_t end) const {
    double flops = 0;
    for (int32_t p = begin; p < end; ++p) flops += UnitAt(p).flops;
    return flops;
  }
  double WeightBytes(int32_t begin, int32_t end) const {
    double bytes = 0;
    for (int32_t p = begin; p < end; ++p) bytes += sequence_.weight_bytes[p];
    return bytes;
  }

  void AddSegments(int32_t begin, int32_t end, std::vector<int32_t> cuts) {
    std::sort(cuts.begin(), cuts.end());
    cuts.push_back(end);
    for (int32_t cut : cuts) {
      if (cut <= begin || cut > end) continue;
      segments_.push_back({begin, cut});
      begin = cut;
    }
  }

  // Heavy units of [begin, end), by position.
  std::vector<int32_t> HeavyIn(int32_t begin, int32_t end) const {
    const auto& heavy = sequence_.heavy;
    return {std::lower_bound(heavy.begin(), heavy.end(), begin),
            std::lower_bound(heavy.begin(), heavy.end(), end)};
  }

  void CutNaturally(int32_t begin, int32_t end) {
    if (begin == end) return;
    const std::vector<int32_t> heavy = HeavyIn(begin, end);
    std::vector<uint64_t> symbols;
    std::vector<double> flops;
    OpFingerprints fingerprints(graph_);
    for (int32_t p : heavy) {
      symbols.push_back(SymbolOf(UnitAt(p), fingerprints));
      flops.push_back(UnitAt(p).flops);
    }
    const std::vector<Repetition> repetitions =
        FindRepetitions(symbols, flops, kLeastRepeatedShare);
    if (repetitions.empty()) return AddSegments(begin, end, ClusterFreely(heavy));
    std::vector<int32_t> cuts;
    double repeated_flops = 0;
    int32_t blocks = 0, next = 0;
    std::vector<std::pair<int32_t, int32_t>> between;  // heavy units that do not repeat
    for (const Repetition& repetition : repetitions) {
      const int32_t shift = BestShift(heavy, repetition);
      const int32_t first = repetition.begin + shift, last = repetition.end() + shift;
      AddRepetition(heavy, begin, first, repetition, &cuts);
      between.emplace_back(next, first);
      next = last;
      blocks += repetition.count;
      for (int32_t h = first; h < last; ++h) repeated_flops += flops[h];
    }
    between.emplace_back(next, static_cast<int32_t>(heavy.size()));
    for (const auto& [from, to] : between) {
      double cost = 0;
      for (int32_t h = from; h < to; ++h) cost += flops[h];
      const double layers = cost * blocks / repeated_flops;
      if (layers <= 1 + options_.imbalance || to - from < 2) continue;
      const std::vector<int32_t> part(heavy.begin() + from, heavy.begin() + to);
      const auto wanted = static_cast<int32_t>(std::min<double>(std::round(layers), to - from));
      for (int32_t cut : Cluster(part, wanted).value_or(std::vector<int32_t>()))
        cuts.push_back(cut);
    }
    AddSegments(begin, end, cuts);
  }

  uint64_t SymbolOf(const Unit& unit, OpFingerprints& fingerprints) const {
    if (unit.loop < 0) return fingerprints.Of(unit.op);
    Fingerprint f;
    const Loop& loop = graph_.loops[unit.loop];
    for (size_t i = loop.begin.index(); i < loop.end.index(); ++i) f.Add(fingerprints.Of(OpId(i)));
    return f.value();
  }

  // The cut before heavy unit `h` of `heavy`; 0 < h < size.
  int32_t CutBefore(const std::vector<int32_t>& heavy, int32_t h) const {
    return NarrowestCut(sequence_, heavy[h - 1], heavy[h]);
  }

  // Where the blocks begin if they may move: where the fewest bytes cross between them.
  int32_t BestShift(const std::vector<int32_t>& heavy, const Repetition& repetition) const {
    int32_t best = 0;
    double fewest = std::numeric_limits<double>::infinity();
    for (int32_t shift = 0; shift <= repetition.slack; ++shift) {
      double bytes = 0;
      for (int32_t b = 1; b < repetition.count; ++b) {
        const int32_t h = repetition.begin + shift + b * repetition.period;
        bytes += sequence_.crossing_bytes[CutBefore(heavy, h)];
      }
      if (bytes < fewest) {
        fewest = bytes;
        best = shift;
      }
    }
    return best;
  }

  // Cuts before, between and after the blocks. More blocks than layers may be are taken together.
  void AddRepetition(const std::vector<int32_t>& heavy, int32_t begin, int32_t first,
                     const Repetition& repetition, std::vector<int32_t>* cuts) const {
    const int32_t together = (repetition.count + kMostLayers - 1) / kMostLayers;
    const auto size = static_cast<int32_t>(heavy.size());
    // Between the blocks; at either end as far behind or before what is heavy.
    const int32_t second = first + repetition.period;
    const int32_t between = CutBefore(heavy, second);
    const int32_t distance = between - heavy[second - 1];
    const double usual = sequence_.crossing_bytes[between];
    for (int32_t b = 0; b <= repetition.count; ++b) {
      const int32_t h = first + b * repetition.period;
      if ((b % together != 0 && b != repetition.count) || h == size) continue;
      if (h > 0) {
        const int32_t cut = heavy[h - 1] + distance;
        const bool fits = cut <= heavy[h] && sequence_.crossing_bytes[cut] <= usual;
        cuts->push_back(fits ? cut : CutBefore(heavy, h));
        continue;
      }
      // Nothing heavy before: what comes in as between the blocks, an embedding, is a part of its
      // own.
      int32_t cut = heavy[0];
      while (cut > begin && sequence_.crossing_bytes[cut] > usual) --cut;
      if (cut > begin) cuts->push_back(cut);
    }
  }

  // Cuts between heavy units so that `layers` parts come about, by clustering.
  std::optional<std::vector<int32_t>> Cluster(const std::vector<int32_t>& heavy,
                                              int32_t layers) const {
    const auto n = static_cast<int32_t>(heavy.size());
    if (layers > n) return std::nullopt;
    const int32_t together =
        std::max(1, std::min(n / layers, (n + kMostClustered - 1) / kMostClustered));
    std::vector<int32_t> cuts;  // before every node but the first
    ClusteringProblem problem;
    for (int32_t h = 0; h < n; h += together) {
      if (h > 0) cuts.push_back(CutBefore(heavy, h));
      double flops = 0;
      for (int32_t i = h; i < std::min(h + together, n); ++i) flops += UnitAt(heavy[i]).flops;
      problem.cost.push_back(flops);
    }
    problem.heavy.assign(problem.cost.size(), true);
    problem.layers = layers;
    const int32_t begin = heavy[0], end = heavy.back() + 1;
    const auto node = [&](int32_t p) {
      return static_cast<int32_t>(std::upper_bound(cuts.begin(), cuts.end(), p) - cuts.begin());
    };
    for (int32_t p = begin; p < end; ++p) {
      for (ValueId v : UnitAt(p).outputs) {
        for (int32_t user : units_.users[v.index()]) {
          const int32_t at = sequence_.position[user];
          if (at < 0 || at >= end || node(at) == node(p)) continue;
          problem.edges.push_back({node(p), node(at), static_cast<double>(graph_[v].shape.bytes()),
                                   static_cast<int32_t>(v.index())});
        }
      }
    }
    std::optional<Clustering> found;
    for (problem.imbalance = options_.imbalance; !found.has_value() && problem.imbalance < 1e6;
         problem.imbalance = 2 * problem.imbalance + 0.1) {
      found = ClusterLayers(problem);
    }
    if (!found.has_value()) return std::nullopt;
    std::vector<int32_t> chosen;
    for (size_t s = 1; s < found->slices.size(); ++s) {
      chosen.push_back(cuts[found->slices[s].first - 1]);
    }
    return chosen;
  }

  // As many layers as do not raise the bytes across their borders above those of two layers, as
  // Alpa's search for the number of layers finds them.
  std::vector<int32_t> ClusterFreely(const std::vector<int32_t>& heavy) const {
    const auto most = std::min<int32_t>(static_cast<int32_t>(heavy.size()) / 3, kMostLayers);
    if (most < 2) return {};
    const auto widest = [&](const std::vector<int32_t>& cuts) {
      double bytes = 0;
      for (int32_t cut : cuts) bytes = std::max(bytes, sequence_.crossing_bytes[cut]);
      return bytes;
    };
    std::vector<int32_t> best = Cluster(heavy, 2).value_or(std::vector<int32_t>());
    const double limit = widest(best);
    int32_t enough = 2, too_many = most + 1;
    while (too_many - enough > 1) {
      const int32_t layers = enough + (too_many - enough) / 2;
      std::optional<std::vector<int32_t>> cuts = Cluster(heavy, layers);
      if (cuts.has_value() && widest(*cuts) <= limit) {
        best = *std::move(cuts);
        enough = layers;
      } else {
        too_many = layers;
      }
    }
    return best;
  }

  bool IsLight(const Segment& segment) const {
    if (segment.loop) return false;
    const auto n = static_cast<int32_t>(sequence_.units.size());
    if (!HeavyIn(segment.begin, segment.end).empty()) return false;
    return Flops(segment.begin, segment.end) * Count() <= kLightFlops * Flops(0, n) &&
           WeightBytes(segment.begin, segment.end) * Count() <= kLightWeights * WeightBytes(0, n);
  }

  void MergeLight() {
    std::vector<bool> light;
    for (const Segment& segment : segments_) light.push_back(IsLight(segment));
    std::vector<Segment> merged;
    bool pending = false;  // the last of `merged` is light and waits for the next
    for (size_t s = 0; s < segments_.size(); ++s) {
      if (pending) {
        segments_[s].begin = merged.back().begin;
        merged.pop_back();
        pending = false;
      }
      if (light[s] && !merged.empty()) {
        merged.back().end = segments_[s].end;
        continue;
      }
      merged.push_back(segments_[s]);
      pending = light[s];
    }
    segments_ = std::move(merged);
  }

  absl::Status CutInto(int32_t count) {
    if (!loops_.empty()) {
      return absl::InvalidArgumentError(
          StrCat(count, " layers are wanted, but the program's loops over layers make ", Count()));
    }
    if (count > static_cast<int32_t>(sequence_.heavy.size())) {
      return absl::InvalidArgumentError(
          StrCat(count, " layers are wanted, but the forward phase has only ",
                 sequence_.heavy.size(), " matmuls and convolutions"));
    }
    const auto cuts = Cluster(sequence_.heavy, count);
    if (!cuts.has_value()) {
      return absl::InvalidArgumentError(
          StrCat("the forward phase cannot be cut into ", count, " layers"));
    }
    segments_.clear();
    AddSegments(0, static_cast<int32_t>(sequence_.units.size()), *cuts);
    return absl::OkStatus();
  }

  ForwardLayers Assign() const {
    ForwardLayers result;
    result.layer.assign(units_.units.size(), -1);
    for (const Segment& segment : segments_) {
      for (int32_t p = segment.begin; p < segment.end; ++p) {
        const bool follows = segment.loop && p > LoopPosition(segment);
        result.layer[sequence_.units[p]] = result.count + (follows ? segment.layers - 1 : 0);
      }
      result.count += segment.layers;
    }
    result.count = std::max(result.count, 1);
    // What prepares data: as late as its first user.
    for (size_t u = units_.units.size(); u-- > 0;) {
      if (!sequence_.prepares[u] || phase_[u] != Phase::kForward ||
          units_.units[u].inputs.empty()) {
        continue;
      }
      int32_t first = result.count;
      for (ValueId v : units_.units[u].outputs) {
        for (int32_t user : units_.users[v.index()]) {
          if (phase_[user] == Phase::kForward && result.layer[user] >= 0) {
            first = std::min(first, result.layer[user]);
          }
        }
      }
      result.layer[u] = first == result.count ? 0 : first;
    }
    return result;
  }

  int32_t LoopPosition(const Segment& segment) const {
    for (const LoopOverLayers& loop : loops_) {
      const int32_t at = sequence_.position[loop.unit];
      if (segment.begin <= at && at < segment.end) return at;
    }
    return segment.end;
  }

  const Graph& graph_;
  const UnitGraph& units_;
  const std::vector<Phase>& phase_;
  const std::vector<LoopOverLayers>& loops_;
  const LayerOptions& options_;
  const ForwardSequence sequence_;
  std::vector<Segment> segments_;
};

}  // namespace

absl::StatusOr<ForwardLayers> CutForwardPhase(const Graph& graph, const FusionInfo& fusion,
                                              const UnitGraph& units,
                                              const std::vector<Phase>& phase,
                                              const std::vector<LoopOverLayers>& loops,
                                              const LayerOptions& options) {
  return Cutter(graph, fusion, units, phase, loops, options).Run();
}

}  // namespace meshwright
