#include <algorithm>
#include <limits>

#include "absl/strings/str_format.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/bytecode_attributes.h"

// Attributes of bytecode that are written in notations of their own: Shardy's, the dimension
// numbers of convolutions, quantized types.

namespace meshwright {
namespace {

// More factors in a sharding rule, or dimensions of a convolution, are damage.
constexpr int64_t kMaxRuleFactors = 1 << 12;
constexpr size_t kMaxDimensions = 1 << 8;

// i, j, ... z, z_1, z_2, ...
std::string FactorName(int64_t factor) {
  constexpr int64_t kLetters = 'z' - 'i' + 1;
  if (factor < kLetters) return std::string(1, static_cast<char>('i' + factor));
  return StrCat("z_", factor - kLetters + 1);
}

}  // namespace

std::string ConvolutionLabels(std::string_view letters, int64_t first, int64_t second,
                              const std::vector<int64_t>& spatial) {
  if (spatial.size() > kMaxDimensions) return "";
  std::vector<std::string> names(spatial.size() + 2);
  const auto place = [&](int64_t dimension, std::string name) {
    if (dimension < 0 || dimension >= static_cast<int64_t>(names.size())) return false;
    std::string& found = names[static_cast<size_t>(dimension)];
    if (!found.empty()) return false;
    found = std::move(name);
    return true;
  };
  bool fits = place(first, std::string(1, letters[0])) && place(second, std::string(1, letters[1]));
  for (size_t i = 0; i < spatial.size(); ++i) fits = fits && place(spatial[i], StrCat(i));
  if (!fits) return "";
  std::string text;
  for (const std::string& name : names) StrAppend(&text, text.empty() ? "[" : ", ", name);
  return text + "]";
}

// `#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>`
absl::Status BytecodeAttributes::AppendConvolution(BytecodeCursor& data, std::string& out) {
  out += "#stablehlo.conv<";
  for (int part = 0; part < 3; ++part) {
    MW_ASSIGN_OR_RETURN(const int64_t first, data.SignedVarint());
    MW_ASSIGN_OR_RETURN(const int64_t second, data.SignedVarint());
    MW_ASSIGN_OR_RETURN(const std::vector<int64_t> spatial, data.SignedVarints());
    const std::string text = ConvolutionLabels(part == 1 ? "io" : "bf", first, second, spatial);
    if (text.empty()) {
      return data.Error("dimension numbers of a convolution that do not fit each other");
    }
    StrAppend(&out, part == 0 ? "" : part == 1 ? "x" : "->", text);
  }
  out += '>';
  return absl::OkStatus();
}

// `!quant.uniform<i8<-127:127>:f32, 0.1:3>`
absl::Status BytecodeAttributes::AppendQuantized(BytecodeCursor& data, bool per_axis,
                                                 std::string& out) {
  MW_RETURN_IF_ERROR(data.Varint().status());  // whether it is signed, which the storage says too
  out += "!quant.uniform<";
  MW_RETURN_IF_ERROR(AppendPlaceholder('t', data, Part::kWhole, out));
  std::string expressed = ":";
  MW_RETURN_IF_ERROR(AppendPlaceholder('t', data, Part::kWhole, expressed));
  if (!per_axis) {
    std::string scale;
    MW_RETURN_IF_ERROR(AppendFormat("%d:%i", data, Part::kWhole, scale));
    out += '<';
    MW_RETURN_IF_ERROR(AppendFormat("%i:%i>", data, Part::kWhole, out));
    StrAppend(&out, expressed, ", ", scale, ">");
    return absl::OkStatus();
  }
  MW_RETURN_IF_ERROR(AppendFormat(":%v", data, Part::kWhole, expressed));
  out += '<';
  MW_RETURN_IF_ERROR(AppendFormat("%i:%i>", data, Part::kWhole, out));
  StrAppend(&out, expressed, ", {");
  MW_ASSIGN_OR_RETURN(const size_t count, data.Count("scales"));
  std::vector<std::string> scales(count);
  for (std::string& scale : scales) {
    MW_RETURN_IF_ERROR(AppendPlaceholder('d', data, Part::kWhole, scale));
  }
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> zeros, data.SignedVarints());
  if (zeros.size() != count) return data.Error("a quantized type without a zero for each scale");
  for (size_t i = 0; i < count; ++i) {
    StrAppend(&out, i == 0 ? "" : ", ", scales[i], ":", zeros[i]);
  }
  out += "}>";
  return absl::OkStatus();
}

// `<["x"=2, "y"=4], device_ids=[1, 0]>`
absl::Status BytecodeAttributes::AppendMesh(BytecodeCursor& data, std::string& out) {
  MW_RETURN_IF_ERROR(AppendFormat("<[%A]", data, Part::kPart, out));
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> devices, data.SignedVarints());
  for (size_t i = 0; i < devices.size(); ++i) {
    StrAppend(&out, i == 0 ? ", device_ids=[" : ", ", devices[i]);
  }
  out += devices.empty() ? ">" : "]>";
  return absl::OkStatus();
}

// `{"x", ?}p1`
absl::Status BytecodeAttributes::AppendDimension(BytecodeCursor& data, std::string& out) {
  MW_RETURN_IF_ERROR(AppendFormat("{%A", data, Part::kPart, out));
  MW_ASSIGN_OR_RETURN(const uint8_t closed, data.Byte());
  if (closed == 0) out += out.ends_with('{') ? "?" : ", ?";
  out += '}';
  bool has_priority = false;
  MW_ASSIGN_OR_RETURN(const uint64_t priority, data.VarintWithFlag(has_priority));
  if (has_priority) StrAppend(&out, "p", priority);
  return absl::OkStatus();
}

// `, replicated={"x"}`, or nothing for none
absl::Status BytecodeAttributes::AppendAxes(BytecodeCursor& data, std::string_view name,
                                            std::string& out) {
  const size_t before = out.size();
  StrAppend(&out, ", ", name, "={");
  const size_t empty = out.size();
  MW_RETURN_IF_ERROR(AppendPlaceholder('A', data, Part::kPart, out));
  if (out.size() == empty) {
    out.resize(before);
  } else {
    out += '}';
  }
  return absl::OkStatus();
}

// `<@mesh, [{"x"}, {}], replicated={"y"}, unreduced={"z"}>`
absl::Status BytecodeAttributes::AppendSharding(BytecodeCursor& data, BytecodeSpecial special,
                                                std::string& out) {
  out += '<';
  const size_t before = out.size();
  MW_RETURN_IF_ERROR(AppendPlaceholder('a', data, Part::kPart, out));
  if (out.compare(before, 1, "<") == 0) out.insert(before, "mesh");
  MW_RETURN_IF_ERROR(AppendFormat(", [%A]", data, Part::kPart, out));
  MW_RETURN_IF_ERROR(AppendAxes(data, "replicated", out));
  if (special != BytecodeSpecial::kSharding) {
    std::string unreduced;
    MW_RETURN_IF_ERROR(AppendAxes(data, "unreduced", unreduced));
    if (special == BytecodeSpecial::kOtherReduction) {
      constexpr std::string_view kReductions[] = {"", "max", "min"};
      MW_ASSIGN_OR_RETURN(const int64_t reduction, data.SignedVarint());
      if (reduction < 0 || reduction > 2) return data.Error("a sharding with an unknown reduction");
      const size_t at = unreduced.find('{');
      if (at != std::string::npos) unreduced.insert(at, kReductions[reduction]);
    }
    out += unreduced;
  }
  out += '>';
  return absl::OkStatus();
}

// `<([i, k], [k, j])->([i, j]) {i=8, j=4, k=2} reduction={k}, custom>`
absl::Status BytecodeAttributes::AppendShardingRule(BytecodeCursor& data, std::string& out) {
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, data.SignedVarints());
  MW_RETURN_IF_ERROR(AppendFormat("<(%A)->(%A)", data, Part::kPart, out));
  for (size_t i = 0; i < sizes.size(); ++i) {
    StrAppend(&out, i == 0 ? " {" : ", ", FactorName(static_cast<int64_t>(i)), "=", sizes[i]);
  }
  if (!sizes.empty()) out += '}';
  for (const std::string_view kind :
       {"reduction", "need_replication", "permutation", "blocked_propagation"}) {
    MW_RETURN_IF_ERROR(AppendFactors(data, StrCat(" ", kind, "={"), ", ", "}", out));
  }
  MW_ASSIGN_OR_RETURN(const uint8_t custom, data.Byte());
  out += custom != 0 ? ", custom>" : ">";
  return absl::OkStatus();
}

// The names of factors; nothing for none.
absl::Status BytecodeAttributes::AppendFactors(BytecodeCursor& data, std::string_view open,
                                               std::string_view separator, std::string_view close,
                                               std::string& out) {
  MW_ASSIGN_OR_RETURN(const std::vector<int64_t> factors, data.SignedVarints());
  for (size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] < 0 || factors[i] > kMaxRuleFactors) return data.Error("a factor out of bounds");
    StrAppend(&out, i == 0 ? open : separator, FactorName(factors[i]));
  }
  if (!factors.empty()) out += close;
  return absl::OkStatus();
}

}  // namespace meshwright
