#include "meshwright/hlo/text/metadata.h"

#include <string_view>

#include "absl/strings/escaping.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

struct StringField {
  std::string_view name;
  std::string Metadata::*member;
};
struct NumberField {
  std::string_view name;
  int64_t Metadata::*member;
};

// In XLA's order; the fields of Metadata::other come between leading and trailing ones.
constexpr StringField kLeadingStrings[] = {
    {"op_type", &Metadata::op_type},
    {"op_name", &Metadata::op_name},
    {"source_file", &Metadata::source_file},
};
constexpr NumberField kNumbers[] = {
    {"source_line", &Metadata::source_line},
    {"source_end_line", &Metadata::source_end_line},
    {"source_column", &Metadata::source_column},
    {"source_end_column", &Metadata::source_end_column},
};
constexpr StringField kTrailingStrings[] = {
    {"deduplicated_name", &Metadata::deduplicated_name},
    {"scheduling_name", &Metadata::scheduling_name},
};
constexpr NumberField kTrailingNumbers[] = {
    {"stack_frame_id", &Metadata::stack_frame_id},
};

template <typename Field, size_t kSize>
const Field* FindField(const Field (&fields)[kSize], std::string_view name) {
  for (const Field& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

const StringField* FindString(std::string_view name) {
  const StringField* field = FindField(kLeadingStrings, name);
  return field != nullptr ? field : FindField(kTrailingStrings, name);
}
const NumberField* FindNumber(std::string_view name) {
  const NumberField* field = FindField(kNumbers, name);
  return field != nullptr ? field : FindField(kTrailingNumbers, name);
}

class MetadataWriter {
 public:
  explicit MetadataWriter(const Metadata& metadata) : metadata_(metadata) {}

  template <size_t kSize>
  void Write(const StringField (&fields)[kSize]) {
    for (const StringField& field : fields) {
      const std::string& value = metadata_.*field.member;
      if (!value.empty()) Write(field.name, QuotedText(value));
    }
  }
  template <size_t kSize>
  void Write(const NumberField (&fields)[kSize]) {
    for (const NumberField& field : fields) {
      const int64_t value = metadata_.*field.member;
      if (value != 0) Write(field.name, StrCat(value));
    }
  }
  void Write(std::string_view name, std::string_view text) {
    StrAppend(&out_, out_.size() > 1 ? " " : "", name, "=", text);
  }
  std::string Finish() { return out_ + "}"; }

 private:
  const Metadata& metadata_;
  std::string out_ = "{";
};

// True if `value` in its plain form would be read back as one braced value.
bool IsBraced(std::string_view value) {
  if (!value.starts_with("{")) return false;
  TextCursor cursor(value, "");
  const absl::StatusOr<std::string_view> raw = cursor.RawValue();
  return raw.ok() && raw->size() == value.size();
}

}  // namespace

std::string QuotedText(std::string_view text) {
  return StrCat("\"", absl::CEscape(ToAbsl(text)), "\"");
}

absl::Status ReadMetadata(TextCursor& cursor, Metadata& metadata) {
  MW_RETURN_IF_ERROR(cursor.Expect("{", "before the metadata"));
  while (!cursor.Consume('}')) {
    const std::string_view name = cursor.Name();
    if (name.empty()) return cursor.Expected("the name of a metadata field or '}'");
    MW_RETURN_IF_ERROR(cursor.Expect("=", "after the name of a metadata field"));
    if (const StringField* field = FindString(name)) {
      MW_ASSIGN_OR_RETURN(metadata.*field->member, cursor.QuotedString());
    } else if (const NumberField* number = FindNumber(name)) {
      MW_ASSIGN_OR_RETURN(metadata.*number->member, cursor.Integer());
    } else {
      MW_ASSIGN_OR_RETURN(const std::string_view value, cursor.RawValue(/*until_blank=*/true));
      if (value.empty()) return cursor.Expected("a value of the metadata field");
      metadata.other.emplace_back(name, CanonicalText(value));
    }
    cursor.Consume(',');
  }
  return absl::OkStatus();
}

std::string MetadataText(const Metadata& metadata) {
  MetadataWriter writer(metadata);
  writer.Write(kLeadingStrings);
  writer.Write(kNumbers);
  for (const auto& [name, text] : metadata.other) writer.Write(name, text);
  writer.Write(kTrailingStrings);
  writer.Write(kTrailingNumbers);
  return writer.Finish();
}

absl::Status ReadFrontendAttributes(TextCursor& cursor, StringPairs& attributes) {
  MW_RETURN_IF_ERROR(cursor.Expect("{", "before frontend attributes"));
  if (cursor.Consume('}')) return absl::OkStatus();
  do {
    const std::string_view name = cursor.Name();
    if (name.empty()) return cursor.Expected("the name of a frontend attribute");
    MW_RETURN_IF_ERROR(cursor.Expect("=", "after the name of a frontend attribute"));
    if (cursor.Peek() == '"') {
      MW_ASSIGN_OR_RETURN(std::string value, cursor.QuotedString());
      attributes.emplace_back(name, std::move(value));
    } else {
      MW_ASSIGN_OR_RETURN(const std::string_view value, cursor.RawValue());
      attributes.emplace_back(name, value);
    }
  } while (cursor.Consume(','));
  return cursor.Expect("}", "after frontend attributes");
}

std::string FrontendAttributesText(const StringPairs& attributes) {
  std::string out = "{";
  for (const auto& [name, value] : attributes) {
    StrAppend(&out, out.size() > 1 ? "," : "", name, "=",
              IsBraced(value) ? value : QuotedText(value));
  }
  return out + "}";
}

}  // namespace meshwright
