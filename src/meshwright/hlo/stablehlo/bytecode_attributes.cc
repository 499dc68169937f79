#include "meshwright/hlo/stablehlo/bytecode_attributes.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <limits>

#include "absl/strings/str_format.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/mlir_syntax.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {
namespace {

constexpr int64_t kUnknownSize = std::numeric_limits<int64_t>::min();

}  // namespace

void AppendMlirString(std::string_view text, std::string& out) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '\\') {
      out += "\\\\";
    } else if (byte >= 0x20 && byte < 0x7f && c != '"') {
      out += c;
    } else {
      out += '\\';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  out += '"';
}

void AppendMlirSymbol(std::string_view name, std::string& out) {
  out += '@';
  if (IsMlirName(name)) {
    out += name;
  } else {
    AppendMlirString(name, out);
  }
}

// ---- entries ----

absl::StatusOr<const BytecodeFile::Entry*> BytecodeAttributes::Find(
    const std::vector<BytecodeFile::Entry>& entries, std::string_view what, uint64_t number) const {
  if (number < entries.size()) return &entries[static_cast<size_t>(number)];
  return file_.ir.Error(StrCat(what, " ", number, " is named; there are ", entries.size()));
}

absl::StatusOr<BytecodeAttributes::Coded> BytecodeAttributes::Decode(
    const std::vector<BytecodeFile::Entry>& entries, bool types, uint64_t number) const {
  Coded coded;
  MW_ASSIGN_OR_RETURN(coded.entry, Find(entries, types ? "type" : "attribute", number));
  coded.data = coded.entry->data;
  if (coded.entry->is_text) return coded;
  const std::string_view dialect = coded.entry->dialect;
  MW_ASSIGN_OR_RETURN(const uint64_t code, coded.data.Varint());
  coded.format = types ? FindTypeFormat(dialect, code) : FindAttributeFormat(dialect, code);
  if (coded.format != nullptr) return coded;
  return coded.entry->data.Error(StrCat(types ? "a type" : "an attribute", " of the dialect ",
                                        QuoteForError(dialect), " with the unknown code ", code,
                                        "; write the program as a StableHLO portable artifact or "
                                        "as text"));
}

absl::StatusOr<std::string_view> BytecodeAttributes::StringAt(BytecodeCursor& data) const {
  MW_ASSIGN_OR_RETURN(const uint64_t number, data.Varint());
  if (number < file_.strings.size()) return file_.strings[static_cast<size_t>(number)];
  return data.Error(
      StrCat("string ", number, " is named; there are ", file_.strings.size(), " strings"));
}

absl::Status BytecodeAttributes::Charge(uint64_t parts, const BytecodeCursor& data) {
  charged_ += std::min<uint64_t>(parts, limit_ + 1);
  if (charged_ <= limit_) return absl::OkStatus();
  return data.Error(StrCat("the text of this bytecode would be larger than ", limit_, " bytes"));
}

absl::Status BytecodeAttributes::Error(uint64_t attribute, std::string_view message) const {
  MW_ASSIGN_OR_RETURN(const BytecodeFile::Entry* const entry,
                      Find(file_.attributes, "attribute", attribute));
  return entry->data.Error(message);
}

// ---- text ----

absl::Status BytecodeAttributes::AppendType(uint64_t type, std::string& out) {
  MW_ASSIGN_OR_RETURN(const Coded coded, Decode(file_.types, true, type));
  return Append(coded, Part::kWhole, out);
}

absl::Status BytecodeAttributes::AppendAttribute(uint64_t attribute, std::string& out) {
  return AppendAttribute(attribute, Part::kWhole, out);
}

absl::Status BytecodeAttributes::AppendBare(uint64_t attribute, std::string& out) {
  return AppendAttribute(attribute, Part::kPart, out);
}

absl::Status BytecodeAttributes::AppendAttribute(uint64_t attribute, Part part, std::string& out) {
  MW_ASSIGN_OR_RETURN(const Coded coded, DecodeAttribute(attribute));
  if (coded.format != nullptr && coded.format->special == BytecodeSpecial::kDictionary) {
    return AppendDictionary(attribute, out);
  }
  if (coded.format != nullptr && coded.format->special == BytecodeSpecial::kLocation) {
    const size_t before = out.size();
    MW_RETURN_IF_ERROR(AppendLocation(attribute, out));
    out.replace(before, out.size() == before ? 0 : 1, out.size() == before ? "loc(unknown)" : "");
    return absl::OkStatus();
  }
  return Append(coded, part, out);
}

absl::Status BytecodeAttributes::Append(const Coded& coded, Part part, std::string& out) {
  MW_RETURN_IF_ERROR(Charge(out.size() > limit_ ? limit_ : 1, coded.entry->data));
  if (coded.format == nullptr) {
    BytecodeCursor data = coded.data;
    MW_ASSIGN_OR_RETURN(std::string_view text, data.NullTerminated());
    // A line break would end what is a line in the text that is written.
    if (text.find('\n') != std::string_view::npos) {
      return coded.data.Error("an attribute or a type whose text has a line break");
    }
    // Shardy's attributes were text before they had codes.
    if (part == Part::kPart && text.starts_with("#sdy.")) {
      text.remove_prefix(std::min(text.size(), text.find_first_of("<{[")));
    }
    out += text;
    return absl::OkStatus();
  }
  if (++depth_ > kMaxTextNesting) {
    return coded.entry->data.Error(
        StrCat("attributes or types nested deeper than ", kMaxTextNesting));
  }
  if (part == Part::kWhole) out += coded.format->prefix;
  BytecodeCursor data = coded.data;
  if (coded.format->special != BytecodeSpecial::kNone) {
    MW_RETURN_IF_ERROR(AppendSpecial(coded.format->special, data, out));
  } else {
    const Part parts = coded.entry->dialect == "sdy" ? Part::kPart : Part::kWhole;
    MW_RETURN_IF_ERROR(AppendFormat(coded.format->format, data, parts, out));
  }
  --depth_;
  return absl::OkStatus();
}

absl::Status BytecodeAttributes::AppendFormat(std::string_view format, BytecodeCursor& data,
                                              Part parts, std::string& out) {
  while (!format.empty()) {
    const size_t plain = std::min(format.find('%'), format.size());
    out += format.substr(0, plain);
    format.remove_prefix(plain);
    if (format.empty()) break;
    const char kind = format[1];
    format.remove_prefix(2);
    if (kind != '?' && kind != 'w' && kind != 'o') {
      MW_RETURN_IF_ERROR(AppendPlaceholder(kind, data, parts, out));
      continue;
    }
    const size_t end = format.find("%.");
    const std::string_view inside = format.substr(0, end);
    format.remove_prefix(end + 2);
    if (kind == 'o') {
      bool there = false;
      MW_ASSIGN_OR_RETURN(const uint64_t attribute, data.VarintWithFlag(there));
      if (!there) continue;
      out += inside;
      MW_RETURN_IF_ERROR(AppendAttribute(attribute, parts, out));
      continue;
    }
    uint64_t there = 0;
    if (kind == '?') {
      MW_ASSIGN_OR_RETURN(there, data.Byte());
    } else {
      MW_ASSIGN_OR_RETURN(there, data.Varint());
    }
    if (there != 0) MW_RETURN_IF_ERROR(AppendFormat(inside, data, parts, out));
  }
  return absl::OkStatus();
}

absl::Status BytecodeAttributes::AppendPlaceholder(char kind, BytecodeCursor& data, Part parts,
                                                   std::string& out) {
  switch (kind) {
    case 'v': {
      MW_ASSIGN_OR_RETURN(const uint64_t value, data.Varint());
      StrAppend(&out, value);
      return absl::OkStatus();
    }
    case 'i': {
      MW_ASSIGN_OR_RETURN(const int64_t value, data.SignedVarint());
      StrAppend(&out, value);
      return absl::OkStatus();
    }
    case 'I':
    case 'Z': {
      MW_ASSIGN_OR_RETURN(const std::vector<int64_t> values, data.SignedVarints());
      for (size_t i = 0; i < values.size(); ++i) {
        if (i != 0) out += ", ";
        if (kind == 'Z' && values[i] == kUnknownSize) {
          out += '?';
        } else {
          StrAppend(&out, values[i]);
        }
      }
      return absl::OkStatus();
    }
    case 'd': {
      MW_ASSIGN_OR_RETURN(const int64_t bits, data.SignedVarint());
      absl::StrAppendFormat(&out, "%.16e", std::bit_cast<double>(bits));
      return absl::OkStatus();
    }
    case 't': {
      MW_ASSIGN_OR_RETURN(const uint64_t type, data.Varint());
      return AppendType(type, out);
    }
    case 'a': {
      MW_ASSIGN_OR_RETURN(const uint64_t attribute, data.Varint());
      return AppendAttribute(attribute, parts, out);
    }
    case 'p': {
      MW_ASSIGN_OR_RETURN(const uint64_t attribute, data.Varint());
      return AppendBare(attribute, out);
    }
    case 'y': {
      MW_ASSIGN_OR_RETURN(const uint64_t attribute, data.Varint());
      const absl::StatusOr<std::string> symbol = String(attribute);
      if (!symbol.ok()) return AppendAttribute(attribute, parts, out);
      AppendMlirSymbol(*symbol, out);
      return absl::OkStatus();
    }
    case 'T':
    case 'A': {
      MW_ASSIGN_OR_RETURN(const size_t count, data.Count("items"));
      for (size_t i = 0; i < count; ++i) {
        if (i != 0) out += ", ";
        MW_ASSIGN_OR_RETURN(const uint64_t item, data.Varint());
        MW_RETURN_IF_ERROR(kind == 'T' ? AppendType(item, out) : AppendAttribute(item, parts, out));
      }
      return absl::OkStatus();
    }
    case 's': {
      MW_ASSIGN_OR_RETURN(const std::string_view text, StringAt(data));
      AppendMlirString(text, out);
      return absl::OkStatus();
    }
    case 'b': {
      MW_ASSIGN_OR_RETURN(const uint8_t value, data.Byte());
      out += value != 0 ? "true" : "false";
      return absl::OkStatus();
    }
    case 'B': {
      MW_ASSIGN_OR_RETURN(const uint64_t value, data.Varint());
      out += value != 0 ? "true" : "false";
      return absl::OkStatus();
    }
    default: {
      MW_ASSIGN_OR_RETURN(const uint64_t value, data.Varint());
      const std::string_view word = BytecodeWord(kind - '0', value);
      if (word.empty()) return data.Error(StrCat("the unknown value ", value, " of an attribute"));
      out += word;
      return absl::OkStatus();
    }
  }
}

absl::Status BytecodeAttributes::AppendDictionary(uint64_t attribute, std::string& out) {
  if (++depth_ > kMaxTextNesting) {
    return file_.ir.Error(StrCat("attributes nested deeper than ", kMaxTextNesting));
  }
  MW_ASSIGN_OR_RETURN(const Named entries, Dictionary(attribute));
  out += '{';
  bool first = true;
  for (const auto& [name, value] : entries) {
    if (!first) out += ", ";
    first = false;
    if (IsMlirName(name)) {
      out += name;
    } else {
      AppendMlirString(name, out);
    }
    out += " = ";
    MW_RETURN_IF_ERROR(AppendAttribute(value, out));
    if (out.ends_with(" = unit")) out.resize(out.size() - std::string_view(" = unit").size());
  }
  out += '}';
  --depth_;
  return absl::OkStatus();
}

absl::Status BytecodeAttributes::AppendSpecial(BytecodeSpecial special, BytecodeCursor& data,
                                               std::string& out) {
  switch (special) {
    case BytecodeSpecial::kNestedSymbol:
    case BytecodeSpecial::kSymbol: {
      MW_ASSIGN_OR_RETURN(const uint64_t root, data.Varint());
      MW_ASSIGN_OR_RETURN(const std::string name, String(root));
      AppendMlirSymbol(name, out);
      if (special == BytecodeSpecial::kSymbol) return absl::OkStatus();
      MW_ASSIGN_OR_RETURN(const size_t count, data.Count("symbols"));
      for (size_t i = 0; i < count; ++i) {
        out += "::";
        MW_RETURN_IF_ERROR(AppendPlaceholder('a', data, Part::kWhole, out));
      }
      return absl::OkStatus();
    }
    case BytecodeSpecial::kInteger:
      return AppendInteger(data, out);
    case BytecodeSpecial::kFloat:
      return AppendFloat(data, out);
    case BytecodeSpecial::kResource: {
      MW_ASSIGN_OR_RETURN(const uint64_t type, data.Varint());
      MW_ASSIGN_OR_RETURN(const uint64_t resource, data.Varint());
      StrAppend(&out, "dense_resource<resource", resource, "> : ");
      return AppendType(type, out);
    }
    case BytecodeSpecial::kArray:
      return AppendArray(data, out);
    case BytecodeSpecial::kElements:
      return AppendElements(data, out);
    case BytecodeSpecial::kConvolution:
      return AppendConvolution(data, out);
    case BytecodeSpecial::kIntegerType: {
      MW_ASSIGN_OR_RETURN(const uint64_t width, data.Varint());
      constexpr std::string_view kSigns[] = {"", "s", "u", "?"};
      StrAppend(&out, kSigns[width & 3], "i", width >> 2);
      return absl::OkStatus();
    }
    case BytecodeSpecial::kEncodedTensor:
    case BytecodeSpecial::kTensorType: {
      uint64_t encoding = 0;
      if (special == BytecodeSpecial::kEncodedTensor) {
        MW_ASSIGN_OR_RETURN(encoding, data.Varint());
      }
      MW_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, data.SignedVarints());
      out += "tensor<";
      for (const int64_t size : dims) {
        if (size == kUnknownSize) {
          out += "?x";
        } else if (size < 0) {
          return data.Error(StrCat("a tensor with a dimension of ", size));
        } else {
          StrAppend(&out, size, "x");
        }
      }
      MW_RETURN_IF_ERROR(AppendPlaceholder('t', data, Part::kWhole, out));
      if (special == BytecodeSpecial::kEncodedTensor) {
        out += ", ";
        MW_RETURN_IF_ERROR(AppendAttribute(encoding, out));
      }
      out += '>';
      return absl::OkStatus();
    }
    case BytecodeSpecial::kQuantized:
    case BytecodeSpecial::kQuantizedAxis:
      return AppendQuantized(data, special == BytecodeSpecial::kQuantizedAxis, out);
    case BytecodeSpecial::kMesh:
      return AppendMesh(data, out);
    case BytecodeSpecial::kDimension:
      return AppendDimension(data, out);
    case BytecodeSpecial::kSharding:
    case BytecodeSpecial::kReducedSharding:
    case BytecodeSpecial::kOtherReduction:
      return AppendSharding(data, special, out);
    case BytecodeSpecial::kDimMapping:
      return AppendFactors(data, "", "", "", out);
    case BytecodeSpecial::kShardingRule:
      return AppendShardingRule(data, out);
    case BytecodeSpecial::kNone:
    case BytecodeSpecial::kDictionary:
    case BytecodeSpecial::kLocation:
      break;
  }
  return data.Error("an attribute that cannot stand here");
}

// ---- what attributes say ----

absl::StatusOr<BytecodeAttributes::Named> BytecodeAttributes::Dictionary(uint64_t attribute) {
  MW_ASSIGN_OR_RETURN(Coded coded, DecodeAttribute(attribute));
  if (coded.format == nullptr || coded.format->special != BytecodeSpecial::kDictionary) {
    return coded.entry->data.Error("expected a dictionary of attributes");
  }
  MW_ASSIGN_OR_RETURN(const size_t count, coded.data.Count("attributes"));
  MW_RETURN_IF_ERROR(Charge(count, coded.entry->data));
  Named named;
  for (size_t i = 0; i < count; ++i) {
    MW_ASSIGN_OR_RETURN(const uint64_t name, coded.data.Varint());
    MW_ASSIGN_OR_RETURN(const uint64_t value, coded.data.Varint());
    MW_ASSIGN_OR_RETURN(std::string text, String(name));
    named.emplace_back(std::move(text), value);
  }
  return named;
}

absl::StatusOr<std::vector<uint64_t>> BytecodeAttributes::Array(uint64_t attribute) {
  MW_ASSIGN_OR_RETURN(Coded coded, DecodeAttribute(attribute));
  if (coded.format == nullptr || coded.format->format != "[%A]" || coded.entry->dialect == "sdy") {
    return coded.entry->data.Error("expected a list of attributes");
  }
  MW_ASSIGN_OR_RETURN(const size_t count, coded.data.Count("attributes"));
  MW_RETURN_IF_ERROR(Charge(count, coded.entry->data));
  std::vector<uint64_t> items(count);
  for (uint64_t& item : items) {
    MW_ASSIGN_OR_RETURN(item, coded.data.Varint());
  }
  return items;
}

absl::StatusOr<std::string> BytecodeAttributes::String(uint64_t attribute) {
  MW_ASSIGN_OR_RETURN(Coded coded, DecodeAttribute(attribute));
  for (int symbols = 0; symbols < 2; ++symbols) {
    if (coded.format != nullptr && coded.format->format.starts_with("%s") &&
        coded.entry->dialect != "sdy") {
      MW_ASSIGN_OR_RETURN(const std::string_view text, StringAt(coded.data));
      MW_RETURN_IF_ERROR(Charge(text.size(), coded.entry->data));
      return std::string(text);
    }
    if (coded.format == nullptr || coded.format->special != BytecodeSpecial::kSymbol) break;
    MW_ASSIGN_OR_RETURN(const uint64_t root, coded.data.Varint());
    MW_ASSIGN_OR_RETURN(coded, DecodeAttribute(root));
  }
  return coded.entry->data.Error("expected a string");
}

absl::StatusOr<BytecodeAttributes::Function> BytecodeAttributes::FunctionType(uint64_t attribute) {
  MW_ASSIGN_OR_RETURN(Coded coded, DecodeAttribute(attribute));
  if (coded.format != nullptr && coded.format->format == "%t") {
    MW_ASSIGN_OR_RETURN(const uint64_t type, coded.data.Varint());
    MW_ASSIGN_OR_RETURN(coded, Decode(file_.types, true, type));
    if (coded.format != nullptr && coded.format->format == "(%T) -> (%T)") {
      Function function;
      for (std::vector<uint64_t>* types : {&function.inputs, &function.results}) {
        MW_ASSIGN_OR_RETURN(const size_t count, coded.data.Count("types"));
        MW_RETURN_IF_ERROR(Charge(count, coded.entry->data));
        types->resize(count);
        for (uint64_t& item : *types) {
          MW_ASSIGN_OR_RETURN(item, coded.data.Varint());
        }
      }
      return function;
    }
  }
  return coded.entry->data.Error("expected the type of a function");
}

}  // namespace meshwright
