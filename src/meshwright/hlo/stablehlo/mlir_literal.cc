#include "meshwright/hlo/stablehlo/mlir_literal.h"

#include <charconv>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/element_value.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {
namespace {

// Integer lists of attributes are short; a splat must not become a long one.
constexpr int64_t kMaxIntegers = 1 << 20;

bool EndsElement(char c) {
  return c == ',' || c == ']' || c == ')' || c == '>' || c == ' ' || c == '\n' || c == '\r' ||
         c == '\t' || c == '/';
}

class ElementsReader {
 public:
  ElementsReader(const MlirAttribute& elements, std::string_view text, std::string_view file_name)
      : type_(elements.type),
        cursor_(text.substr(0, elements.position + elements.text.size()), file_name) {
    cursor_.set_position(elements.position);
  }

  absl::StatusOr<MlirElements> Read() {
    MlirElements result;
    const char next = cursor_.Peek();
    if (!type_.is_array()) return cursor_.Error("a constant that is no tensor");
    const int64_t count = type_.elements();
    if (next == '"') {
      MW_RETURN_IF_ERROR(Hexadecimal(result));
    } else if (next == '[') {
      MW_RETURN_IF_ERROR(List(0, result.literal.data));
    } else if (!cursor_.AtEnd()) {
      MW_RETURN_IF_ERROR(Element(result.literal.data));
      result.splat = true;
    } else if (count != 0) {
      return cursor_.Error(StrCat("no elements, the type has ", count));
    }
    if (!cursor_.AtEnd()) return cursor_.Expected("the end of the elements");
    return result;
  }

 private:
  int ElementSize() const {
    const ElementType part = ComplexComponent(type_.type);
    return part == ElementType::kInvalid ? ElementBytes(type_.type) : 2 * ElementBytes(part);
  }

  // `"0x0000803F"`: the bytes as they lie in memory; of i1 one bit each if there are fewer bytes.
  absl::Status Hexadecimal(MlirElements& result) {
    const size_t at = cursor_.position();
    MW_ASSIGN_OR_RETURN(const std::string_view quoted, cursor_.RawQuotedString());
    std::string_view digits = quoted.substr(1, quoted.size() - 2);
    const bool hexadecimal =
        digits.starts_with("0x") && digits.size() % 2 == 0 &&
        digits.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos;
    if (!hexadecimal) return cursor_.Error(at, "expected \"0x...\" with whole bytes");
    digits.remove_prefix(2);
    std::string bytes = absl::HexStringToBytes(ToAbsl(digits));
    const auto count = static_cast<size_t>(type_.elements());
    const auto size = static_cast<size_t>(ElementSize());
    if (type_.type == ElementType::kPred && bytes.size() != count &&
        bytes.size() == (count + 7) / 8) {
      std::string unpacked(count, '\0');
      for (size_t i = 0; i < count; ++i) {
        unpacked[i] = static_cast<char>((static_cast<unsigned char>(bytes[i / 8]) >> (i % 8)) & 1);
      }
      bytes = std::move(unpacked);
    }
    if (bytes.size() == size && count != 1) {
      result.splat = true;
    } else if (bytes.size() != count * size) {
      return cursor_.Error(
          at, StrCat(bytes.size(), " bytes, the type has ", count, " elements of ", size));
    }
    result.splat |= count == 1;
    result.literal.data = std::move(bytes);
    return absl::OkStatus();
  }

  absl::Status List(size_t dimension, std::string& data) {
    const size_t at = cursor_.position();
    if (dimension >= type_.dims.size()) {
      return cursor_.Error(at, StrCat("lists nested deeper than the ", type_.dims.size(),
                                      " dimensions of the type"));
    }
    cursor_.Consume('[');
    int64_t count = 0;
    if (!cursor_.Consume(']')) {
      do {
        const bool last = dimension + 1 == type_.dims.size();
        if (!last && cursor_.Peek() != '[') return cursor_.Expected("'[' of the next dimension");
        MW_RETURN_IF_ERROR(last ? Element(data) : List(dimension + 1, data));
        ++count;
      } while (cursor_.Consume(','));
      MW_RETURN_IF_ERROR(cursor_.Expect("]", "after elements"));
    }
    if (count == type_.dims[dimension]) return absl::OkStatus();
    return cursor_.Error(
        at, StrCat("a list of ", count, ", dimension ", dimension, " has ", type_.dims[dimension]));
  }

  absl::Status Element(std::string& data) {
    const ElementType part = ComplexComponent(type_.type);
    if (part == ElementType::kInvalid) return Number(type_.type, data);
    MW_RETURN_IF_ERROR(cursor_.Expect("(", "before a complex number"));
    MW_RETURN_IF_ERROR(Number(part, data));
    MW_RETURN_IF_ERROR(cursor_.Expect(",", "inside a complex number"));
    MW_RETURN_IF_ERROR(Number(part, data));
    return cursor_.Expect(")", "after a complex number");
  }

  absl::Status Number(ElementType type, std::string& data) {
    cursor_.SkipSpace();
    const std::string_view text = cursor_.text();
    const size_t begin = cursor_.position();
    size_t end = begin;
    while (end < text.size() && !EndsElement(text[end])) ++end;
    const std::string_view number = text.substr(begin, end - begin);
    cursor_.set_position(end);
    // A hexadecimal number is the bits of a float; an integer is written in decimal.
    uint64_t bits = 0;
    if (number.starts_with("0x")) {
      const char* const last = number.data() + number.size();
      const auto [stop, error] = std::from_chars(number.data() + 2, last, bits, 16);
      const auto size = static_cast<size_t>(ElementBytes(type));
      if (error == std::errc() && stop == last &&
          (size == sizeof(bits) || bits >> (8 * size) == 0)) {
        data.append(reinterpret_cast<const char*>(&bits), size);
        return absl::OkStatus();
      }
    } else if (AppendElement(type, number, data)) {
      return absl::OkStatus();
    }
    return cursor_.Error(begin,
                         StrCat(QuoteForError(number), " is no value of ", ElementTypeName(type)));
  }

  const Shape& type_;
  TextCursor cursor_;
};

int64_t ToInteger(ElementType type, const char* bytes) {
  int64_t value = 0;
  const auto size = static_cast<size_t>(ElementBytes(type));
  std::memcpy(&value, bytes, size);
  const int unused = static_cast<int>(64 - 8 * size);
  if (type == ElementType::kPred) return value;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << unused) >> unused;
}

}  // namespace

absl::StatusOr<MlirElements> ReadMlirElements(const MlirAttribute& elements, std::string_view text,
                                              std::string_view file_name) {
  if (elements.elided) {
    MlirElements result;
    result.literal.elided = true;
    return result;
  }
  return ElementsReader(elements, text, file_name).Read();
}

absl::StatusOr<std::vector<int64_t>> ReadMlirIntegers(const MlirAttribute& attribute,
                                                      std::string_view text,
                                                      std::string_view file_name) {
  if (attribute.kind == MlirAttribute::Kind::kIntegers) return attribute.integers;
  TextCursor cursor(text, file_name);
  if (attribute.kind == MlirAttribute::Kind::kList) {  // a list of lists
    std::vector<int64_t> all;
    for (const MlirAttribute& row : attribute.list) {
      if (row.kind != MlirAttribute::Kind::kIntegers) break;
      all.insert(all.end(), row.integers.begin(), row.integers.end());
      if (&row == &attribute.list.back()) return all;
    }
  }
  const ElementType type = attribute.type.type;
  if (attribute.kind != MlirAttribute::Kind::kElements || attribute.elided ||
      !(IsInteger(type) || type == ElementType::kPred)) {
    return cursor.Error(attribute.position, "expected a list of integers");
  }
  MW_ASSIGN_OR_RETURN(const MlirElements elements, ReadMlirElements(attribute, text, file_name));
  const int64_t count = attribute.type.elements();
  if (count > kMaxIntegers) {
    return cursor.Error(attribute.position, StrCat("a list of ", count, " integers"));
  }
  const auto size = static_cast<size_t>(ElementBytes(type));
  std::vector<int64_t> values;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    values.push_back(
        ToInteger(type, elements.literal.data.data() + (elements.splat ? 0 : i) * size));
  }
  return values;
}

}  // namespace meshwright
