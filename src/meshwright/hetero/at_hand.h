#ifndef MESHWRIGHT_HETERO_AT_HAND_H_
#define MESHWRIGHT_HETERO_AT_HAND_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "meshwright/hetero/bounds.h"
#include "meshwright/hetero/costs.h"
#include "meshwright/hetero/families.h"

namespace meshwright::transformer {

// A family with its tables, as the parts of a search need it.
struct MixedAtHand {
  size_t index = 0;
  const MixedFamilyRecord* record = nullptr;
  const MixedCosts* costs = nullptr;
  const MixedBounds* bounds = nullptr;
};

// Families and the tables of those used last.
class MixedFamilyTables {
 public:
  // `coster` must outlive it.
  explicit MixedFamilyTables(MixedCoster& coster) : coster_(coster) {}

  void Append(std::vector<MixedFamilyRecord> records);
  size_t size() const { return entries_.size(); }
  const MixedFamilyRecord& record(size_t index) const { return entries_[index].record; }

  // The family with its tables, which are there until other families have been asked for. `made`
  // grows by the cells that had to be costed.
  MixedAtHand Get(size_t index, int64_t* made);

 private:
  struct Entry {
    MixedFamilyRecord record;
    std::unique_ptr<MixedCosts> costs;  // null: not made, or given back
    std::unique_ptr<MixedBounds> bounds;
  };

  MixedCoster& coster_;
  std::deque<Entry> entries_;
  std::deque<size_t> kept_;  // those with tables, the oldest first
};

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_HETERO_AT_HAND_H_
