#include "meshwright/export/command_text.h"

#include "absl/strings/str_replace.h"
#include "meshwright/base/printable.h"
#include "meshwright/base/strings.h"
#include "meshwright/export/quoting.h"

namespace meshwright {
namespace {

constexpr std::string_view kFirstMargin = "\n    ", kNextMargin = "\n      ";
constexpr size_t kMarginWidth = 6;
// What a line has room for behind its margin and before " \".
constexpr size_t kRoom = kColumns - kMarginWidth - 2;
// Of a word with quotes in it, each of which takes four characters.
constexpr size_t kQuotedPiece = kRoom / 4 - 1;

// `word` as a shell reads it behind a command's name, where "=" means nothing.
std::string ArgumentWord(const std::string& word) {
  const std::string plain = absl::StrReplaceAll(word, {{"=", ""}});
  return !plain.empty() && ShellWord(plain) == plain ? word : ShellWord(word);
}

// The same, broken where it is wider than a line.
std::string WholeWord(const std::string& word) {
  const std::string quoted = ArgumentWord(word);
  if (DisplayWidth(quoted) <= kRoom) return quoted;
  std::string text;
  const bool has_quotes = word.find('\'') != std::string::npos;
  for (const std::string& piece : Broken(word, has_quotes ? kQuotedPiece : kRoom - 2)) {
    StrAppend(&text, text.empty() ? "" : "\\\n", ArgumentWord(piece));
  }
  return text;
}

}  // namespace

std::string CommandText(const std::vector<CommandWords>& words) {
  std::string text;
  size_t used = 0;
  for (const CommandWords& together : words) {
    std::string piece;
    for (const std::string& word : together) {
      StrAppend(&piece, piece.empty() ? "" : " ", WholeWord(word));
    }
    const size_t width = DisplayWidth(piece);
    if (text.empty()) {
      StrAppend(&text, kFirstMargin, piece);
      used = width;
    } else if (used + 1 + width <= kRoom) {
      StrAppend(&text, " ", piece);
      used += 1 + width;
    } else {
      StrAppend(&text, " \\", kNextMargin, piece);
      used = width;
    }
    // What goes on at the beginning of a line ends it.
    if (piece.find('\n') != std::string::npos) used = kRoom;
  }
  return text;
}

std::vector<CommandWords> FixWords(const std::vector<std::string>& fixes) {
  constexpr std::string_view kOption = "--fix";
  std::vector<CommandWords> all;
  std::string list;
  for (const std::string& fix : fixes) {
    if (!list.empty() && kOption.size() + 1 + list.size() + 1 + fix.size() > kRoom) {
      all.push_back({std::string(kOption), list});
      list.clear();
    }
    StrAppend(&list, list.empty() ? "" : ",", fix);
  }
  if (!list.empty()) all.push_back({std::string(kOption), list});
  return all;
}

}  // namespace meshwright
