#include "meshwright/hlo/proto/literal.h"

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/strings/str_format.h"
#include "meshwright/base/status.h"
#include "meshwright/hlo/element_value.h"
#include "meshwright/hlo/proto/shape.h"

namespace meshwright {
namespace {

using proto::LiteralProto;

// How the elements of one type are stored: as a `bytes` field that holds Literal::data as it is, or
// as a repeated number (complex numbers as pairs).
struct Storage {
  ElementType type;
  std::string (*get)(const LiteralProto& literal);
  void (*set)(const std::string& data, LiteralProto* literal);
};

template <typename Number, typename List>
std::string PackNumbers(const List& list) {
  std::string data(static_cast<size_t>(list.size()) * sizeof(Number), '\0');
  for (int i = 0; i < list.size(); ++i) {
    const Number number = static_cast<Number>(list.Get(i));
    std::memcpy(data.data() + static_cast<size_t>(i) * sizeof(Number), &number, sizeof(Number));
  }
  return data;
}

template <typename Number, typename List>
void UnpackNumbers(const std::string& data, List* list) {
  const size_t count = data.size() / sizeof(Number);
  list->Reserve(static_cast<int>(count));
  for (size_t i = 0; i < count; ++i) {
    Number number;
    std::memcpy(&number, data.data() + i * sizeof(Number), sizeof(Number));
    list->Add(number);
  }
}

#define MW_BYTES(type, field)                                                              \
  {                                                                                        \
    type, [](const LiteralProto& literal) { return literal.field(); },                     \
        [](const std::string& data, LiteralProto* literal) { literal->set_##field(data); } \
  }
#define MW_NUMBERS(type, field, number)                                                     \
  {                                                                                         \
    type, [](const LiteralProto& literal) { return PackNumbers<number>(literal.field()); }, \
        [](const std::string& data, LiteralProto* literal) {                                \
          UnpackNumbers<number>(data, literal->mutable_##field());                          \
        }                                                                                   \
  }

constexpr Storage kStorage[] = {
    MW_NUMBERS(ElementType::kPred, preds, uint8_t),
    MW_BYTES(ElementType::kS1, s1s),
    MW_BYTES(ElementType::kS2, s2s),
    MW_BYTES(ElementType::kS4, s4s),
    MW_BYTES(ElementType::kS8, s8s),
    MW_BYTES(ElementType::kS16, s16s),
    MW_NUMBERS(ElementType::kS32, s32s, int32_t),
    MW_NUMBERS(ElementType::kS64, s64s, int64_t),
    MW_BYTES(ElementType::kU1, u1s),
    MW_BYTES(ElementType::kU2, u2s),
    MW_BYTES(ElementType::kU4, u4s),
    MW_BYTES(ElementType::kU8, u8s),
    MW_BYTES(ElementType::kU16, u16s),
    MW_NUMBERS(ElementType::kU32, u32s, uint32_t),
    MW_NUMBERS(ElementType::kU64, u64s, uint64_t),
    MW_BYTES(ElementType::kF16, f16s),
    MW_NUMBERS(ElementType::kF32, f32s, float),
    MW_NUMBERS(ElementType::kF64, f64s, double),
    MW_BYTES(ElementType::kBF16, bf16s),
    MW_NUMBERS(ElementType::kC64, c64s, float),
    MW_NUMBERS(ElementType::kC128, c128s, double),
    MW_BYTES(ElementType::kF4E2M1FN, f4e2m1fns),
    MW_BYTES(ElementType::kF8E3M4, f8e3m4s),
    MW_BYTES(ElementType::kF8E4M3, f8e4m3s),
    MW_BYTES(ElementType::kF8E4M3FN, f8e4m3fns),
    MW_BYTES(ElementType::kF8E4M3B11FNUZ, f8e4m3b11fnuzs),
    MW_BYTES(ElementType::kF8E4M3FNUZ, f8e4m3fnuzs),
    MW_BYTES(ElementType::kF8E5M2, f8e5m2s),
    MW_BYTES(ElementType::kF8E5M2FNUZ, f8e5m2fnuzs),
    MW_BYTES(ElementType::kF8E8M0FNU, f8e8m0fnus),
};

#undef MW_BYTES
#undef MW_NUMBERS

const Storage* FindStorage(ElementType type) {
  for (const Storage& storage : kStorage) {
    if (storage.type == type) return &storage;
  }
  return nullptr;
}

// Bits of a signed type below a byte, else 0. XLA zero-extends these, Literal sign-extends.
int NarrowSignedBits(ElementType type) {
  switch (type) {
    case ElementType::kS1:
      return 1;
    case ElementType::kS2:
      return 2;
    case ElementType::kS4:
      return 4;
    default:
      return 0;
  }
}

}  // namespace

absl::StatusOr<Literal> LiteralFromProto(const LiteralProto& literal, const Shape& shape) {
  Literal result;
  if (shape.is_tuple()) {
    if (literal.tuple_literals_size() == 0 && !shape.tuple.empty()) {
      result.elided = true;
      return result;
    }
    if (literal.tuple_literals_size() != static_cast<int>(shape.tuple.size())) {
      return absl::InvalidArgumentError(absl::StrFormat("literal has %d elements, its shape %d",
                                                        literal.tuple_literals_size(),
                                                        shape.tuple.size()));
    }
    for (size_t i = 0; i < shape.tuple.size(); ++i) {
      MW_ASSIGN_OR_RETURN(
          result.tuple.emplace_back(),
          LiteralFromProto(literal.tuple_literals(static_cast<int>(i)), shape.tuple[i]));
    }
    return result;
  }
  const Storage* storage = FindStorage(shape.type);
  if (storage == nullptr) return result;  // a token has no value
  result.data = storage->get(literal);
  if (result.data.empty() && shape.elements() > 0) {
    result.elided = true;
    return result;
  }
  const size_t width = static_cast<size_t>(ElementBytes(shape.type));
  const size_t count = result.data.size() / width;
  if (count * width != result.data.size() || static_cast<int64_t>(count) != shape.elements()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("literal has %d bytes; %s needs %d elements of %d", result.data.size(),
                        shape.ToString(/*with_layout=*/false), shape.elements(), width));
  }
  if (const int bits = NarrowSignedBits(shape.type); bits > 0) {
    for (char& element : result.data) {
      element = static_cast<char>(
          static_cast<int8_t>(static_cast<uint8_t>(element) << (8 - bits)) >> (8 - bits));
    }
  }
  return result;
}

void LiteralToProto(const Literal& literal, const Shape& shape, LiteralProto* out) {
  ShapeToProto(shape, out->mutable_shape());
  for (size_t i = 0; i < literal.tuple.size() && i < shape.tuple.size(); ++i) {
    LiteralToProto(literal.tuple[i], shape.tuple[i], out->add_tuple_literals());
  }
  const Storage* storage = FindStorage(shape.type);
  if (storage == nullptr) return;
  std::string data = literal.data;
  if (const int bits = NarrowSignedBits(shape.type); bits > 0) {
    for (char& element : data) element = static_cast<char>(element & ((1 << bits) - 1));
  }
  storage->set(data, out);
}

}  // namespace meshwright
