// Depth-first search with a limit on the number of distinct segments, raised until a cover is found
// (iterative deepening). At every position one of the segments chosen so far goes on, or a new one
// begins. What was reached before, the same position with the same segments, is not searched again.
// A branch ends where the kinds of block that are still to come and in no segment chosen are more
// than the segments that may still be chosen could hold.
//
// That takes exponential time in the worst case; but a network has few kinds of blocks, in the same
// order again and again.

#include "meshwright/blocks/segments.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace meshwright {
namespace {

class Coverer {
 public:
  Coverer(const std::vector<int32_t>& kinds, const std::vector<double>& strategies,
          const SegmentOptions& options)
      : kinds_(kinds), strategies_(strategies), options_(options) {
    first_at_.resize(kinds.size());
    NameSegments();
    CountKindsToCome();
  }

  SegmentCover Run() {
    for (limit_ = 1; best_.empty(); ++limit_) {
      reached_.clear();
      Search(0, 0);
      if (steps_ > options_.most_steps && best_.empty()) return Greedy();
    }
    return Named(best_, /*exact=*/true);
  }

 private:
  using Name = int32_t;  // of a run of kinds

  // Gives every run of up to `longest` kinds a number, equal runs the same.
  void NameSegments() {
    std::map<std::pair<Name, int32_t>, Name> known;  // run without its last kind, that kind
    for (size_t i = 0; i < kinds_.size(); ++i) {
      Name name = -1;
      const size_t end = std::min(kinds_.size(), i + static_cast<size_t>(options_.longest));
      for (size_t j = i; j < end; ++j) {
        const auto [entry, is_new] =
            known.try_emplace({name, kinds_[j]}, static_cast<Name>(combinations_.size()));
        if (is_new) {
          const double before = name < 0 ? 1 : combinations_[name];
          combinations_.push_back(before * strategies_[kinds_[j]]);
          kinds_in_.emplace_back(kinds_.begin() + i, kinds_.begin() + j + 1);
        }
        name = entry->second;
        first_at_[i].push_back(name);
      }
    }
  }

  void CountKindsToCome() {
    std::set<int32_t> seen;
    to_come_.resize(kinds_.size() + 1);
    for (size_t i = kinds_.size(); i-- > 0;) {
      seen.insert(kinds_[i]);
      to_come_[i].assign(seen.begin(), seen.end());
    }
  }

  // Kinds from `at` on that no chosen segment has.
  int32_t Missing(size_t at) const {
    int32_t missing = 0;
    for (int32_t kind : to_come_[at]) {
      const bool has = std::any_of(chosen_.begin(), chosen_.end(), [&](Name name) {
        return std::find(kinds_in_[name].begin(), kinds_in_[name].end(), kind) !=
               kinds_in_[name].end();
      });
      if (!has) ++missing;
    }
    return missing;
  }

  void Search(size_t at, double combinations) {
    if (++steps_ > options_.most_steps || combinations >= best_combinations_) return;
    if (at == kinds_.size()) {
      best_ = path_;
      best_combinations_ = combinations;
      return;
    }
    const auto left = limit_ - static_cast<int32_t>(chosen_.size());
    if (Missing(at) > left * options_.longest) return;
    std::vector<Name> key = chosen_;
    std::sort(key.begin(), key.end());
    key.push_back(static_cast<Name>(at));
    if (!reached_.insert(std::move(key)).second) return;
    for (size_t length = first_at_[at].size(); length > 0; --length) {
      const Name name = first_at_[at][length - 1];
      const bool known = std::find(chosen_.begin(), chosen_.end(), name) != chosen_.end();
      if (!known && left == 0) continue;
      path_.push_back(name);
      if (!known) chosen_.push_back(name);
      Search(at + length, combinations + (known ? 0 : combinations_[name]));
      if (!known) chosen_.pop_back();
      path_.pop_back();
    }
  }

  // The longest segment that was chosen before, else the longest that comes again, else one block.
  SegmentCover Greedy() {
    std::map<Name, int32_t> times;
    for (const std::vector<Name>& names : first_at_) {
      for (Name name : names) ++times[name];
    }
    std::set<Name> chosen;
    std::vector<Name> path;
    for (size_t at = 0; at < kinds_.size(); at += kinds_in_[path.back()].size()) {
      const std::vector<Name>& names = first_at_[at];
      const auto pick = [&](const auto& wanted) {
        return std::find_if(names.rbegin(), names.rend(), wanted);
      };
      auto found = pick([&](Name name) { return chosen.count(name) > 0; });
      if (found == names.rend()) found = pick([&](Name name) { return times[name] > 1; });
      path.push_back(found == names.rend() ? names[0] : *found);
      chosen.insert(path.back());
    }
    return Named(path, /*exact=*/false);
  }

  SegmentCover Named(const std::vector<Name>& path, bool exact) const {
    SegmentCover cover;
    cover.exact = exact;
    std::map<Name, int32_t> known;
    for (Name name : path) {
      const auto [entry, is_new] =
          known.try_emplace(name, static_cast<int32_t>(cover.distinct.size()));
      if (is_new) cover.distinct.push_back(kinds_in_[name]);
      cover.sequence.push_back(entry->second);
    }
    return cover;
  }

  const std::vector<int32_t>& kinds_;
  const std::vector<double>& strategies_;
  const SegmentOptions& options_;
  std::vector<std::vector<Name>> first_at_;     // by position, by length less one
  std::vector<double> combinations_;            // by name
  std::vector<std::vector<int32_t>> kinds_in_;  // by name
  std::vector<std::vector<int32_t>> to_come_;   // by position: the kinds from there on

  int32_t limit_ = 0;
  int64_t steps_ = 0;
  std::vector<Name> chosen_, path_, best_;
  double best_combinations_ = std::numeric_limits<double>::infinity();
  std::set<std::vector<Name>> reached_;
};

}  // namespace

SegmentCover CoverWithSegments(const std::vector<int32_t>& kinds,
                               const std::vector<double>& strategies,
                               const SegmentOptions& options) {
  if (kinds.empty()) return {};
  return Coverer(kinds, strategies, options).Run();
}

}  // namespace meshwright
