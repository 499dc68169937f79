#include "meshwright/plan/folded_names.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"

namespace meshwright {
namespace {

// A name cut into its numbers (odd places) and what is between them (even places): "layer12/w" is
// {"layer", "12", "/w"}. A `*` counts as a number, so that folded names fold with others.
std::vector<std::string> NamePieces(std::string_view name) {
  std::vector<std::string> pieces = {""};
  for (char c : name) {
    const bool digit = c == '*' || absl::ascii_isdigit(static_cast<unsigned char>(c));
    if (digit != (pieces.size() % 2 == 0)) pieces.emplace_back();
    pieces.back().push_back(c);
  }
  return pieces;
}

}  // namespace

void FoldedName::Add(std::string_view name) {
  std::vector<std::string> pieces = NamePieces(name);
  if (pieces_.empty()) {
    pieces_ = std::move(pieces);
    return;
  }
  for (size_t i = 1; i < pieces.size(); i += 2) {
    if (pieces[i] != pieces_[i]) pieces_[i] = "*";
  }
}

std::string FoldedName::text() const { return absl::StrJoin(pieces_, ""); }

std::string FoldedName::Key(std::string_view name) {
  std::vector<std::string> pieces = NamePieces(name);
  for (size_t i = 1; i < pieces.size(); i += 2) pieces[i] = "*";
  return absl::StrJoin(pieces, "");
}

}  // namespace meshwright
