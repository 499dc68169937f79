#include "meshwright/hlo/stablehlo/bytecode_formats.h"

#include <algorithm>
#include <span>

// The codes are those of MLIR's BuiltinDialectBytecode.td, of StablehloBytecode.cpp,
// ChloBytecode.cpp and VhloBytecode.cpp in openxla/stablehlo, and of bytecode.td in openxla/shardy.
// They never change: what was written once can be read for ever.

namespace meshwright {
namespace {

using enum BytecodeSpecial;

// Enumerations, as formats name them.
constexpr std::string_view kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr std::string_view kComparisons[] = {"NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
constexpr std::string_view kFftWords[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr std::string_view kPrecisionWords[] = {"DEFAULT", "HIGH", "HIGHEST"};
constexpr std::string_view kRngAlgorithmKinds[] = {"DEFAULT", "THREE_FRY", "PHILOX"};
constexpr std::string_view kDistributionKinds[] = {"", "UNIFORM", "NORMAL"};
constexpr std::string_view kTransposeWords[] = {"TRANSPOSE_INVALID", "NO_TRANSPOSE", "TRANSPOSE",
                                                "ADJOINT"};
constexpr std::string_view kAccuracies[] = {"DEFAULT", "HIGHEST", "TOLERANCE"};
constexpr std::span<const std::string_view> kWords[] = {
    kDirections,        kComparisons,       kFftWords,       kPrecisionWords,
    kRngAlgorithmKinds, kDistributionKinds, kTransposeWords, kAccuracies};

constexpr std::string_view kDirectionFormat = "#stablehlo<comparison_direction %0>";
constexpr std::string_view kComparisonFormat = "#stablehlo<comparison_type %1>";
constexpr std::string_view kFftTypeFormat = "#stablehlo<fft_type %2>";
constexpr std::string_view kPrecisionFormat = "#stablehlo<precision %3>";
constexpr std::string_view kRngAlgorithmFormat = "#stablehlo<rng_algorithm %4>";
constexpr std::string_view kRngDistributionFormat = "#stablehlo<rng_distribution %5>";
constexpr std::string_view kTransposeFormat = "#stablehlo<transpose %6>";
constexpr std::string_view kBoundsFormat = "#stablehlo.bounds<%Z>";
constexpr std::string_view kAliasFormat =
    "#stablehlo.output_operand_alias<output_tuple_indices = [%I], operand_index "
    "= %i, operand_tuple_indices = [%I]>";
constexpr std::string_view kAccuracyModeFormat = "#stablehlo.result_accuracy_mode<%7>";
constexpr std::string_view kAccuracyFormat =
    "#stablehlo.result_accuracy<atol = %d, rtol = %d, ulps = %i, mode = %a>";
constexpr std::string_view kGroupAxesFormat =
    "#stablehlo.replica_group_mesh_axes<mesh = %a, axes = [%A]>";

constexpr BytecodeFormat kBuiltinAttributes[] = {
    {0, "[%A]"},
    {1, "", kDictionary},
    {2, "%s"},
    {3, "%s : %t"},
    {4, "", kSymbol},
    {5, "", kNestedSymbol},
    {6, "%t"},
    {7, "unit"},
    {8, "", kInteger},
    {9, "", kFloat},
    {10, "callsite(%l at %l)", kLocation},
    {11, "%q:%v:%v", kLocation},
    {12, "fused[%L]", kLocation},
    {13, "fused[%L]", kLocation},  // what is behind the parts is not written
    {14, "%q%n", kLocation},
    {15, "unknown", kLocation},
    {16, "", kResource},
    {17, "", kArray},
    {18, "", kElements},
    {21, "distinct[0]<%a>"},
    {22, "%q%r", kLocation},
};

constexpr BytecodeFormat kBuiltinTypes[] = {
    {0, "", kIntegerType},
    {1, "index"},
    {2, "(%T) -> (%T)"},
    {3, "bf16"},
    {4, "f16"},
    {5, "f32"},
    {6, "f64"},
    {7, "f80"},
    {8, "f128"},
    {9, "complex<%t>"},
    {10, "memref<%Zx%t>"},  // only named, as vectors: neither can be planned
    {12, "none"},
    {13, "", kTensorType},
    {14, "", kEncodedTensor},
    {15, "tuple<%T>"},
    {18, "tensor<*x%t>"},
    {19, "vector<%Zx%t>"},
    {21, "tf32"},
    {22, "f8E5M2"},
    {23, "f8E4M3"},
    {24, "f8E4M3FN"},
    {25, "f8E5M2FNUZ"},
    {26, "f8E4M3FNUZ"},
    {27, "f8E4M3B11FNUZ"},
    {28, "f8E3M4"},
    {29, "f4E2M1FN"},
    {30, "f6E2M3FN"},
    {31, "f6E3M2FN"},
    {32, "f8E8M0FNU"},
};

constexpr BytecodeFormat kQuantTypes[] = {
    {4, "", kQuantized},
    {5, "", kQuantizedAxis},
};

constexpr BytecodeFormat kStablehloAttributes[] = {
    {1, "#stablehlo.channel_handle<handle = %i, type = %i>"},
    {2, kDirectionFormat},
    {3, kComparisonFormat},
    {4, "", kConvolution},
    {5,
     "#stablehlo.dot<lhs_batching_dimensions = [%I], rhs_batching_dimensions = [%I], "
     "lhs_contracting_dimensions = [%I], rhs_contracting_dimensions = [%I]>"},
    {6, kFftTypeFormat},
    {7,
     "#stablehlo.gather<offset_dims = [%I], collapsed_slice_dims = [%I], operand_batching_dims = "
     "[%I], start_indices_batching_dims = [%I], start_index_map = [%I], index_vector_dim = %i>"},
    {8, kPrecisionFormat},
    {9, kRngAlgorithmFormat},
    {10, kRngDistributionFormat},
    {11,
     "#stablehlo.scatter<update_window_dims = [%I], inserted_window_dims = [%I], "
     "input_batching_dims = [%I], scatter_indices_batching_dims = [%I], "
     "scatter_dims_to_operand_dims = [%I], index_vector_dim = %i>"},
    {12, kTransposeFormat},
    {13, kBoundsFormat},
    {14, kAliasFormat},
    {15,
     "#stablehlo.dot_algorithm<lhs_precision_type = %t, rhs_precision_type = %t, "
     "accumulation_type = %t, lhs_component_count = %i, rhs_component_count = %i, "
     "num_primitive_operations = %i, allow_imprecise_accumulation = %b>"},
    {16, kAccuracyModeFormat},
    {17, kAccuracyFormat},
    {18, kGroupAxesFormat},
    {19, "(%i)%i", {}, "#stablehlo.sub_axis_info "},
    {20, "#stablehlo.axis_ref<name = %s%?, sub_axis_info = %p%.>"},
    {21, "#stablehlo.mesh_axis<name = %s, size = %i>"},
    {22, "#stablehlo.mesh<axes = %a%?, device_ids = %a%.>"},
};

constexpr BytecodeFormat kStablehloTypes[] = {
    {0, "!stablehlo.token"},
    {1, "!stablehlo.future<%T>"},
};

constexpr BytecodeFormat kChloAttributes[] = {
    {0, "#chlo<comparison_direction %0>"},
    {1, "#chlo<comparison_type %1>"},
};

// What each is in StableHLO.
constexpr BytecodeFormat kVhloAttributes[] = {
    {1, "[%A]"},
    {2, "%B"},
    {3, kDirectionFormat},
    {4, kComparisonFormat},
    {5, "%v : i32"},  // the version of a custom call's interface
    {6, "", kDictionary},
    {7, kFftTypeFormat},
    {8, "", kFloat},
    {9, "", kInteger},
    {10, kAliasFormat},
    {11, kPrecisionFormat},
    {12, kRngAlgorithmFormat},
    {13, kRngDistributionFormat},
    {14, "%s"},
    {15, "", kElements},
    {16, kTransposeFormat},
    {17, "%t"},
    {18, kBoundsFormat},
    {19, kAccuracyModeFormat},
    {20, kAccuracyFormat},
    {21, "(%i)%i", {}, "#stablehlo.sub_axis_info "},
    {22, "#stablehlo.axis_ref<name = %a%w, sub_axis_info = %p%.>"},
    {23, "#stablehlo.replica_group_mesh_axes<mesh = %y, axes = %a>"},
    {24, "#stablehlo.mesh_axis<name = %a, size = %i>"},
    {25, "#stablehlo.mesh<axes = %a%o, device_ids = %.>"},
};

constexpr BytecodeFormat kVhloTypes[] = {
    {0, "i1"},
    {1, "complex<%t>"},
    {2, "bf16"},
    {3, "f16"},
    {4, "f32"},
    {5, "f64"},
    {6, "f8E4M3FN"},
    {7, "f8E5M2"},
    {8, "(%T) -> (%T)"},
    {9, "index"},
    {10, "i4"},
    {11, "i8"},
    {12, "i16"},
    {13, "i32"},
    {14, "i64"},
    {15, "ui4"},
    {16, "ui8"},
    {17, "ui16"},
    {18, "ui32"},
    {19, "ui64"},
    {20, "", kTensorType},
    {21, "", kEncodedTensor},
    {22, "!stablehlo.token"},
    {23, "tuple<%T>"},
    {24, "", kQuantized},
    {25, "tensor<*x%t>"},
    {26, "!shape.witness"},
    {27, "f8E4M3FNUZ"},
    {28, "f8E5M2FNUZ"},
    {29, "f8E4M3B11FNUZ"},
    {30, "", kQuantizedAxis},
    {31, "i2"},
    {32, "ui2"},
    {33, "none"},
    {34, "tf32"},
    {35, "f8E4M3"},
    {36, "f8E3M4"},
    {37, "f4E2M1FN"},
    {38, "f6E2M3FN"},
    {39, "f6E3M2FN"},
    {40, "f8E8M0FNU"},
    {41, "memref<%Zx%t>"},
    {42, "!stablehlo.future<%T>"},
};

constexpr BytecodeFormat kSdyAttributes[] = {
    {0, "{%A}", {}, "#sdy.manual_axes"},
    {1, "%s=%i", {}, "#sdy.mesh_axis "},
    {2, "", kMesh, "#sdy.mesh"},
    {3, "(%i)%i", {}, "#sdy.sub_axis_info "},
    {4, "%s%o:%.", {}, "#sdy.axis_ref "},
    {5, "", kDimension, "#sdy.dimension_sharding "},
    {6, "", kSharding, "#sdy.sharding"},
    {7, "<[%A]>", {}, "#sdy.sharding_per_value"},
    {8, "", kDimMapping, "#sdy.dim_mapping "},
    {9, "[%A]", {}, "#sdy.tensor_mapping "},
    {10, "", kShardingRule, "#sdy.op_sharding_rule"},
    {11, "{%A}", {}, "#sdy.axis_ref_list"},
    {12, "[%A]", {}, "#sdy.list_of_axis_ref_lists"},
    {13, "{%A}:%i->%i", {}, "#sdy.all_to_all_param "},
    {14, "[%A]", {}, "#sdy.all_to_all_param_list"},
    {15, "", kReducedSharding, "#sdy.sharding"},
    {16, "<[%A]>", {}, "#sdy.sharding_per_value"},
    {17, "", kOtherReduction, "#sdy.sharding"},
};

struct Dialect {
  std::string_view name;
  std::span<const BytecodeFormat> attributes, types;
};
constexpr Dialect kBytecodeDialects[] = {
    {"builtin", kBuiltinAttributes, kBuiltinTypes},
    {"stablehlo", kStablehloAttributes, kStablehloTypes},
    {"chlo", kChloAttributes, {}},
    {"vhlo", kVhloAttributes, kVhloTypes},
    {"sdy", kSdyAttributes, {}},
    {"quant", {}, kQuantTypes},
};

const BytecodeFormat* Find(std::span<const BytecodeFormat> formats, uint64_t code) {
  const auto found = std::lower_bound(
      formats.begin(), formats.end(), code,
      [](const BytecodeFormat& format, uint64_t wanted) { return format.code < wanted; });
  return found != formats.end() && found->code == code ? &*found : nullptr;
}

}  // namespace

const BytecodeFormat* FindAttributeFormat(std::string_view dialect, uint64_t code) {
  for (const Dialect& row : kBytecodeDialects) {
    if (row.name == dialect) return Find(row.attributes, code);
  }
  return nullptr;
}

const BytecodeFormat* FindTypeFormat(std::string_view dialect, uint64_t code) {
  for (const Dialect& row : kBytecodeDialects) {
    if (row.name == dialect) return Find(row.types, code);
  }
  return nullptr;
}

std::string_view BytecodeWord(int number, uint64_t value) {
  if (number < 0 || static_cast<size_t>(number) >= std::size(kWords)) return {};
  const std::span<const std::string_view> words = kWords[number];
  return value < words.size() ? words[static_cast<size_t>(value)] : std::string_view();
}

}  // namespace meshwright
