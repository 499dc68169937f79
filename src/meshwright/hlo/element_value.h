#ifndef MESHWRIGHT_HLO_ELEMENT_VALUE_H_
#define MESHWRIGHT_HLO_ELEMENT_VALUE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "meshwright/hlo/shape.h"

// One element of a literal: between its bytes (as in Literal::data) and its HLO text. Types
// narrower than a byte take a byte each, signed ones sign-extended.

namespace meshwright {

// Bytes of one element in Literal::data; 0 for tuple, opaque and token.
int ElementBytes(ElementType type);

// Appends the bytes of `text` ("-1.5e+03", "nan(0x12)", "true", ...) to `data`. False if `text` is
// no value of `type`; integers out of range are none. `type` is no complex type: those are pairs.
bool AppendElement(ElementType type, std::string_view text, std::string& data);

// Text of the element at `bytes`; the shortest decimal that AppendElement reads back bit-equal.
// Complex elements come out as "(re, im)".
std::string ElementText(ElementType type, const char* bytes);

// f32 for c64, f64 for c128, kInvalid for all others.
ElementType ComplexComponent(ElementType type);

// Numeric value of the element at `bytes`; the real part of a complex one.
double ElementAsDouble(ElementType type, const char* bytes);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_ELEMENT_VALUE_H_
