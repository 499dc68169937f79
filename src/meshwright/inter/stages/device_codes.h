#ifndef MESHWRIGHT_INTER_STAGES_DEVICE_CODES_H_
#define MESHWRIGHT_INTER_STAGES_DEVICE_CODES_H_

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "meshwright/inter/stages/stage_search.h"

// How many devices of each type some stages use, as one number.

namespace meshwright {

// Mixed radix, in units: the greatest common divisors of what submeshes take.
class DeviceCodes {
 public:
  explicit DeviceCodes(const StageSearchInput& input) : units_(input.devices.size(), 0) {
    for (const SubmeshChoice& choice : input.submeshes)
      units_[choice.type] = std::gcd(units_[choice.type], choice.devices);
    for (size_t t = 0; t < units_.size(); ++t) {
      possible_ = possible_ && units_[t] > 0 && input.devices[t] % units_[t] == 0;
      if (!possible_) return;
      radix_.push_back(count_);
      count_ *= input.devices[t] / units_[t] + 1;
      all_ += radix_[t] * (input.devices[t] / units_[t]);
    }
  }

  bool possible() const { return possible_; }  // the submeshes can add up to all devices
  int64_t count() const { return count_; }
  int64_t all() const { return all_; }
  int64_t Of(const SubmeshChoice& choice) const {
    return radix_[choice.type] * (choice.devices / units_[choice.type]);
  }
  // Used of type `type`.
  int64_t Used(int64_t code, size_t type) const {
    const int64_t rest = type + 1 < radix_.size() ? code % radix_[type + 1] : code;
    return rest / radix_[type] * units_[type];
  }

 private:
  std::vector<int64_t> units_, radix_;
  int64_t count_ = 1, all_ = 0;
  bool possible_ = true;
};

// Something numbered for each code, -1 where there is nothing.
class CodeSlots {
 public:
  // For codes below `count`, which must be the same in all calls. Takes time in what was there.
  void Clear(int64_t count) {
    if (count > kMostDirect) {
      hashed_ = true;
      table_.clear();
      return;
    }
    if (direct_.empty()) direct_.assign(count, -1);
    for (int64_t code : used_) direct_[code] = -1;
    used_.clear();
  }
  int32_t& At(int64_t code) {
    if (hashed_) return table_.try_emplace(code, -1).first->second;
    if (direct_[code] < 0) used_.push_back(code);
    return direct_[code];
  }

 private:
  // Codes that are addressed directly; with more a hash table takes less memory.
  static constexpr int64_t kMostDirect = int64_t{1} << 22;

  bool hashed_ = false;
  std::vector<int32_t> direct_;
  std::vector<int64_t> used_;
  absl::flat_hash_map<int64_t, int32_t> table_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_INTER_STAGES_DEVICE_CODES_H_
