#include "meshwright/hlo/program/reader.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/proto/reader.h"
#include "meshwright/hlo/stablehlo/bytecode_file.h"
#include "meshwright/hlo/stablehlo/jax_export.h"
#include "meshwright/hlo/stablehlo/reader.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {
namespace {

// How much is looked at: protos show control characters (field tags, lengths) at once.
constexpr size_t kProbeBytes = 4096;

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t';
}

// Whether it is text whatever follows, so that its reader says where a control character is. Protos
// begin with the tag of a module, a name or a computation, which is none of these.
bool BeginsLikeText(std::string_view contents) {
  return !contents.empty() &&
         (absl::ascii_isalpha(contents[0]) ||
          std::string_view("%/#!").find(contents[0]) != std::string_view::npos);
}

// `text` after blanks and `//` comment lines.
std::string_view SkipComments(std::string_view text) {
  while (true) {
    const size_t start = text.find_first_not_of(" \t\r\n");
    if (start == std::string_view::npos) return {};
    text.remove_prefix(start);
    if (!text.starts_with("//")) return text;
    text.remove_prefix(std::min(text.size(), text.find('\n')));
  }
}

// `module @name {`, `module attributes {...} {`, `module {`, spaced as the writer liked.
bool StartsMlirModule(std::string_view text) {
  if (!text.starts_with("module")) return false;
  text.remove_prefix(6);
  const std::string_view rest = SkipComments(text);
  return rest.starts_with('@') || rest.starts_with('{') ||
         (rest.size() < text.size() && rest.starts_with("attributes"));
}

// A value as protobuf's text format writes that of a module's first field: text in quotes, a
// number.
bool IsProtoValue(char first) {
  return first == '"' || first == '\'' || absl::ascii_isdigit(first);
}

// A proto in protobuf's text format: `hlo_module {`, `name: "m"`, behind `# proto-file: ...`. A
// brace in HLO text follows the name of a computation, and is followed by `name =`; a colon in
// other text follows any word.
bool IsTextProto(std::string_view text) {
  text = SkipComments(text);
  while (text.starts_with("# ") || text.starts_with("#\n")) {
    text.remove_prefix(std::min(text.size(), text.find('\n')));
    text = SkipComments(text);
  }
  if (StartsMlirModule(text)) return false;  // `module { module {`
  TextCursor cursor(text, "");
  for (int depth = 0; depth < 2; ++depth) {
    const std::string_view name = cursor.Name();
    if (name.empty()) return false;
    if (cursor.Consume(':')) {
      constexpr std::string_view kFields[] = {"name", "id", "entry_computation_name",
                                              "entry_computation_id"};
      return std::find(std::begin(kFields), std::end(kFields), name) != std::end(kFields) &&
             IsProtoValue(cursor.Peek());
    }
    if (!cursor.Consume('{')) return false;
  }
  return true;
}

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

// Text of two bytes a character, told by its mark or, as nearly all of a program is ASCII, by a NUL
// before or after every character.
bool IsWideText(std::string_view probe) {
  using std::string_view_literals::operator""sv;
  if (probe.starts_with("\xff\xfe"sv) || probe.starts_with("\xfe\xff"sv)) return true;
  for (const size_t nul : {0, 1}) {
    size_t i = 0;
    while (i < probe.size() && (i % 2 == nul) == (probe[i] == '\0') &&
           (i % 2 == nul || !IsControl(probe[i]))) {
      ++i;
    }
    if (i == probe.size() && i > 2) return true;
  }
  return false;
}

}  // namespace

absl::Status DecodeProgram(std::string& contents, std::string_view file_name) {
  if (contents.starts_with(kByteOrderMark)) contents.erase(0, kByteOrderMark.size());
  const std::string_view probe = std::string_view(contents).substr(0, kProbeBytes);
  std::string wrong;
  if (contents.find_first_not_of(" \t\r\n") == std::string::npos) {
    wrong = "the file is empty";
  } else if (SkipComments(contents).empty()) {
    wrong = "the file has nothing but comments";
  } else if (contents.find_first_not_of('\0') == std::string::npos) {
    wrong = "the file has nothing but NUL bytes, as if it had not been written to its end";
  } else if (IsWideText(probe)) {
    wrong = "text in UTF-16; convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)";
  } else if (std::none_of(probe.begin(), probe.end(), IsControl) && IsTextProto(contents)) {
    wrong = "a proto in protobuf's text format, which is not read; pass it in its binary format";
  } else {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      StrCat(file_name, ": ", wrong,
             "; expected a program: HLO text or proto, or StableHLO as MLIR text, bytecode or "
             "what jax.export writes"));
}

HloFormat DetectHloFormat(std::string_view contents) {
  if (contents.starts_with(kBytecodeMagic) || IsJaxExport(contents)) return HloFormat::kMlir;
  const std::string_view probe = contents.substr(0, kProbeBytes);
  if (!BeginsLikeText(contents) && std::any_of(probe.begin(), probe.end(), IsControl))
    return HloFormat::kProto;
  const std::string_view text = SkipComments(contents);
  // Aliases of attributes and types may stand first; HLO text begins with neither.
  if (text.starts_with('#') || text.starts_with('!')) return HloFormat::kMlir;
  if (StartsMlirModule(text)) return HloFormat::kMlir;
  for (const std::string_view word : {"builtin.module", "func.func", "sdy.mesh",
                                      "\"builtin.module\"", "\"func.func\"", "\"sdy.mesh\""}) {
    if (text.starts_with(word)) return HloFormat::kMlir;
  }
  return HloFormat::kText;
}

absl::StatusOr<Module> ReadHlo(const std::string& path) {
  MW_ASSIGN_OR_RETURN(std::string contents, ReadFileMaybeGzip(path));
  MW_RETURN_IF_ERROR(DecodeProgram(contents, path));
  switch (DetectHloFormat(contents)) {
    case HloFormat::kText:
      return ParseHloText(contents, path);
    case HloFormat::kProto:
      return ParseHloProto(contents, path);
    case HloFormat::kMlir:
      return ParseStablehlo(contents, path);
  }
  return absl::InternalError("a format that nobody reads");
}

}  // namespace meshwright
