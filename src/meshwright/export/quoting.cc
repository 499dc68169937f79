#include "meshwright/export/quoting.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

// Letters, digits and what no shell gives a meaning inside a word.
bool IsPlainInShell(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("_./:,+-@%").find(c) != std::string_view::npos;
}

bool IsControl(char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); }

}  // namespace

std::string ShellWord(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), IsPlainInShell)) {
    return std::string(text);
  }
  // shellcheck takes these for what somebody wanted expanded (SC2088, SC2016).
  if (text.starts_with('~'))
    return absl::StrCat("\\~", text.size() > 1 ? ShellWord(text.substr(1)) : "");
  if (text.find_first_of("$`") != std::string_view::npos) {
    return absl::StrCat(
        "\"",
        absl::StrReplaceAll(ToAbsl(text),
                            {{"\\", "\\\\"}, {"$", "\\$"}, {"`", "\\`"}, {"\"", "\\\""}}),
        "\"");
  }
  return absl::StrCat("'", absl::StrReplaceAll(ToAbsl(text), {{"'", "'\\''"}}), "'");
}

std::string QuotedString(std::string_view text) {
  // JSON leaves DEL as it is, TOML wants it escaped.
  return absl::StrReplaceAll(Json(text).dump(), {{"\x7f", "\\u007f"}});
}

std::string CommentText(std::string_view text) {
  std::string clean(text);
  std::replace_if(clean.begin(), clean.end(), IsControl, ' ');
  return clean;
}

std::string PlainName(std::string_view text) {
  std::string name(text);
  std::replace_if(
      name.begin(), name.end(),
      [](char c) {
        return !absl::ascii_isalnum(static_cast<unsigned char>(c)) &&
               std::string_view("._-").find(c) == std::string_view::npos;
      },
      '-');
  return name;
}

bool IsUtf8(std::string_view text) {
  try {
    Json(text).dump();
  } catch (const Json::exception&) {
    return false;
  }
  return true;
}

}  // namespace meshwright
