#ifndef MESHWRIGHT_INTER_LAYERS_FINGERPRINT_H_
#define MESHWRIGHT_INTER_LAYERS_FINGERPRINT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "meshwright/hlo/graph.h"

// Hashes of what operators do: names, metadata and shardings play no part.

namespace meshwright {

class Fingerprint {
 public:
  Fingerprint& Add(uint64_t value) {
    state_ = Mix(state_ ^ (value + 0x9e3779b97f4a7c15));
    return *this;
  }
  Fingerprint& Add(std::string_view text);
  Fingerprint& Add(const std::vector<int64_t>& list);
  Fingerprint& Add(const Shape& shape);
  uint64_t value() const { return state_; }

 private:
  static uint64_t Mix(uint64_t x) {  // splitmix64
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  }
  uint64_t state_ = 0x51ed270b35ea4d5f;
};

// Whether it counts which entry of a dimension is taken (a slice of size 1), or which it becomes (a
// size of 1 that is padded). It does for what is computed; it does not for what that costs and for
// how shardings go through it, as a dimension that is cut or padded is never sharded. So layers are
// alike whose weights are entries of one stack.
enum class Entries : uint8_t { kByIndex, kAlike };

// Fingerprints of operators of one graph.
class OpFingerprints {
 public:
  explicit OpFingerprints(const Graph& graph, Entries entries = Entries::kByIndex)
      : graph_(graph), entries_(entries) {}
  // Opcode, attributes, called computations, shapes of operands and results.
  uint64_t Of(OpId op);

 private:
  uint64_t OfComputation(ComputationId id);
  void AddAttributes(const Instruction& instruction, Fingerprint& fingerprint);

  const Graph& graph_;
  const Entries entries_;
  std::unordered_map<int32_t, uint64_t> computations_;
};

// 16 hexadecimal digits of what a program computes: its operators, and which takes what of which.
std::string GraphFingerprint(const Graph& graph);

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_LAYERS_FINGERPRINT_H_
