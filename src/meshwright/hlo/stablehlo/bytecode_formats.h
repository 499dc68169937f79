#ifndef MESHWRIGHT_HLO_STABLEHLO_BYTECODE_FORMATS_H_
#define MESHWRIGHT_HLO_STABLEHLO_BYTECODE_FORMATS_H_

#include <cstdint>
#include <string_view>

namespace meshwright {

// What cannot be said by a format.
enum class BytecodeSpecial : uint8_t {
  kNone,
  kDictionary,       // names that are attributes, and values
  kSymbol,           // a string attribute as @name
  kNestedSymbol,     // the same with a list of symbols behind it
  kInteger,          // a type and a number as wide as it
  kFloat,            // a type and the bits of a number
  kLocation,         // written as an alias
  kResource,         // a type and the number of a resource
  kArray,            // array<...>
  kElements,         // dense<...>
  kConvolution,      // dimension numbers of a convolution
  kIntegerType,      // a width and a sign
  kTensorType,       // sizes and the type of elements
  kEncodedTensor,    // the same with an encoding before them
  kQuantized,        // a uniformly quantized type
  kQuantizedAxis,    // one with a scale for each index of a dimension
  kMesh,             // these are Shardy's
  kDimension,        // the sharding of a dimension
  kSharding,         // of a tensor
  kReducedSharding,  // the same with axes over which it is not reduced
  kOtherReduction,   // the same with the reduction
  kDimMapping,       // factors of a dimension
  kShardingRule,
};

// How an attribute or a type that its dialect codes as `code` is written. A format is text in which
// stand for what is read next
//   %v %i    a number, a signed number         %d     the bits of a double
//   %I       a list of signed numbers          %Z     the same with '?' for an unknown one
//   %t %T    a type, a list of types           %a %A  an attribute, a list of attributes
//   %p       an attribute without its prefix
//   %y       an attribute, a string as a symbol
//   %s       a string, in quotes               %b %B  true or false, coded as byte or number
//   %0..%9   a number that names a word, see BytecodeWord
//   %?..%.   a byte, and if it is not zero what stands between
//   %w..%.   the same with a number for the byte
//   %o..%.   a flag, and if it is set what stands between and an attribute
struct BytecodeFormat {
  uint64_t code = 0;
  std::string_view format;
  BytecodeSpecial special = BytecodeSpecial::kNone;
  // Before the format, unless the attribute is part of another one of its dialect.
  std::string_view prefix = {};
};

// nullptr if the dialect or its code is not known.
const BytecodeFormat* FindAttributeFormat(std::string_view dialect, uint64_t code);
const BytecodeFormat* FindTypeFormat(std::string_view dialect, uint64_t code);

// The word that `value` means in the `number`-th enumeration; empty if there is none.
std::string_view BytecodeWord(int number, uint64_t value);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_BYTECODE_FORMATS_H_
