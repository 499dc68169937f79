#ifndef MESHWRIGHT_HETERO_FAMILY_CACHE_H_
#define MESHWRIGHT_HETERO_FAMILY_CACHE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "meshwright/hetero/bounds.h"
#include "meshwright/hetero/costs.h"
#include "meshwright/hetero/families.h"

namespace meshwright::transformer::hetero {

// A family with its tables, as the parts of a search need it.
struct FamilyCache {
  size_t index = 0;
  const FamilyRecord* record = nullptr;
  const Costs* costs = nullptr;
  const Bounds* bounds = nullptr;
};

// Families and the tables of those used last.
class FamilyTables {
 public:
  // `coster` must outlive it.
  explicit FamilyTables(Coster& coster) : coster_(coster) {}

  void Append(std::vector<FamilyRecord> records);
  size_t size() const { return entries_.size(); }
  const FamilyRecord& record(size_t index) const { return entries_[index].record; }

  // The family with its tables, which are there until other families have been asked for. `made`
  // grows by the cells that had to be costed.
  FamilyCache Get(size_t index, int64_t* made);

 private:
  struct Entry {
    FamilyRecord record;
    std::unique_ptr<Costs> costs;  // null: not made, or given back
    std::unique_ptr<Bounds> bounds;
  };

  Coster& coster_;
  std::deque<Entry> entries_;
  std::deque<size_t> kept_;  // those with tables, the oldest first
};

}  // namespace meshwright::transformer::hetero

#endif  // MESHWRIGHT_HETERO_FAMILY_CACHE_H_
