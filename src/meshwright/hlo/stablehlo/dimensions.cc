#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/lowering.h"

// Operations that come with descriptions of dimensions: products, convolutions, gathers, windows.

namespace meshwright {
namespace {

// A list in a dictionary of dimension numbers; empty if it is not there.
absl::StatusOr<std::vector<int64_t>> Numbers(StablehloLowering& l, const MlirAttribute& dimensions,
                                             std::string_view name) {
  const MlirAttribute* const list = dimensions.Find(name);
  if (list == nullptr) return std::vector<int64_t>();
  if (list->kind == MlirAttribute::Kind::kInteger) return std::vector<int64_t>{list->integer};
  return l.ToIntegers(*list);
}

// The dictionary under one of `names`.
absl::StatusOr<const MlirAttribute*> Dimensions(StablehloLowering& l,
                                                const MlirOperation& operation,
                                                std::initializer_list<std::string_view> names) {
  const MlirAttribute* const attribute = l.Find(operation, names);
  if (attribute == nullptr || attribute->kind != MlirAttribute::Kind::kDictionary) {
    return l.Error(operation, StrCat("lacks ", *names.begin(), " = #stablehlo....<...>"));
  }
  return attribute;
}

// `[1, 2] x [0, 3]`
absl::Status ReadPair(StablehloLowering& l, const MlirAttribute& pair, std::vector<int64_t>& lhs,
                      std::vector<int64_t>& rhs) {
  TextCursor cursor(l.text(), l.file_name());
  cursor.set_position(pair.position);
  for (std::vector<int64_t>* list : {&lhs, &rhs}) {
    if (list == &rhs) MW_RETURN_IF_ERROR(cursor.Expect("x", "between dimensions of both sides"));
    MW_RETURN_IF_ERROR(cursor.Expect("[", "before dimensions"));
    if (cursor.Consume(']')) continue;
    do {
      MW_ASSIGN_OR_RETURN(list->emplace_back(), cursor.Integer());
    } while (cursor.Consume(','));
    MW_RETURN_IF_ERROR(cursor.Expect("]", "after dimensions"));
  }
  return absl::OkStatus();
}

// `precision = [HIGHEST, DEFAULT]` as `operand_precision={highest,default}`.
void AddPrecision(StablehloLowering& l, const MlirOperation& operation, Instruction& instruction) {
  const MlirAttribute* const list = l.Find(operation, {"precision", "precision_config"});
  if (list == nullptr) return;
  std::vector<std::string> words;
  for (const MlirAttribute& item : list->list) {
    std::string& word = words.emplace_back(l.Word(&item));
    std::transform(word.begin(), word.end(), word.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  }
  const bool plain = std::all_of(words.begin(), words.end(),
                                 [](const std::string& word) { return word == "default"; });
  if (plain) return;
  instruction.other.emplace_back("operand_precision", StrCat("{", absl::StrJoin(words, ","), "}"));
}

// `algorithm = <lhs_precision_type = bf16, ...>` by HLO's name.
void AddAlgorithm(StablehloLowering& l, const MlirOperation& operation, Instruction& instruction) {
  const MlirAttribute* const algorithm = operation.Find("algorithm");
  if (algorithm == nullptr || algorithm->kind != MlirAttribute::Kind::kDictionary) return;
  const auto word = [&](std::string_view name) { return l.Word(algorithm->Find(name)); };
  const auto number = [&](std::string_view name) {
    const MlirAttribute* const value = algorithm->Find(name);
    return value == nullptr ? int64_t{1} : value->integer;
  };
  const std::string input = word("lhs_precision_type");
  std::string text =
      StrCat("dot_", input, "_", word("rhs_precision_type"), "_", word("accumulation_type"));
  if (input.starts_with("f8")) {
    text = StrCat("dot_any_f8_any_f8_f32",
                  number("allow_imprecise_accumulation") != 0 ? "_fast_accum" : "");
  }
  const int64_t products = number("num_primitive_operations");
  if (products > 1) StrAppend(&text, "_x", products);
  instruction.other.emplace_back("algorithm", text);
}

absl::Status LowerDot(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 2, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction dot, l.Prepare(operation, opcode));
  DotDimensions& d = dot.dot;
  if (operation.name == "stablehlo.dot") {
    d.lhs_contracting = {l.OperandType(operation, 0).rank() - 1};
    d.rhs_contracting = {0};
  } else if (operation.Find("dot_dimension_numbers") != nullptr) {
    MW_ASSIGN_OR_RETURN(const MlirAttribute* const numbers,
                        Dimensions(l, operation, {"dot_dimension_numbers"}));
    MW_ASSIGN_OR_RETURN(d.lhs_batch, Numbers(l, *numbers, "lhs_batching_dimensions"));
    MW_ASSIGN_OR_RETURN(d.rhs_batch, Numbers(l, *numbers, "rhs_batching_dimensions"));
    MW_ASSIGN_OR_RETURN(d.lhs_contracting, Numbers(l, *numbers, "lhs_contracting_dimensions"));
    MW_ASSIGN_OR_RETURN(d.rhs_contracting, Numbers(l, *numbers, "rhs_contracting_dimensions"));
  } else {
    if (const MlirAttribute* const pair = operation.Find("batching_dims")) {
      MW_RETURN_IF_ERROR(ReadPair(l, *pair, d.lhs_batch, d.rhs_batch));
    }
    if (const MlirAttribute* const pair = operation.Find("contracting_dims")) {
      MW_RETURN_IF_ERROR(ReadPair(l, *pair, d.lhs_contracting, d.rhs_contracting));
    }
  }
  AddPrecision(l, operation, dot);
  AddAlgorithm(l, operation, dot);
  return l.Emit(operation, std::move(dot));
}

absl::Status LowerRaggedDot(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 3, 1, 0));
  MW_ASSIGN_OR_RETURN(const MlirAttribute* const ragged,
                      Dimensions(l, operation, {"ragged_dot_dimension_numbers"}));
  const MlirAttribute* const inner = ragged->Find("dot_dimension_numbers");
  const MlirAttribute& numbers = inner == nullptr ? *ragged : *inner;
  MW_ASSIGN_OR_RETURN(Instruction dot, l.Prepare(operation, opcode));
  DotDimensions& d = dot.dot;
  MW_ASSIGN_OR_RETURN(d.lhs_batch, Numbers(l, numbers, "lhs_batching_dimensions"));
  MW_ASSIGN_OR_RETURN(d.rhs_batch, Numbers(l, numbers, "rhs_batching_dimensions"));
  MW_ASSIGN_OR_RETURN(d.lhs_contracting, Numbers(l, numbers, "lhs_contracting_dimensions"));
  MW_ASSIGN_OR_RETURN(d.rhs_contracting, Numbers(l, numbers, "rhs_contracting_dimensions"));
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> rows,
                      Numbers(l, *ragged, "lhs_ragged_dimensions"));
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> groups,
                      Numbers(l, *ragged, "rhs_group_dimensions"));
  dot.other.emplace_back("lhs_ragged_dims", StrCat("{", absl::StrJoin(rows, ","), "}"));
  if (!groups.empty()) {
    dot.other.emplace_back("rhs_group_dims", StrCat("{", absl::StrJoin(groups, ","), "}"));
  }
  AddPrecision(l, operation, dot);
  return l.Emit(operation, std::move(dot));
}

// ---- convolutions ----

// `[b, 0, 1, f]`: where the two letters and the numbers stand.
absl::Status ReadLabels(TextCursor& cursor, char first, char second, int64_t& first_at,
                        int64_t& second_at, std::vector<int64_t>& spatial) {
  MW_RETURN_IF_ERROR(cursor.Expect("[", "before the labels of dimensions"));
  first_at = second_at = -1;
  int64_t position = 0;
  std::vector<std::pair<int64_t, int64_t>> numbered;
  do {
    cursor.SkipSpace();
    if (cursor.Consume('?')) return cursor.Error("a dimension without a label");
    const std::string_view name = MlirName(cursor);
    if (name.size() == 1 && name[0] == first) {
      first_at = position;
    } else if (name.size() == 1 && name[0] == second) {
      second_at = position;
    } else {
      MW_ASSIGN_OR_RETURN(const int64_t number, cursor.Integer());
      numbered.emplace_back(number, position);
    }
    ++position;
  } while (cursor.Consume(','));
  MW_RETURN_IF_ERROR(cursor.Expect("]", "after the labels of dimensions"));
  std::sort(numbered.begin(), numbered.end());
  for (size_t i = 0; i < numbered.size(); ++i) {
    if (numbered[i].first != static_cast<int64_t>(i)) {
      return cursor.Error("spatial dimensions must be numbered 0, 1, ...");
    }
    spatial.push_back(numbered[i].second);
  }
  if (first_at < 0 || second_at < 0) {
    return cursor.Error(StrCat("labels must have '", std::string(1, first), "' and '",
                               std::string(1, second), "'"));
  }
  return absl::OkStatus();
}

absl::Status ReadConvolutionDimensions(StablehloLowering& l, const MlirOperation& operation,
                                       ConvolutionDimensions& d) {
  if (const MlirAttribute* const raw = operation.Find("dimension_numbers");
      raw != nullptr && raw->kind == MlirAttribute::Kind::kDictionary) {
    const auto number = [&](std::string_view name) {
      const MlirAttribute* const value = raw->Find(name);
      return value == nullptr ? int64_t{-1} : value->integer;
    };
    d.input_batch = number("input_batch_dimension");
    d.input_feature = number("input_feature_dimension");
    d.kernel_input_feature = number("kernel_input_feature_dimension");
    d.kernel_output_feature = number("kernel_output_feature_dimension");
    d.output_batch = number("output_batch_dimension");
    d.output_feature = number("output_feature_dimension");
    MW_ASSIGN_OR_RETURN(d.input_spatial, Numbers(l, *raw, "input_spatial_dimensions"));
    MW_ASSIGN_OR_RETURN(d.kernel_spatial, Numbers(l, *raw, "kernel_spatial_dimensions"));
    MW_ASSIGN_OR_RETURN(d.output_spatial, Numbers(l, *raw, "output_spatial_dimensions"));
    return absl::OkStatus();
  }
  const MlirAttribute* const labels = l.Find(operation, {"dim_numbers", "dimension_numbers"});
  if (labels == nullptr) return l.Error(operation, "lacks dim_numbers = [b, 0, f]x[0, i, o]->...");
  TextCursor cursor(l.text(), l.file_name());
  cursor.set_position(labels->position);
  if (cursor.Consume("#stablehlo.conv") || cursor.Consume("#mhlo.conv")) {
    MW_RETURN_IF_ERROR(cursor.Expect("<"));
  }
  MW_RETURN_IF_ERROR(ReadLabels(cursor, 'b', 'f', d.input_batch, d.input_feature, d.input_spatial));
  MW_RETURN_IF_ERROR(cursor.Expect("x", "before the labels of the kernel"));
  MW_RETURN_IF_ERROR(ReadLabels(cursor, 'i', 'o', d.kernel_input_feature, d.kernel_output_feature,
                                d.kernel_spatial));
  MW_RETURN_IF_ERROR(cursor.Expect("->", "before the labels of the result"));
  return ReadLabels(cursor, 'b', 'f', d.output_batch, d.output_feature, d.output_spatial);
}

absl::Status LowerConvolution(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 2, 1, 0));
  MW_ASSIGN_OR_RETURN(Instruction convolution, l.Prepare(operation, opcode));
  ConvolutionDimensions& d = convolution.convolution;
  MW_RETURN_IF_ERROR(ReadConvolutionDimensions(l, operation, d));
  const Shape& kernel = l.OperandType(operation, 1);
  const auto rank = static_cast<int64_t>(d.kernel_spatial.size());
  // The short form has `window = {stride = ...}`, the generic one an attribute for each.
  const MlirAttribute none;
  const MlirAttribute* const window = operation.Find("window");
  const auto list = [&](std::string_view short_name, std::string_view name, int64_t size,
                        int64_t missing) -> absl::StatusOr<std::vector<int64_t>> {
    const MlirAttribute* const entry = window == nullptr ? nullptr : window->Find(short_name);
    std::vector<int64_t> values(static_cast<size_t>(size), missing);
    if (entry == nullptr) return l.Integers(operation, {name}, size, values);
    MW_ASSIGN_OR_RETURN(values, l.ToIntegers(*entry));
    if (static_cast<int64_t>(values.size()) == size) return values;
    return l.Error(operation, StrCat("window has ", values.size(), " numbers for ", short_name,
                                     "; it needs ", size));
  };
  MW_ASSIGN_OR_RETURN(const auto stride, list("stride", "window_strides", rank, 1));
  MW_ASSIGN_OR_RETURN(const auto padding, list("pad", "padding", 2 * rank, 0));
  MW_ASSIGN_OR_RETURN(const auto base, list("lhs_dilate", "lhs_dilation", rank, 1));
  MW_ASSIGN_OR_RETURN(const auto dilation, list("rhs_dilate", "rhs_dilation", rank, 1));
  MW_ASSIGN_OR_RETURN(const auto reversal, list("reverse", "window_reversal", rank, 0));
  for (size_t i = 0; i < d.kernel_spatial.size(); ++i) {
    const int64_t at = d.kernel_spatial[i];
    if (at >= kernel.rank())
      return l.Error(operation, "has more labels than its kernel dimensions");
    convolution.window.push_back({kernel.dims[static_cast<size_t>(at)], stride[i], padding[2 * i],
                                  padding[2 * i + 1], dilation[i], base[i], reversal[i] != 0});
  }
  convolution.feature_group_count = l.IntegerOr(operation, "feature_group_count", 1);
  convolution.batch_group_count = l.IntegerOr(operation, "batch_group_count", 1);
  AddPrecision(l, operation, convolution);
  return l.Emit(operation, std::move(convolution));
}

// ---- gathers and scatters ----

absl::Status LowerGather(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 2, 1, 0));
  MW_ASSIGN_OR_RETURN(const MlirAttribute* const numbers,
                      Dimensions(l, operation, {"dimension_numbers"}));
  MW_ASSIGN_OR_RETURN(Instruction gather, l.Prepare(operation, opcode));
  GatherDimensions& g = gather.gather;
  MW_ASSIGN_OR_RETURN(g.offset_dims, Numbers(l, *numbers, "offset_dims"));
  MW_ASSIGN_OR_RETURN(g.collapsed_slice_dims, Numbers(l, *numbers, "collapsed_slice_dims"));
  MW_ASSIGN_OR_RETURN(g.start_index_map, Numbers(l, *numbers, "start_index_map"));
  MW_ASSIGN_OR_RETURN(g.operand_batching_dims, Numbers(l, *numbers, "operand_batching_dims"));
  MW_ASSIGN_OR_RETURN(g.start_indices_batching_dims,
                      Numbers(l, *numbers, "start_indices_batching_dims"));
  const MlirAttribute* const index = numbers->Find("index_vector_dim");
  g.index_vector_dim = index == nullptr ? 0 : index->integer;
  MW_ASSIGN_OR_RETURN(g.slice_sizes, l.RequiredIntegers(operation, {"slice_sizes"}, -1));
  g.indices_are_sorted = l.IntegerOr(operation, "indices_are_sorted", 0) != 0;
  return l.Emit(operation, std::move(gather));
}

absl::Status LowerScatter(StablehloLowering& l, const MlirOperation& operation, Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, -1, -1, 1));
  MW_ASSIGN_OR_RETURN(const MlirAttribute* const numbers,
                      Dimensions(l, operation, {"scatter_dimension_numbers"}));
  MW_ASSIGN_OR_RETURN(Instruction scatter, l.Prepare(operation, opcode));
  ScatterDimensions& s = scatter.scatter;
  MW_ASSIGN_OR_RETURN(s.update_window_dims, Numbers(l, *numbers, "update_window_dims"));
  MW_ASSIGN_OR_RETURN(s.inserted_window_dims, Numbers(l, *numbers, "inserted_window_dims"));
  MW_ASSIGN_OR_RETURN(s.scatter_dims_to_operand_dims,
                      Numbers(l, *numbers, "scatter_dims_to_operand_dims"));
  MW_ASSIGN_OR_RETURN(s.input_batching_dims, Numbers(l, *numbers, "input_batching_dims"));
  MW_ASSIGN_OR_RETURN(s.scatter_indices_batching_dims,
                      Numbers(l, *numbers, "scatter_indices_batching_dims"));
  const MlirAttribute* const index = numbers->Find("index_vector_dim");
  s.index_vector_dim = index == nullptr ? 0 : index->integer;
  s.indices_are_sorted = l.IntegerOr(operation, "indices_are_sorted", 0) != 0;
  s.unique_indices = l.IntegerOr(operation, "unique_indices", 0) != 0;
  return LowerWithReducer(l, operation, std::move(scatter));
}

// ---- windows ----

absl::Status ReadWindow(StablehloLowering& l, const MlirOperation& operation, int64_t rank,
                        std::vector<WindowDimension>& window) {
  const std::vector<int64_t> ones(static_cast<size_t>(rank), 1);
  const std::vector<int64_t> zeros(static_cast<size_t>(2 * rank), 0);
  MW_ASSIGN_OR_RETURN(const auto size, l.Integers(operation, {"window_dimensions"}, rank, ones));
  MW_ASSIGN_OR_RETURN(const auto stride, l.Integers(operation, {"window_strides"}, rank, ones));
  MW_ASSIGN_OR_RETURN(const auto base, l.Integers(operation, {"base_dilations"}, rank, ones));
  MW_ASSIGN_OR_RETURN(const auto dilation, l.Integers(operation, {"window_dilations"}, rank, ones));
  MW_ASSIGN_OR_RETURN(const auto padding, l.Integers(operation, {"padding"}, 2 * rank, zeros));
  for (size_t d = 0; d < ones.size(); ++d) {
    window.push_back(
        {size[d], stride[d], padding[2 * d], padding[2 * d + 1], dilation[d], base[d], false});
  }
  return absl::OkStatus();
}

absl::Status LowerReduceWindow(StablehloLowering& l, const MlirOperation& operation,
                               Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, -1, -1, 1));
  if (operation.operands.empty()) return l.Error(operation, "has no operands");
  MW_ASSIGN_OR_RETURN(Instruction reduce, l.Prepare(operation, opcode));
  MW_RETURN_IF_ERROR(ReadWindow(l, operation, l.OperandType(operation, 0).rank(), reduce.window));
  return LowerWithReducer(l, operation, std::move(reduce));
}

absl::Status LowerSelectAndScatter(StablehloLowering& l, const MlirOperation& operation,
                                   Opcode opcode) {
  MW_RETURN_IF_ERROR(l.Expect(operation, 3, 1, 2));
  MW_ASSIGN_OR_RETURN(Instruction scatter, l.Prepare(operation, opcode));
  MW_RETURN_IF_ERROR(ReadWindow(l, operation, l.OperandType(operation, 0).rank(), scatter.window));
  for (const size_t region : {0, 1}) {
    MW_ASSIGN_OR_RETURN(scatter.called.emplace_back(), l.LowerReducer(operation, region));
  }
  return l.Emit(operation, std::move(scatter));
}

constexpr StablehloOperation kDimensionOperations[] = {
    {"stablehlo.dot", Opcode::kDot, LowerDot},
    {"stablehlo.dot_general", Opcode::kDot, LowerDot},
    {"chlo.ragged_dot", Opcode::kRaggedDot, LowerRaggedDot},
    {"stablehlo.convolution", Opcode::kConvolution, LowerConvolution},
    {"stablehlo.gather", Opcode::kGather, LowerGather},
    {"stablehlo.scatter", Opcode::kScatter, LowerScatter},
    {"stablehlo.reduce_window", Opcode::kReduceWindow, LowerReduceWindow},
    {"stablehlo.select_and_scatter", Opcode::kSelectAndScatter, LowerSelectAndScatter},
};

}  // namespace

absl::Span<const StablehloOperation> StablehloDimensionOperations() { return kDimensionOperations; }

}  // namespace meshwright
