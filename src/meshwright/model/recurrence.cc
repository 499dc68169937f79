#include "meshwright/model/recurrence.h"

#include <algorithm>

namespace meshwright::transformer {
namespace {

// What the projection of a token gives, and what of it goes through the convolution.
struct Widths {
  int64_t projected = 0, convolved = 0;
};

Widths WidthsOf(const Recurrence& r) {
  const int64_t inner = r.channels(), keys = 2 * r.groups * r.state;
  switch (r.kind) {
    case RecurrenceKind::kSelective:
      return {2 * inner, inner};
    case RecurrenceKind::kStateSpaceDual:
      return {2 * inner + keys + r.heads, inner + keys};
    case RecurrenceKind::kGatedDelta:
      return {2 * inner + keys, inner + keys};
    case RecurrenceKind::kGatedUnit:
      return {inner, inner};
    case RecurrenceKind::kConvolution:
      return {3 * inner, inner};
    case RecurrenceKind::kLightning:
      return {3 * inner, 0};
    case RecurrenceKind::kWeightedSum:
      return {3 * inner, 0};
  }
  return {};
}

}  // namespace

int64_t SplitOver(const Recurrence& r) { return r.heads > 1 ? r.heads : r.head_dim; }

std::vector<WeightShape> RecurrenceParameters(const Recurrence& r, int64_t hidden) {
  const int64_t inner = r.channels();
  const auto [projected, convolved] = WidthsOf(r);
  std::vector<WeightShape> all;
  const auto matrix = [&](Part part, std::vector<int64_t> shape, bool bias = false) {
    all.push_back({part, std::move(shape), bias, /*matrix=*/true});
  };
  const auto other = [&](Part part, std::vector<int64_t> shape, bool bias = false) {
    all.push_back({part, std::move(shape), bias});
  };
  if (r.kind == RecurrenceKind::kWeightedSum) {
    for (const Part part : {Part::kKey, Part::kValue, Part::kReceptance})
      matrix(part, {inner, hidden});
  } else {
    matrix(Part::kRecurrenceInput, {projected, hidden}, r.bias);
  }
  if (r.kind == RecurrenceKind::kGatedUnit) matrix(Part::kRecurrenceGate, {inner, hidden}, r.bias);
  if (r.kind == RecurrenceKind::kGatedDelta) matrix(Part::kRecurrenceGate, {2 * r.heads, hidden});
  if (r.kind == RecurrenceKind::kLightning) matrix(Part::kRecurrenceGate, {inner, hidden});
  if (r.taps > 0) other(Part::kConvolution, {convolved, 1, r.taps}, r.convolution_bias);
  switch (r.kind) {
    case RecurrenceKind::kSelective:
      matrix(Part::kSelection, {r.rank + 2 * r.state, inner});
      matrix(Part::kTimeStep, {inner, r.rank}, /*bias=*/true);
      other(Part::kDecay, {inner, r.state});
      other(Part::kSkip, {inner});
      if (!r.norms) break;
      other(Part::kTimeStepNorm, {r.rank});
      other(Part::kStateInputNorm, {r.state});
      other(Part::kStateOutputNorm, {r.state});
      break;
    case RecurrenceKind::kStateSpaceDual:
      other(Part::kTimeStepBias, {r.heads});
      other(Part::kDecay, {r.heads});
      other(Part::kSkip, {r.heads});
      other(Part::kRecurrenceNorm, {inner});
      break;
    case RecurrenceKind::kGatedDelta:
      other(Part::kTimeStepBias, {r.heads});
      other(Part::kDecay, {r.heads});
      other(Part::kRecurrenceNorm, {r.head_dim});
      break;
    case RecurrenceKind::kGatedUnit:
      for (const Part gate : {Part::kInputGate, Part::kDecayGate}) {
        matrix(gate, {r.heads, r.head_dim, r.head_dim});
        other(gate == Part::kInputGate ? Part::kInputGateBias : Part::kDecayGateBias,
              {r.heads, r.head_dim});
      }
      other(Part::kDecay, {inner});
      break;
    case RecurrenceKind::kConvolution:
      break;
    case RecurrenceKind::kLightning:
      other(Part::kRecurrenceNorm, {inner});
      break;
    case RecurrenceKind::kWeightedSum:
      other(Part::kTokenMix, {3, hidden});  // of keys, values and receptance
      other(Part::kDecay, {inner});
      other(Part::kSkip, {inner});
      break;
  }
  matrix(Part::kRecurrenceOutput, {hidden, inner}, r.bias);
  return all;
}

std::vector<Matmul> ScanMatmuls(const Recurrence& r, int64_t tokens) {
  std::vector<Matmul> all;
  if (r.chunk == 0 || tokens == 0) return all;
  const int64_t chunk = std::min(r.chunk, tokens), chunks = (tokens + chunk - 1) / chunk;
  const auto add = [&](int64_t m, int64_t n, int64_t k, int64_t heads) {
    all.push_back({.kind = MatmulKind::kScan,
                   .part = Part::kDecay,
                   .m = m,
                   .n = n,
                   .k = k,
                   .batch = chunks * heads});
  };
  if (r.kind == RecurrenceKind::kGatedDelta) {
    // Keys times keys, and the triangular inverse of that times keys and values (the WY form).
    add(chunk, chunk, r.state, r.heads);
    add(chunk, r.state, chunk, r.heads);
    add(chunk, r.head_dim, chunk, r.heads);
    // What the state before the chunk gives for each key.
    add(chunk, r.head_dim, r.state, r.heads);
  }
  // Within a chunk, as attention does: queries times keys, times values.
  add(chunk, chunk, r.state, r.kind == RecurrenceKind::kGatedDelta ? r.heads : r.groups);
  add(chunk, r.head_dim, chunk, r.heads);
  // What a chunk adds to the state, and what is read of the state before it.
  add(r.state, r.head_dim, chunk, r.heads);
  add(chunk, r.head_dim, r.state, r.heads);
  return all;
}

double RecurrenceTraffic(const Recurrence& r) {
  const auto [projected, convolved] = WidthsOf(r);
  const double inner = static_cast<double>(r.channels());
  // The convolution reads and writes; the scan reads what it wrote and what else was projected, and
  // writes its result, which a norm or a gate reads and writes once more.
  return 2 * static_cast<double>(convolved) + static_cast<double>(projected) + 3 * inner +
         (r.kind == RecurrenceKind::kSelective ? inner : 0);  // the steps
}

double RecurrenceKept(const Recurrence& r) {
  const auto [projected, convolved] = WidthsOf(r);
  const double inner = static_cast<double>(r.channels());
  const double gates = r.kind == RecurrenceKind::kGatedUnit ? 3 * inner : 0;
  const double steps =
      r.kind == RecurrenceKind::kSelective ? inner + static_cast<double>(r.rank + 2 * r.state) : 0;
  return static_cast<double>(projected + convolved) + 2 * inner + gates + steps;
}

}  // namespace meshwright::transformer
