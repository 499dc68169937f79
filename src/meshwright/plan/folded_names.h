#ifndef MESHWRIGHT_PLAN_FOLDED_NAMES_H_
#define MESHWRIGHT_PLAN_FOLDED_NAMES_H_

#include <string>
#include <string_view>
#include <vector>

namespace meshwright {

// What names have in common that differ only in their numbers: `*` for every number that varies, as
// in "state['layer*']['wq']". Networks repeat their layers, and tables show what repeats once.
class FoldedName {
 public:
  // `name` must have the key of those added before.
  void Add(std::string_view name);
  std::string text() const;

  // The same for all names that fold into one.
  static std::string Key(std::string_view name);

 private:
  std::vector<std::string> pieces_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_FOLDED_NAMES_H_
