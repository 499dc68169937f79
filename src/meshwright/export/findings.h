#ifndef MESHWRIGHT_EXPORT_FINDINGS_H_
#define MESHWRIGHT_EXPORT_FINDINGS_H_

#include <string>
#include <vector>

#include "meshwright/base/strings.h"

namespace meshwright {

// Collects which rules of a framework something breaks. A search over configurations only asks
// whether there are any, and pays for no text.
class Findings {
 public:
  // `wording`: keep a sentence for each; else only ok() says something.
  explicit Findings(bool wording) : wording_(wording) {}

  // `pieces` say what is wrong and what would be right, with the rule first.
  template <typename... Pieces>
  void Require(bool holds, const Pieces&... pieces) {
    if (holds) return;
    ok_ = false;
    if (wording_) Add(StrCat(pieces...));
  }

  bool ok() const { return ok_; }
  const std::vector<std::string>& sentences() const { return sentences_; }

 private:
  void Add(std::string&& sentence);

  bool wording_;
  bool ok_ = true;
  std::vector<std::string> sentences_;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_EXPORT_FINDINGS_H_
