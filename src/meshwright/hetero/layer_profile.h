#ifndef MESHWRIGHT_HETERO_LAYER_PROFILE_H_
#define MESHWRIGHT_HETERO_LAYER_PROFILE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace meshwright::transformer::hetero {

// Measured seconds of one layer and micro-batch, communication of tensor parallelism included.
struct LayerTime {
  double forward = 0, backward = 0;
  friend bool operator==(const LayerTime&, const LayerTime&) = default;
};

// Measured times of a model's layers by device, tensor degree and micro-batch, as comma-separated
// values with the columns
//
//   gpu, tp, layer_id, forward_seconds
//   model             optional: rows of other models (IsSameModel) are left out
//   micro_batch       optional: sequences; 1 without it
//   backward_seconds  optional: twice the forward time without it
//   sequence          optional: tokens; rows of other lengths are left out
//   dtype             optional: of matmuls, "bf16"; rows of others are left out
//
// and any others, which are not read.
// Entries count from 0: embedding, layers, head. Between measured micro-batches times lie on
// straight lines; below the first they are proportional, and beyond the last the last line goes on
// (with one, proportional). Between measured tensor degrees they lie on straight lines over 1 / tp.
class LayerProfile {
 public:
  // The subject of rows, where the file has a column for it.
  struct Subject {
    std::string_view model;
    int64_t sequence = 0;    // 0: any
    std::string_view dtype;  // empty: any
  };
  // Errors name file and line: missing columns, what is no number, an entry twice or missing, no
  // row of the subject.
  static absl::StatusOr<LayerProfile> Parse(std::string_view text, std::string_view file,
                                            const Subject& subject);

  // Seconds of every entry; none if the device was not measured or the degree lies outside of those
  // that were. `device` is measured if one of the profile's names means it (IsNameOfDevice).
  std::optional<std::vector<LayerTime>> Find(std::string_view device, int64_t tp,
                                             int64_t micro_batch) const;
  // Of the device's measured tensor degrees the nearest to `tp`, which Find has all of; 0: nothing
  // was measured on it.
  int64_t NearestDegree(std::string_view device, int64_t tp) const;
  // The largest micro-batch of which Find does not extrapolate, where it finds anything.
  int64_t MostMeasured(std::string_view device, int64_t tp) const;
  size_t entries() const { return entries_; }
  // "A10 (tp 1, 2, 4), A100 (tp 1, 2, 4)".
  std::string Measured() const;

 private:
  using ByMicroBatch = std::map<int64_t, std::vector<LayerTime>>;
  size_t entries_ = 0;
  std::map<std::string, std::map<int64_t, ByMicroBatch>> devices_;  // by name, then degree
};

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_LAYER_PROFILE_H_
