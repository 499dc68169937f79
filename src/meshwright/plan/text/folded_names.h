#ifndef MESHWRIGHT_PLAN_TEXT_FOLDED_NAMES_H_
#define MESHWRIGHT_PLAN_TEXT_FOLDED_NAMES_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace meshwright {

// What names have in common that differ only in their numbers, as a pattern (see GlobMatch) with
// these numbers: "state['layer{0..23}']['wq']". Networks repeat their layers, and tables show what
// repeats once.
class FoldedName {
 public:
  // `name` must have the key of those added before.
  void Add(std::string_view name);

  // A pattern that matches the names that were added and no others. Where numbers are too irregular
  // to be listed, or do not combine freely, `*` stands for those that vary, and the pattern may
  // match more: see exact().
  std::string text() const;
  bool exact() const;
  // How many different names were added.
  int64_t names() const { return static_cast<int64_t>(names_.size()); }

  // The same for all names that fold into one.
  static std::string Key(std::string_view name);

 private:
  std::vector<std::string> pieces_;             // of the first; those at odd places are numbers
  std::vector<std::set<std::string>> numbers_;  // by odd place: all that were there
  std::set<std::string, std::less<>> names_;
};

// How many arrays or operators a folded name stands for: "x4", "" of one; "x4 of *" where the name
// is not exact and matches others too.
std::string TimesText(int64_t count, bool exact = true);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_TEXT_FOLDED_NAMES_H_
