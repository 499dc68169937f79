#ifndef MESHWRIGHT_HLO_TEXT_CURSOR_H_
#define MESHWRIGHT_HLO_TEXT_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "meshwright/hlo/source_place.h"

// The lexical level of the HLO text reader: a position in a text, the tokens that can follow it,
// and errors that say where. Nothing here knows what an instruction is.

namespace meshwright {

// Brackets and tuples nested deeper than this are refused, so that recursive descent cannot exhaust
// the stack. XLA's own programs stay below 10.
inline constexpr int kMaxTextNesting = 128;

class TextCursor {
 public:
  // Both views must outlive the cursor.
  TextCursor(std::string_view text, std::string_view file_name)
      : text_(text), file_name_(file_name) {}

  size_t position() const { return position_; }
  void set_position(size_t position) { position_ = position; }
  std::string_view text() const { return text_; }
  std::string_view file_name() const { return file_name_; }

  // Skips white space, `/* ... */` and `// ...`. Every function below does so first.
  void SkipSpace();
  // The next character, '\0' at the end (and for a NUL, which no token starts with).
  char Peek();
  bool AtEnd();
  // True, and moves past it, if `token` is next.
  bool Consume(char token);
  bool Consume(std::string_view token);
  // Like Consume for a whole word: what follows is not a character of a name.
  bool ConsumeWord(std::string_view word);
  // Error unless `token` is next. `what` completes "expected '{' ...", e.g. "before the window".
  absl::Status Expect(std::string_view token, std::string_view what = "");

  // A name: letters, digits, '_', '.', '-', '$', '@', '~'; a leading '%' is dropped. Empty, without
  // moving, if there is none. Stops before "->". A keyword is a name only behind a '%'.
  std::string_view Name();
  absl::StatusOr<int64_t> Integer();
  // `{1,2,3}`
  absl::StatusOr<std::vector<int64_t>> IntegerList();
  // A double-quoted string without its quotes, C escapes resolved.
  absl::StatusOr<std::string> QuotedString();
  // The next double-quoted string with its quotes, as it stands.
  absl::StatusOr<std::string_view> RawQuotedString();
  // Text up to a ',', a comment or a line end outside of brackets and strings, or to a closing
  // bracket that was not opened; without trailing blanks. Error if brackets do not match or the
  // text ends first. `until_blank`: also up to a blank outside of brackets and strings.
  absl::StatusOr<std::string_view> RawValue(bool until_blank = false);

  // `file:line:column: message`, for a position in the text or for the cursor's.
  absl::Status Error(size_t position, std::string_view message) const;
  absl::Status Error(std::string_view message) const { return Error(position_, message); }
  // `file:line:column: expected WHAT, found "..."`, or that the file ends here.
  absl::Status Expected(std::string_view what);
  // Of a position; cheap if asked in increasing order.
  SourcePlace PlaceAt(size_t position);

 private:
  // Moves past a quoted string whose opening quote is at `at`; npos if it does not end.
  size_t SkipQuoted(size_t at) const;

  std::string_view text_;
  std::string_view file_name_;
  size_t position_ = 0;
  size_t line_position_ = 0;  // line_ is the line of this position
  size_t line_begin_ = 0;     // where that line begins
  int32_t line_ = 1;
};

// True for characters that names are made of.
bool IsNameChar(char c);
// ROOT and ENTRY, which are no names unless a '%' stands before them.
bool IsHloKeyword(std::string_view name);

// `text` in double quotes for an error message: escaped, and cut to about 60 characters.
std::string QuoteForError(std::string_view text);

// The text of an attribute that is kept as text, spaced as XLA prints it: comments dropped, runs of
// white space made one blank, none of it after an opening or before a closing bracket or a comma.
// Strings are left alone.
std::string CanonicalText(std::string_view text);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_TEXT_CURSOR_H_
