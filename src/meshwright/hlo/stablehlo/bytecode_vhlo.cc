#include "meshwright/hlo/stablehlo/bytecode_vhlo.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/bytecode_operations.h"

// What StableHLO's own conversion does (VhloLegalizeToStablehlo.cpp), on text.

namespace meshwright {
namespace {

constexpr std::string_view kVhlo = "vhlo.";

// "add" of "vhlo.add_v1"
std::string_view BareName(std::string_view operation) {
  operation.remove_prefix(kVhlo.size());
  return operation.substr(0, operation.rfind("_v"));
}

// Values of attributes that StableHLO leaves out. VHLO has no attributes that may be missing.
struct Default {
  std::string_view operation;  // empty: of any
  std::string_view attribute, value;
};
constexpr Default kDefaults[] = {
    {"", "channel_handle", "#stablehlo.channel_handle<handle = 0, type = 0>"},
    {"", "has_dynamic_root", "false"},
    {"", "has_side_effect", "false"},
    {"", "indices_are_sorted", "false"},
    {"", "is_host_transfer", "false"},
    {"", "is_stable", "false"},
    {"", "precision_config", "[]"},
    {"", "precision_config", "[#stablehlo<precision DEFAULT>]"},
    {"", "precision_config", "[#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]"},
    {"", "result_accuracy",
     "#stablehlo.result_accuracy<atol = 0.0000000000000000e+00, rtol = 0.0000000000000000e+00, "
     "ulps "
     "= 0, mode = #stablehlo.result_accuracy_mode<DEFAULT>>"},
    {"", "unique_indices", "false"},
    {"", "use_global_device_ids", "false"},
    {"cholesky", "lower", "false"},
    {"compare", "compare_type", "#stablehlo<comparison_type NOTYPE>"},
    {"composite", "composite_attributes", "{}"},
    {"composite", "version", "0 : i32"},
    {"composite", "version", "0 : i64"},
    {"custom_call", "api_version", "1 : i32"},
    {"custom_call", "backend_config", "\"\""},
    {"custom_call", "backend_config", "{}"},
    {"custom_call", "called_computations", "[]"},
    {"custom_call", "output_operand_aliases", "[]"},
    {"custom_call", "result_tilings", "[]"},
    {"dynamic_broadcast_in_dim", "known_expanding_dimensions", "array<i64>"},
    {"dynamic_broadcast_in_dim", "known_nonexpanding_dimensions", "array<i64>"},
    {"infeed", "infeed_config", "\"\""},
    {"infeed", "layout", "[]"},
    {"outfeed", "outfeed_config", "\"\""},
    {"recv", "source_target_pairs", "dense<> : tensor<0xi64>"},
    {"send", "source_target_pairs", "dense<> : tensor<0xi64>"},
    {"sort", "dimension", "-1 : i64"},
};

// The same for lists and tensors of which all elements are one number.
struct UniformDefault {
  std::string_view operation, attribute;
  int64_t value;
};
constexpr UniformDefault kUniformDefaults[] = {
    {"convolution", "lhs_dilation", 1},
    {"convolution", "padding", 0},
    {"convolution", "rhs_dilation", 1},
    {"convolution", "window_reversal", 0},
    {"convolution", "window_strides", 1},
    {"dynamic_conv", "lhs_dilation", 1},
    {"dynamic_conv", "rhs_dilation", 1},
    {"dynamic_conv", "window_reversal", 0},
    {"dynamic_conv", "window_strides", 1},
    {"reduce_window", "base_dilations", 1},
    {"reduce_window", "padding", 0},
    {"reduce_window", "window_dilations", 1},
    {"reduce_window", "window_strides", 1},
    {"select_and_scatter", "padding", 0},
    {"select_and_scatter", "window_strides", 1},
};

bool IsDefault(std::string_view operation, const MlirNamedText& attribute) {
  return std::any_of(std::begin(kDefaults), std::end(kDefaults), [&](const Default& row) {
    return row.attribute == attribute.name && row.value == attribute.value &&
           (row.operation.empty() || row.operation == operation);
  });
}

// Attributes that are true by being there.
constexpr std::string_view kUnits[] = {"has_dynamic_root", "use_global_device_ids"};
// Attributes that are strings in VHLO and symbols in StableHLO.
constexpr std::string_view kSymbols[] = {"callee", "decomposition"};

// An attribute of StableHLO whose parts are attributes of VHLO. A format is text in which stand for
// parts: %i a number, %I a list of numbers, %a any attribute without the type behind it. Parts that
// are missing (older versions of VHLO do not have them all) leave lists empty.
struct Group {
  std::string_view operation, attribute, format;
  std::vector<std::string_view> parts;
};
const std::vector<Group>& Groups() {
  static const auto& groups = *new std::vector<Group>{
      {"dot_general",
       "dot_dimension_numbers",
       "#stablehlo.dot<lhs_batching_dimensions = [%I], rhs_batching_dimensions = [%I], "
       "lhs_contracting_dimensions = [%I], rhs_contracting_dimensions = [%I]>",
       {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
        "rhs_contracting_dimensions"}},
      {"dot_general",
       "algorithm",
       "#stablehlo.dot_algorithm<lhs_precision_type = %a, rhs_precision_type = %a, "
       "accumulation_type = %a, lhs_component_count = %i, rhs_component_count = %i, "
       "num_primitive_operations = %i, allow_imprecise_accumulation = %a>",
       {"lhs_precision_type", "rhs_precision_type", "accumulation_type", "lhs_component_count",
        "rhs_component_count", "num_primitive_operations", "allow_imprecise_accumulation"}},
      {"gather",
       "dimension_numbers",
       "#stablehlo.gather<offset_dims = [%I], collapsed_slice_dims = [%I], operand_batching_dims = "
       "[%I], start_indices_batching_dims = [%I], start_index_map = [%I], index_vector_dim = %i>",
       {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
        "start_indices_batching_dims", "start_index_map", "index_vector_dim"}},
      {"dynamic_gather",
       "dimension_numbers",
       "#stablehlo.gather<offset_dims = [%I], collapsed_slice_dims = [%I], operand_batching_dims = "
       "[%I], start_indices_batching_dims = [%I], start_index_map = [%I], index_vector_dim = %i>",
       {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
        "start_indices_batching_dims", "start_index_map", "index_vector_dim"}},
      {"scatter",
       "scatter_dimension_numbers",
       "#stablehlo.scatter<update_window_dims = [%I], inserted_window_dims = [%I], "
       "input_batching_dims = [%I], scatter_indices_batching_dims = [%I], "
       "scatter_dims_to_operand_dims = [%I], index_vector_dim = %i>",
       {"update_window_dims", "inserted_window_dims", "input_batching_dims",
        "scatter_indices_batching_dims", "scatter_dims_to_operand_dims", "index_vector_dim"}},
      {"send",
       "channel_handle",
       "#stablehlo.channel_handle<handle = %i, type = %i>",
       {"channel_id", "channel_type"}},
      {"recv",
       "channel_handle",
       "#stablehlo.channel_handle<handle = %i, type = %i>",
       {"channel_id", "channel_type"}},
  };
  return groups;
}

constexpr std::string_view kConvolutionParts[] = {
    "input_batch_dimension",           "input_feature_dimension",
    "input_spatial_dimensions",        "kernel_input_feature_dimension",
    "kernel_output_feature_dimension", "kernel_spatial_dimensions",
    "output_batch_dimension",          "output_feature_dimension",
    "output_spatial_dimensions"};

class Converter {
 public:
  Converter(BytecodeAttributes& attributes, std::string_view operation,
            const BytecodeAttributes::Named& named)
      : attributes_(attributes),
        operation_(BareName(operation)),
        named_(named),
        taken_(named.size(), false) {
    for (const BytecodeProperties& layout :
         FindBytecodeProperties(StablehloOperationName(operation))) {
      for (const BytecodeProperty& property : layout) {
        if (property.is_array) arrays_.push_back(property.name);
      }
    }
  }

  absl::StatusOr<std::vector<MlirNamedText>> Convert() {
    for (const Group& group : Groups()) {
      if (group.operation == operation_) MW_RETURN_IF_ERROR(ConvertGroup(group));
    }
    if (operation_ == "convolution" || operation_ == "dynamic_conv") {
      MW_RETURN_IF_ERROR(ConvertConvolution());
    }
    for (size_t i = 0; i < named_.size(); ++i) {
      if (!taken_[i]) MW_RETURN_IF_ERROR(ConvertOne(named_[i].first, named_[i].second));
    }
    // Layouts are left out together.
    const auto empty_layout = [](const MlirNamedText& text) {
      return text.name.ends_with("_layouts") && text.value == "[]";
    };
    if (std::count_if(texts_.begin(), texts_.end(), empty_layout) == 2) {
      std::erase_if(texts_, empty_layout);
    }
    return std::move(texts_);
  }

 private:
  static constexpr size_t kMissing = static_cast<size_t>(-1);

  // Where in named_ an attribute is; it is not converted by itself any more.
  size_t Take(std::string_view name) {
    for (size_t i = 0; i < named_.size(); ++i) {
      if (named_[i].first != name) continue;
      taken_[i] = true;
      return i;
    }
    return kMissing;
  }

  void Add(std::string_view name, std::string value) {
    MlirNamedText text{std::string(name), std::move(value), false};
    if (IsDefault(operation_, text)) return;
    if (text.value == "true" &&
        std::find(std::begin(kUnits), std::end(kUnits), name) != std::end(kUnits)) {
      text.is_unit = true;
    }
    texts_.push_back(std::move(text));
  }

  absl::Status AppendIntegers(size_t at, std::string& out) {
    if (at == kMissing) return absl::OkStatus();
    MW_ASSIGN_OR_RETURN(const std::vector<int64_t> values, attributes_.Integers(named_[at].second));
    for (size_t i = 0; i < values.size(); ++i) StrAppend(&out, i == 0 ? "" : ", ", values[i]);
    return absl::OkStatus();
  }

  absl::Status ConvertGroup(const Group& group) {
    std::vector<size_t> parts;
    for (const std::string_view part : group.parts) parts.push_back(Take(part));
    if (std::all_of(parts.begin(), parts.end(), [](size_t at) { return at == kMissing; })) {
      return absl::OkStatus();
    }
    std::string text;
    size_t part = 0;
    for (std::string_view format = group.format; !format.empty();) {
      const size_t plain = std::min(format.find('%'), format.size());
      text += format.substr(0, plain);
      format.remove_prefix(plain);
      if (format.empty()) break;
      const size_t at = parts[part++];
      if (format[1] == 'I') {
        MW_RETURN_IF_ERROR(AppendIntegers(at, text));
      } else if (at != kMissing) {
        std::string value;
        MW_RETURN_IF_ERROR(attributes_.AppendAttribute(named_[at].second, value));
        if (value == "none") return absl::OkStatus();  // a group whose parts are all none
        if (format[1] == 'i') value.resize(std::min(value.find(' '), value.size()));
        text += value;
      }
      format.remove_prefix(2);
    }
    Add(group.attribute, std::move(text));
    return absl::OkStatus();
  }

  absl::Status ConvertConvolution() {
    std::vector<std::vector<int64_t>> parts;
    for (const std::string_view name : kConvolutionParts) {
      const size_t at = Take(name);
      if (at == kMissing) return absl::OkStatus();  // said to be missing where it is needed
      std::vector<int64_t>& values = parts.emplace_back();
      if (name.ends_with("_dimensions")) {
        MW_ASSIGN_OR_RETURN(values, attributes_.Integers(named_[at].second));
      } else {
        MW_ASSIGN_OR_RETURN(values.emplace_back(), attributes_.Integer(named_[at].second));
      }
    }
    std::string text = "#stablehlo.conv<";
    for (size_t i = 0; i < 3; ++i) {
      text += i == 0 ? "" : i == 1 ? "x" : "->";
      const std::string dimensions = ConvolutionLabels(i == 1 ? "io" : "bf", parts[3 * i][0],
                                                       parts[3 * i + 1][0], parts[3 * i + 2]);
      if (dimensions.empty()) {
        return attributes_.Error(named_[Take(kConvolutionParts[3 * i])].second,
                                 "dimension numbers of a convolution that do not fit each other");
      }
      text += dimensions;
    }
    Add("dimension_numbers", text + ">");
    return absl::OkStatus();
  }

  absl::Status ConvertOne(std::string_view name, uint64_t attribute) {
    std::string value;
    for (const UniformDefault& row : kUniformDefaults) {
      if (row.operation != operation_ || row.attribute != name) continue;
      MW_ASSIGN_OR_RETURN(const std::vector<int64_t> items, attributes_.Integers(attribute));
      if (std::all_of(items.begin(), items.end(), [&](int64_t i) { return i == row.value; })) {
        return absl::OkStatus();
      }
    }
    if (std::find(std::begin(kSymbols), std::end(kSymbols), name) != std::end(kSymbols)) {
      MW_ASSIGN_OR_RETURN(const std::string symbol, attributes_.String(attribute));
      AppendMlirSymbol(symbol, value);
    } else if (name == "called_computations") {
      MW_ASSIGN_OR_RETURN(const std::vector<uint64_t> items, attributes_.Array(attribute));
      for (const uint64_t item : items) {
        MW_ASSIGN_OR_RETURN(const std::string symbol, attributes_.String(item));
        value += value.empty() ? "[" : ", ";
        AppendMlirSymbol(symbol, value);
      }
      value += value.empty() ? "[]" : "]";
    } else if (name == "channel_id") {
      MW_ASSIGN_OR_RETURN(const int64_t channel, attributes_.Integer(attribute));
      name = "channel_handle";
      value = StrCat("#stablehlo.channel_handle<handle = ", channel, ", type = 0>");
    } else if (std::find(arrays_.begin(), arrays_.end(), name) != arrays_.end()) {
      const bool truth = name == "window_reversal";
      MW_ASSIGN_OR_RETURN(const std::vector<int64_t> items, attributes_.Integers(attribute));
      value = truth ? "array<i1" : "array<i64";
      for (size_t i = 0; i < items.size(); ++i) {
        value += i == 0 ? ": " : ", ";
        if (truth) {
          value += items[i] != 0 ? "true" : "false";
        } else {
          StrAppend(&value, items[i]);
        }
      }
      value += '>';
    } else {
      MW_RETURN_IF_ERROR(attributes_.AppendAttribute(attribute, value));
    }
    Add(name, std::move(value));
    return absl::OkStatus();
  }

  BytecodeAttributes& attributes_;
  std::string_view operation_;
  const BytecodeAttributes::Named& named_;
  std::vector<bool> taken_;
  std::vector<std::string_view> arrays_;
  std::vector<MlirNamedText> texts_;
};

}  // namespace

std::string StablehloOperationName(std::string_view vhlo_operation) {
  if (!vhlo_operation.starts_with(kVhlo)) return std::string(vhlo_operation);
  const std::string_view name = BareName(vhlo_operation);
  return StrCat(name == "call" || name == "func" ? "func." : "stablehlo.", name);
}

absl::StatusOr<std::vector<MlirNamedText>> StablehloProperties(
    BytecodeAttributes& attributes, std::string_view vhlo_operation,
    const BytecodeAttributes::Named& named) {
  return Converter(attributes, vhlo_operation, named).Convert();
}

}  // namespace meshwright
