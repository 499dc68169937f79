#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/bytecode_attributes.h"
#include "meshwright/hlo/text_cursor.h"

// Numbers, arrays and tensors among the attributes of bytecode.

namespace meshwright {
namespace {

// Lists of dimensions are short.
constexpr size_t kMaxLiteralIntegers = 1 << 16;

struct IntegerKind {
  int width = 0;
  bool is_unsigned = false;
};

// "i32", "si8", "ui4", "index"
std::optional<IntegerKind> ToIntegerKind(std::string_view type) {
  if (type == "index") return IntegerKind{64, false};
  IntegerKind kind;
  if (type.starts_with('u') || type.starts_with('s')) {
    kind.is_unsigned = type.starts_with('u');
    type.remove_prefix(1);
  }
  if (!type.starts_with('i')) return std::nullopt;
  const char* const end = type.data() + type.size();
  const auto [stop, error] = std::from_chars(type.data() + 1, end, kind.width);
  if (error != std::errc() || stop != end || kind.width < 1 || kind.width > 64) return std::nullopt;
  return kind;
}

int FloatWidth(std::string_view type) {
  struct Row {
    std::string_view prefix;
    int width;
  };
  for (const Row& row : {Row{"f16", 16},
                         {"f32", 32},
                         {"f64", 64},
                         {"bf16", 16},
                         {"tf32", 19},
                         {"f8E", 8},
                         {"f6E", 6},
                         {"f4E", 4}}) {
    if (type.starts_with(row.prefix)) return row.width;
  }
  return 0;
}

// A number of `width` bits: a byte if it fits into one, else a signed varint.
absl::StatusOr<uint64_t> Bits(BytecodeCursor& data, int width) {
  uint64_t bits = 0;
  if (width <= 8) {
    MW_ASSIGN_OR_RETURN(bits, data.Byte());
  } else {
    MW_ASSIGN_OR_RETURN(const int64_t value, data.SignedVarint());
    bits = static_cast<uint64_t>(value);
  }
  return width == 64 ? bits : bits & ((uint64_t{1} << width) - 1);
}

int64_t Signed(uint64_t bits, int width) {
  const int unused = 64 - width;
  return static_cast<int64_t>(bits << unused) >> unused;
}

void AppendIntegerText(uint64_t bits, const IntegerKind& kind, std::string& out) {
  if (kind.width == 1 && !kind.is_unsigned) {
    out += bits != 0 ? "true" : "false";
  } else if (kind.is_unsigned) {
    StrAppend(&out, bits);
  } else {
    StrAppend(&out, Signed(bits, kind.width));
  }
}

float Bfloat16(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

double Float16(uint64_t bits) {
  const auto exponent = static_cast<int>((bits >> 10) & 31);
  const auto fraction = static_cast<double>(bits & 1023);
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -24)
                           : exponent == 31
                               ? (fraction == 0 ? std::numeric_limits<double>::infinity()
                                                : std::numeric_limits<double>::quiet_NaN())
                               : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// As MLIR prints it: with six digits if that is exact, else with all of them, or as bits.
void AppendFloatText(uint64_t bits, std::string_view type, std::string& out) {
  std::optional<double> value;
  if (type == "f64") value = std::bit_cast<double>(bits);
  if (type == "f32") value = std::bit_cast<float>(static_cast<uint32_t>(bits));
  if (type == "bf16") value = Bfloat16(bits);
  if (type == "f16") value = Float16(bits);
  if (!value || !std::isfinite(*value)) {
    absl::StrAppendFormat(&out, "0x%0*X", (FloatWidth(type) + 3) / 4, bits);
    return;
  }
  const std::string text = absl::StrFormat("%.6e", *value);
  const double read = std::strtod(text.c_str(), nullptr);
  const bool exact =
      type == "f64" ? read == *value : static_cast<float>(read) == static_cast<float>(*value);
  out += exact ? text : absl::StrFormat("%.*e", type == "f64" ? 16 : 8, *value);
}

}  // namespace

absl::StatusOr<std::string_view> BytecodeAttributes::Blob(BytecodeCursor& data) const {
  MW_ASSIGN_OR_RETURN(const uint64_t size, data.Varint());
  return data.Bytes(size);
}

absl::Status BytecodeAttributes::AppendInteger(BytecodeCursor& data, std::string& out) {
  MW_ASSIGN_OR_RETURN(const uint64_t type, data.Varint());
  std::string name;
  MW_RETURN_IF_ERROR(AppendType(type, name));
  const std::optional<IntegerKind> kind = ToIntegerKind(name);
  if (!kind) {
    return data.Error(
        StrCat("an integer of the type ", QuoteForError(name), "; integers have up to 64 bits"));
  }
  MW_ASSIGN_OR_RETURN(const uint64_t bits, Bits(data, kind->width));
  AppendIntegerText(bits, *kind, out);
  if (name != "i1") StrAppend(&out, " : ", name);
  return absl::OkStatus();
}

absl::Status BytecodeAttributes::AppendFloat(BytecodeCursor& data, std::string& out) {
  MW_ASSIGN_OR_RETURN(const uint64_t type, data.Varint());
  std::string name;
  MW_RETURN_IF_ERROR(AppendType(type, name));
  const int width = FloatWidth(name);
  if (width == 0) return data.Error(StrCat("a number of the type ", QuoteForError(name)));
  MW_ASSIGN_OR_RETURN(const uint64_t bits, Bits(data, width));
  AppendFloatText(bits, name, out);
  StrAppend(&out, " : ", name);
  return absl::OkStatus();
}

absl::Status BytecodeAttributes::AppendArray(BytecodeCursor& data, std::string& out) {
  MW_ASSIGN_OR_RETURN(const uint64_t type, data.Varint());
  MW_ASSIGN_OR_RETURN(const uint64_t count, data.Varint());
  MW_ASSIGN_OR_RETURN(const std::string_view bytes, Blob(data));
  std::string name;
  MW_RETURN_IF_ERROR(AppendType(type, name));
  const std::optional<IntegerKind> integer = ToIntegerKind(name);
  const int width = integer ? integer->width : FloatWidth(name);
  const auto size = static_cast<size_t>((width + 7) / 8);
  if (width == 0 || bytes.size() % size != 0 || bytes.size() / size != count) {
    return data.Error(StrCat("an array of ", count, " of the type ", QuoteForError(name), " in ",
                             bytes.size(), " bytes"));
  }
  StrAppend(&out, "array<", name);
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    out += i == 0 ? ": " : ", ";
    if (integer) {
      AppendIntegerText(bits, *integer, out);
    } else {
      AppendFloatText(bits, name, out);
    }
  }
  out += '>';
  return absl::OkStatus();
}

absl::StatusOr<BytecodeAttributes::Tensor> BytecodeAttributes::TensorType(uint64_t type) {
  MW_ASSIGN_OR_RETURN(Coded coded, Decode(file_.types, true, type));
  if (coded.format == nullptr || (coded.format->special != BytecodeSpecial::kTensorType &&
                                  coded.format->special != BytecodeSpecial::kEncodedTensor)) {
    return coded.entry->data.Error("expected the type of a tensor");
  }
  if (coded.format->special == BytecodeSpecial::kEncodedTensor) {
    MW_RETURN_IF_ERROR(coded.data.Varint().status());
  }
  Tensor tensor;
  MW_ASSIGN_OR_RETURN(tensor.dims, coded.data.SignedVarints());
  if (tensor.dims.size() > kMaxTextNesting) {
    return coded.entry->data.Error(StrCat("a constant of ", tensor.dims.size(), " dimensions"));
  }
  MW_ASSIGN_OR_RETURN(const uint64_t element, coded.data.Varint());
  MW_RETURN_IF_ERROR(AppendType(element, tensor.element));
  return tensor;
}

namespace {

// Elements of `dims`; nothing if these are not known or too many to count.
std::optional<uint64_t> Elements(const std::vector<int64_t>& dims) {
  uint64_t count = 1;
  for (const int64_t size : dims) {
    if (size < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(size), &count)) {
      return std::nullopt;
    }
  }
  return count;
}

// `[[true, false], [true, true]]` of the `count` truth values at `values`.
void AppendTruthValues(absl::Span<const int64_t> dims, const char*& values, std::string& out) {
  if (dims.empty()) {
    out += *values++ != 0 ? "true" : "false";
    return;
  }
  out += '[';
  for (int64_t i = 0; i < dims[0]; ++i) {
    if (i != 0) out += ", ";
    AppendTruthValues(dims.subspan(1), values, out);
  }
  out += ']';
}

}  // namespace

// The bytes as they lie in memory, or of one element that fills the tensor. Truth values are packed
// into bits, or a byte each in older files; all true is the byte 0xff.
absl::Status BytecodeAttributes::AppendElements(BytecodeCursor& data, std::string& out) {
  MW_ASSIGN_OR_RETURN(const uint64_t type, data.Varint());
  MW_ASSIGN_OR_RETURN(const std::string_view bytes, Blob(data));
  MW_ASSIGN_OR_RETURN(const Tensor tensor, TensorType(type));
  const std::optional<uint64_t> count = Elements(tensor.dims);
  out += "dense<";
  if (bytes.empty() || count.value_or(0) == 0) {
    if (!bytes.empty() || count.value_or(1) != 0) return data.Error("a constant without its value");
  } else if (tensor.element != "i1") {
    StrAppend(&out, "\"0x", FromAbsl(absl::BytesToHexString(ToAbsl(bytes))), "\"");
  } else if (bytes.size() == 1 && *count > 1 && (bytes[0] == '\xff' || bytes[0] == 0)) {
    out += bytes[0] != 0 ? "true" : "false";
  } else if (bytes.size() == *count || bytes.size() == *count / 8 + (*count % 8 != 0)) {
    std::string values(bytes);
    if (bytes.size() != *count || *count == 1) {
      values.assign(static_cast<size_t>(*count), '\0');
      for (size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<char>((static_cast<uint8_t>(bytes[i / 8]) >> (i % 8)) & 1);
      }
    }
    const char* next = values.data();
    AppendTruthValues(tensor.dims, next, out);
  } else if (bytes.size() == 1) {
    out += bytes[0] != 0 ? "true" : "false";
  } else {
    return data.Error(StrCat(bytes.size(), " bytes of ", *count, " truth values"));
  }
  out += "> : ";
  return AppendType(type, out);
}

absl::StatusOr<int64_t> BytecodeAttributes::Integer(uint64_t attribute) {
  MW_ASSIGN_OR_RETURN(Coded coded, DecodeAttribute(attribute));
  if (coded.format != nullptr && coded.format->special == BytecodeSpecial::kInteger) {
    MW_ASSIGN_OR_RETURN(const uint64_t type, coded.data.Varint());
    std::string name;
    MW_RETURN_IF_ERROR(AppendType(type, name));
    if (const std::optional<IntegerKind> kind = ToIntegerKind(name)) {
      MW_ASSIGN_OR_RETURN(const uint64_t bits, Bits(coded.data, kind->width));
      return kind->is_unsigned ? static_cast<int64_t>(bits) : Signed(bits, kind->width);
    }
  }
  return coded.entry->data.Error("expected an integer");
}

absl::StatusOr<std::vector<int64_t>> BytecodeAttributes::Integers(uint64_t attribute) {
  MW_ASSIGN_OR_RETURN(Coded coded, DecodeAttribute(attribute));
  if (coded.format == nullptr || coded.format->special != BytecodeSpecial::kElements) {
    return coded.entry->data.Error("expected a tensor of integers");
  }
  MW_ASSIGN_OR_RETURN(const uint64_t type, coded.data.Varint());
  MW_ASSIGN_OR_RETURN(const std::string_view bytes, Blob(coded.data));
  MW_ASSIGN_OR_RETURN(const Tensor tensor, TensorType(type));
  const std::optional<uint64_t> count = Elements(tensor.dims);
  const std::optional<IntegerKind> kind = ToIntegerKind(tensor.element);
  if (!kind || !count || *count > kMaxLiteralIntegers) {
    return coded.entry->data.Error("expected a short tensor of integers");
  }
  MW_RETURN_IF_ERROR(Charge(*count + bytes.size(), coded.entry->data));
  std::vector<int64_t> values;
  // Truth values are written to be read here again, as there are several ways to code them.
  if (kind->width == 1) {
    std::string text;
    MW_RETURN_IF_ERROR(AppendAttribute(attribute, text));
    const std::string_view inside = std::string_view(text).substr(0, text.find('>'));
    for (size_t at = 0; at < inside.size(); ++at) {
      if (inside.substr(at).starts_with("true")) values.push_back(1);
      if (inside.substr(at).starts_with("false")) values.push_back(0);
    }
  } else {
    const auto size = static_cast<size_t>((kind->width + 7) / 8);
    if (bytes.size() != *count * size && bytes.size() != size) {
      return coded.entry->data.Error(
          StrCat(bytes.size(), " bytes of ", *count, " integers of ", size));
    }
    for (size_t at = 0; at < bytes.size(); at += size) {
      uint64_t bits = 0;
      std::memcpy(&bits, bytes.data() + at, size);
      values.push_back(kind->is_unsigned ? static_cast<int64_t>(bits) : Signed(bits, kind->width));
    }
  }
  if (values.size() == 1) values.resize(static_cast<size_t>(*count), values[0]);
  return values;
}

}  // namespace meshwright
