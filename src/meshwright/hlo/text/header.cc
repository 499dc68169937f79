#include "meshwright/hlo/text/header.h"

#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/metadata.h"
#include "meshwright/hlo/text/shape.h"

namespace meshwright {
namespace {

std::string IndexText(const std::vector<int64_t>& index) {
  return StrCat("{", absl::StrJoin(index, ","), "}");
}

// --- attributes of the HloModule line, in the order XLA prints them ---

// `{ {0}: (1, {}, may-alias), {2,1}: (3, {0}, must-alias) }`
absl::Status ReadAliases(TextCursor& cursor, Module& module) {
  MW_RETURN_IF_ERROR(cursor.Expect("{", "before the aliases"));
  if (cursor.Consume('}')) return absl::OkStatus();
  do {
    InputOutputAlias& alias = module.input_output_alias.emplace_back();
    MW_ASSIGN_OR_RETURN(alias.output, cursor.IntegerList());
    MW_RETURN_IF_ERROR(cursor.Expect(":", "after the index of an output"));
    if (!cursor.Consume('(')) {  // before 2019: the parameter's number alone
      MW_ASSIGN_OR_RETURN(alias.parameter, cursor.Integer());
      continue;
    }
    MW_ASSIGN_OR_RETURN(alias.parameter, cursor.Integer());
    MW_RETURN_IF_ERROR(cursor.Expect(",", "after the parameter number of an alias"));
    MW_ASSIGN_OR_RETURN(alias.parameter_index, cursor.IntegerList());
    if (cursor.Consume(',')) {
      alias.must = cursor.ConsumeWord("must-alias");
      if (!alias.must && !cursor.ConsumeWord("may-alias")) {
        return cursor.Expected("may-alias or must-alias");
      }
    }
    MW_RETURN_IF_ERROR(cursor.Expect(")", "after an alias"));
  } while (cursor.Consume(','));
  return cursor.Expect("}", "after the aliases");
}
std::string AliasesText(const Module& module) {
  if (module.input_output_alias.empty()) return "";
  return StrCat("{ ",
                absl::StrJoin(module.input_output_alias, ", ",
                              [](std::string* out, const InputOutputAlias& alias) {
                                StrAppend(out, IndexText(alias.output), ": (", alias.parameter,
                                          ", ", IndexText(alias.parameter_index), ", ",
                                          alias.must ? "must-alias" : "may-alias", ")");
                              }),
                " }");
}

// `{ (0, {}), (1, {2}) }`
absl::Status ReadDonors(TextCursor& cursor, Module& module) {
  MW_RETURN_IF_ERROR(cursor.Expect("{", "before the buffer donors"));
  if (cursor.Consume('}')) return absl::OkStatus();
  do {
    auto& [parameter, index] = module.buffer_donors.emplace_back();
    MW_RETURN_IF_ERROR(cursor.Expect("(", "before a buffer donor"));
    MW_ASSIGN_OR_RETURN(parameter, cursor.Integer());
    MW_RETURN_IF_ERROR(cursor.Expect(",", "after the parameter number of a buffer donor"));
    MW_ASSIGN_OR_RETURN(index, cursor.IntegerList());
    MW_RETURN_IF_ERROR(cursor.Expect(")", "after a buffer donor"));
  } while (cursor.Consume(','));
  return cursor.Expect("}", "after the buffer donors");
}
std::string DonorsText(const Module& module) {
  if (module.buffer_donors.empty()) return "";
  return StrCat("{ ",
                absl::StrJoin(module.buffer_donors, ", ",
                              [](std::string* out, const auto& donor) {
                                StrAppend(out, "(", donor.first, ", ", IndexText(donor.second),
                                          ")");
                              }),
                " }");
}

// `{(f32[2]{0}, s32[])->f32[2]{0}}`
absl::Status ReadEntryLayout(TextCursor& cursor, Module& module) {
  MW_RETURN_IF_ERROR(cursor.Expect("{", "before the entry computation's layout"));
  MW_ASSIGN_OR_RETURN(Shape parameters, ParseShape(cursor));
  if (!parameters.is_tuple()) return cursor.Error("expected the parameters' shapes in '(' and ')'");
  module.entry_parameter_layouts = std::move(parameters.tuple);
  MW_RETURN_IF_ERROR(cursor.Expect("->", "after the parameters' shapes"));
  MW_ASSIGN_OR_RETURN(module.entry_result_layout, ParseShape(cursor));
  return cursor.Expect("}", "after the entry computation's layout");
}
std::string EntryLayoutText(const Module& module) {
  if (module.entry_result_layout.type == ElementType::kInvalid) return "";
  return StrCat("{", Shape::Tuple(module.entry_parameter_layouts).ToString(), "->",
                module.entry_result_layout.ToString(), "}");
}

absl::Status ReadIsScheduled(TextCursor& cursor, Module& module) {
  module.is_scheduled = cursor.ConsumeWord("true");
  if (!module.is_scheduled && !cursor.ConsumeWord("false")) return cursor.Expected("true or false");
  return absl::OkStatus();
}
std::string IsScheduledText(const Module& module) { return module.is_scheduled ? "true" : ""; }

struct HeaderAttribute {
  std::string_view name;
  absl::Status (*read)(TextCursor& cursor, Module& module);
  std::string (*write)(const Module& module);  // empty: not printed
};

constexpr HeaderAttribute kAttributes[] = {
    {"is_scheduled", ReadIsScheduled, IsScheduledText},
    {"input_output_alias", ReadAliases, AliasesText},
    {"buffer_donor", ReadDonors, DonorsText},
    {"entry_computation_layout", ReadEntryLayout, EntryLayoutText},
};

// Header attributes that say for how many devices a module is, the one that is named in messages
// last.
void NoteDevices(std::string_view name, SourcePlace place, Module& module) {
  const bool partitions = name == "num_partitions";
  if (partitions || (name == "replica_count" && module.devices_place.line == 0)) {
    module.devices_place = place;
  }
}

absl::Status ReadAttribute(TextCursor& cursor, Module& module,
                           std::vector<std::string_view>& seen) {
  cursor.SkipSpace();
  const size_t at = cursor.position();
  const std::string_view name = cursor.Name();
  if (name.empty()) return cursor.Expected("the name of a module attribute");
  for (const std::string_view other : seen) {
    if (other == name) return cursor.Error(at, StrCat("attribute ", name, " is given twice"));
  }
  if (seen.size() > 100) return cursor.Error(at, "more than 100 module attributes");
  seen.push_back(name);
  MW_RETURN_IF_ERROR(cursor.Expect("=", "after the name of a module attribute"));
  for (const HeaderAttribute& attribute : kAttributes) {
    if (attribute.name == name) return attribute.read(cursor, module);
  }
  MW_ASSIGN_OR_RETURN(const std::string_view value, cursor.RawValue());
  module.other.emplace_back(name, CanonicalText(value));
  if (value != "1") NoteDevices(name, cursor.PlaceAt(at), module);
  return absl::OkStatus();
}

// --- tables ---

// Reads `1 ENTRY`, `2 ENTRY`, ... with `read_entry`.
template <typename ReadEntry>
absl::Status ReadTable(TextCursor& cursor, const ReadEntry& read_entry) {
  for (int64_t next = 1; cursor.Peek() >= '0' && cursor.Peek() <= '9'; ++next) {
    const size_t at = cursor.position();
    MW_ASSIGN_OR_RETURN(const int64_t number, cursor.Integer());
    if (number != next) {
      return cursor.Error(at,
                          StrCat("table entry ", number, " stands where ", next, " was expected"));
    }
    MW_RETURN_IF_ERROR(read_entry());
  }
  return absl::OkStatus();
}

absl::Status ReadNames(TextCursor& cursor, std::vector<std::string>& names) {
  return ReadTable(cursor, [&]() -> absl::Status {
    MW_ASSIGN_OR_RETURN(names.emplace_back(), cursor.QuotedString());
    return absl::OkStatus();
  });
}

template <typename Row>
struct RowField {
  std::string_view name;
  int64_t Row::*member;
};
constexpr RowField<FileLocation> kFileLocationFields[] = {
    {"file_name_id", &FileLocation::file_name_id},
    {"function_name_id", &FileLocation::function_name_id},
    {"line", &FileLocation::line},
    {"end_line", &FileLocation::end_line},
    {"column", &FileLocation::column},
    {"end_column", &FileLocation::end_column},
};
constexpr RowField<StackFrame> kStackFrameFields[] = {
    {"file_location_id", &StackFrame::file_location_id},
    {"parent_frame_id", &StackFrame::parent_frame_id},
};

template <typename Row, size_t kSize>
absl::Status ReadRows(TextCursor& cursor, const RowField<Row> (&fields)[kSize],
                      std::vector<Row>& rows) {
  return ReadTable(cursor, [&]() -> absl::Status {
    Row& row = rows.emplace_back();
    MW_RETURN_IF_ERROR(cursor.Expect("{", "before a table entry"));
    while (!cursor.Consume('}')) {
      cursor.SkipSpace();
      const size_t at = cursor.position();
      const std::string_view name = cursor.Name();
      const RowField<Row>* found = nullptr;
      for (const RowField<Row>& field : fields) {
        if (field.name == name) found = &field;
      }
      if (found == nullptr) {
        cursor.set_position(at);
        std::string names;
        for (const RowField<Row>& field : fields) StrAppend(&names, field.name, "=, ");
        return cursor.Expected(StrCat(names, "or '}'"));
      }
      MW_RETURN_IF_ERROR(cursor.Expect("="));
      MW_ASSIGN_OR_RETURN(row.*found->member, cursor.Integer());
    }
    return absl::OkStatus();
  });
}

void AppendNames(std::string_view title, const std::vector<std::string>& names, std::string& out) {
  if (names.empty()) return;
  StrAppend(&out, title, "\n");
  for (size_t i = 0; i < names.size(); ++i) {
    StrAppend(&out, i + 1, " ", QuotedText(names[i]), "\n");
  }
  out += '\n';
}

template <typename Row, size_t kSize>
void AppendRows(std::string_view title, const RowField<Row> (&fields)[kSize],
                const std::vector<Row>& rows, std::string& out) {
  if (rows.empty()) return;
  StrAppend(&out, title, "\n");
  for (size_t i = 0; i < rows.size(); ++i) {
    StrAppend(&out, i + 1, " {");
    for (size_t f = 0; f < kSize; ++f) {
      StrAppend(&out, f > 0 ? " " : "", fields[f].name, "=", rows[i].*fields[f].member);
    }
    out += "}\n";
  }
  out += '\n';
}

// Next is `ENTRY`, `name {` or `name (parameters) -> ...`, or an instruction, `name =` or `type[`.
bool StartsWithoutHeader(TextCursor& cursor) {
  cursor.SkipSpace();
  const size_t at = cursor.position();
  constexpr std::string_view kFollowing = "{(=[";
  const bool starts =
      cursor.ConsumeWord("ENTRY") ||
      (!cursor.Name().empty() && kFollowing.find(cursor.Peek()) != std::string_view::npos);
  cursor.set_position(at);
  return starts;
}

}  // namespace

absl::Status ReadModuleHeader(TextCursor& cursor, Module& module) {
  if (!cursor.ConsumeWord("HloModule")) {
    const bool starts = StartsWithoutHeader(cursor);
    if (starts) return absl::OkStatus();
    return cursor.Expected("'HloModule' (HLO text) or 'module' (MLIR)");
  }
  const std::string_view name = cursor.Name();
  if (name.empty()) return cursor.Expected("the module's name");
  module.name = std::string(name);
  cursor.Consume(':');  // some people write it, and XLA's lexer drops it behind any name
  std::vector<std::string_view> seen;
  while (cursor.Consume(',')) MW_RETURN_IF_ERROR(ReadAttribute(cursor, module, seen));
  while (true) {
    if (cursor.ConsumeWord("FileNames")) {
      MW_RETURN_IF_ERROR(ReadNames(cursor, module.file_names));
    } else if (cursor.ConsumeWord("FunctionNames")) {
      MW_RETURN_IF_ERROR(ReadNames(cursor, module.function_names));
    } else if (cursor.ConsumeWord("FileLocations")) {
      MW_RETURN_IF_ERROR(ReadRows(cursor, kFileLocationFields, module.file_locations));
    } else if (cursor.ConsumeWord("StackFrames")) {
      MW_RETURN_IF_ERROR(ReadRows(cursor, kStackFrameFields, module.stack_frames));
    } else {
      return absl::OkStatus();
    }
  }
}

void AppendModuleHeader(const Module& module, std::string& out) {
  StrAppend(&out, "HloModule ", module.name);
  for (const HeaderAttribute& attribute : kAttributes) {
    const std::string text = attribute.write(module);
    if (!text.empty()) StrAppend(&out, ", ", attribute.name, "=", text);
  }
  for (const auto& [name, text] : module.other) StrAppend(&out, ", ", name, "=", text);
  out += "\n\n";
  AppendNames("FileNames", module.file_names, out);
  AppendNames("FunctionNames", module.function_names, out);
  AppendRows("FileLocations", kFileLocationFields, module.file_locations, out);
  AppendRows("StackFrames", kStackFrameFields, module.stack_frames, out);
}

}  // namespace meshwright
