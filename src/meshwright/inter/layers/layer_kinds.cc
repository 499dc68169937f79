#include "meshwright/inter/layers/layer_kinds.h"

#include <algorithm>
#include <unordered_map>

#include "meshwright/inter/layers/fingerprint.h"

// An op's hash is of what it does and of the hashes of what it takes, as far as that is in its own
// layer or depends on no data; of what comes from elsewhere only its shape, phase and side count.
// A layer's hash is the sum over its ops, so that their order does not matter, each with where its
// results go.

namespace meshwright {
namespace {

class KindFinder {
 public:
  KindFinder(const Graph& graph, const Layers& layers, const std::vector<bool>& shared)
      : graph_(graph),
        layers_(layers),
        shared_(shared),
        fingerprints_(graph, Entries::kAlike),
        carries_(graph.ops.size(), nullptr),
        hash_(graph.ops.size()),
        in_layer_loop_(graph.ops.size()) {
    for (const Carry& carry : graph.carries) {
      carries_[graph[carry.parameter].producer.index()] = &carry;
      if (carry.exit.valid()) carries_[graph[carry.exit].producer.index()] = &carry;
    }
    for (const LayerLoop& loop : layers.loops) {
      const Loop& range = graph.loops[loop.loop];
      for (size_t i = range.begin.index(); i < range.end.index(); ++i) in_layer_loop_[i] = true;
      for (const Carry& carry : graph.carries) {
        if (carry.loop == loop.loop && carry.exit.valid()) {
          in_layer_loop_[graph[carry.exit].producer.index()] = true;
        }
      }
    }
  }

  std::vector<int32_t> Run() {
    std::vector<Fingerprint> loops(layers_.count);
    std::vector<uint64_t> sum(layers_.count, 0);
    for (size_t i = 0; i < graph_.ops.size(); ++i) {
      if (in_layer_loop_[i]) continue;
      hash_[i] = Hash(OpId(i));
      const int32_t layer = layers_.layer[i];
      if (layer < 0 || shared_[i]) continue;
      sum[layer] += Fingerprint().Add(hash_[i]).Add(Destinations(OpId(i))).value();
    }
    for (const LayerLoop& loop : layers_.loops) {
      for (int32_t l = loop.first; l < loop.first + loop.count; ++l) {
        loops[l].Add(static_cast<uint64_t>(loop.loop));
      }
      // What its ends take from elsewhere than a layer, or give to no other, is of another role.
      if (!TakesFromLayer(loop)) loops[loop.first].Add("first");
      if (!GivesToLayer(loop)) loops[loop.first + loop.count - 1].Add("last");
    }
    std::vector<int32_t> kinds;
    std::unordered_map<uint64_t, int32_t> known;
    for (int32_t l = 0; l < layers_.count; ++l) {
      const uint64_t hash = loops[l].Add(sum[l]).value();
      kinds.push_back(known.try_emplace(hash, static_cast<int32_t>(known.size())).first->second);
    }
    return kinds;
  }

 private:
  // Whether another layer than the loop's own makes what the loop starts from, or needs its
  // results.
  bool TakesFromLayer(const LayerLoop& loop) const {
    return std::any_of(graph_.carries.begin(), graph_.carries.end(), [&](const Carry& carry) {
      return carry.loop == loop.loop && IsElsewhere(graph_[carry.init].producer, loop);
    });
  }
  bool GivesToLayer(const LayerLoop& loop) const {
    const auto elsewhere = [&](OpId op) { return IsElsewhere(op, loop); };
    return std::any_of(graph_.carries.begin(), graph_.carries.end(), [&](const Carry& carry) {
      if (carry.loop != loop.loop) {
        const OpId init = graph_[carry.init].producer;
        return carries_[init.index()] != nullptr && carries_[init.index()]->loop == loop.loop &&
               elsewhere(graph_[carry.parameter].producer);
      }
      return carry.exit.valid() && std::any_of(graph_[carry.exit].users.begin(),
                                               graph_[carry.exit].users.end(), elsewhere);
    });
  }
  bool IsElsewhere(OpId op, const LayerLoop& loop) const {
    const Carry* const carry = carries_[op.index()];
    for (const LayerLoop& other : layers_.loops) {
      if (graph_[op].loop == other.loop || (carry != nullptr && carry->loop == other.loop))
        return other.first != loop.first;
    }
    const int32_t layer = layers_.layer[op.index()];
    return layer >= 0 && (layer < loop.first || layer >= loop.first + loop.count);
  }

  uint64_t Hash(OpId id) {
    const Op& op = graph_[id];
    Fingerprint f;
    f.Add(fingerprints_.Of(id));
    f.Add(static_cast<uint64_t>(layers_.layer[id.index()] < 0 ? 0 : 1 + Phases(id)));
    for (ValueId v : op.operands) AddInput(id, v, f);
    // Around a loop an op follows from itself: what it starts from is enough.
    if (const Carry* carry = carries_[id.index()]; carry != nullptr) {
      AddInput(id, carry->init, f);
      if (op.kind == OpKind::kLoopExit) AddInput(id, carry->next, f);
    }
    return f.value();
  }

  uint64_t Phases(OpId id) const { return static_cast<uint64_t>(layers_.phase[id.index()]); }

  void AddInput(OpId user, ValueId v, Fingerprint& f) const {
    const OpId producer = graph_[v].producer;
    const int32_t from = layers_.layer[producer.index()], to = layers_.layer[user.index()];
    f.Add(static_cast<uint64_t>(graph_[v].result));
    if (shared_[producer.index()]) {
      f.Add(graph_[v].shape);
      return;
    }
    if (!in_layer_loop_[producer.index()] && (from == to || from < 0)) {
      f.Add(hash_[producer.index()]);
      return;
    }
    f.Add(graph_[v].shape).Add(Phases(producer));
    // Where sums of all layers meet, sides mean nothing.
    const bool side = layers_.phase[user.index()] != Phase::kUpdate;
    f.Add(!side || from < 0 ? 2 : from < to ? 1 : 0);
  }

  // Whether results go to other layers, into updates elsewhere, to outputs.
  uint64_t Destinations(OpId id) const {
    uint64_t mask = 0;
    for (ValueId v : graph_[id].results) {
      for (OpId user : graph_[v].users) {
        if (shared_[user.index()] || layers_.layer[user.index()] != layers_.layer[id.index()]) {
          mask |= layers_.phase[user.index()] == Phase::kUpdate ? 2 : 1;
        }
        if (graph_[user].kind == OpKind::kOutput) mask |= 4;
      }
    }
    return mask;
  }

  const Graph& graph_;
  const Layers& layers_;
  const std::vector<bool>& shared_;  // by OpId
  OpFingerprints fingerprints_;
  std::vector<const Carry*> carries_;  // by OpId: of loop parameters and exits
  std::vector<uint64_t> hash_;         // by OpId
  std::vector<bool> in_layer_loop_;    // by OpId: with the exits
};

}  // namespace

std::vector<int32_t> FindLayerKinds(const Graph& graph, const Layers& layers,
                                    const std::vector<bool>& shared) {
  return KindFinder(graph, layers, shared).Run();
}

}  // namespace meshwright
