#include "meshwright/hetero/family_cache.h"

#include <utility>

namespace meshwright::transformer::hetero {
namespace {

constexpr int64_t kMostKeptCells = 20'000'000;  // of costs in memory, 32 bytes each

}  // namespace

void FamilyTables::Append(std::vector<FamilyRecord> records) {
  for (FamilyRecord& record : records) entries_.push_back({std::move(record), {}, {}});
}

FamilyCache FamilyTables::Get(size_t index, int64_t* made) {
  Entry& entry = entries_[index];
  if (entry.costs == nullptr) {
    const int64_t before = coster_.cells_made();
    entry.costs = std::make_unique<Costs>(coster_.CostsOf(entry.record.family));
    entry.bounds = std::make_unique<Bounds>(*entry.costs);
    *made += coster_.cells_made() - before;
    kept_.push_back(index);
    // As if nothing were shared.
    const int64_t cells = entry.costs->layers() * (entry.costs->layers() + 1) *
                          static_cast<int64_t>(entry.costs->groups());
    if (static_cast<int64_t>(kept_.size()) * cells > kMostKeptCells && kept_.size() > 1) {
      entries_[kept_.front()].bounds.reset();
      entries_[kept_.front()].costs.reset();
      kept_.pop_front();
    }
  }
  return {index, &entry.record, entry.costs.get(), entry.bounds.get()};
}

}  // namespace meshwright::transformer::hetero
