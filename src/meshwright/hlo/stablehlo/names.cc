#include "meshwright/hlo/stablehlo/names.h"

#include <algorithm>
#include <iterator>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/stablehlo/lowering.h"

namespace meshwright {
namespace {

// Operations of mhlo that others have under another name.
struct Renamed {
  std::string_view mhlo, name;
};
constexpr Renamed kRenamed[] = {
    {"mhlo.topk", "chlo.top_k"},
};

constexpr std::string_view kReadDialects[] = {"stablehlo", "chlo", "mhlo", "sdy", "func"};

}  // namespace

std::string_view StablehloName(std::string_view name) {
  if (const StablehloOperation* const row = FindStablehloOperation(name)) return row->name;
  constexpr std::string_view kMhlo = "mhlo.";
  if (!name.starts_with(kMhlo)) return {};
  for (const Renamed& row : kRenamed) {
    if (row.mhlo == name) return row.name;
  }
  name.remove_prefix(kMhlo.size());
  for (const std::string_view dialect : {"stablehlo.", "chlo."}) {
    const StablehloOperation* const row = FindStablehloOperation(StrCat(dialect, name));
    if (row != nullptr) return row->name;
  }
  return {};
}

std::string WhyUnknown(std::string_view name) {
  const size_t dot = std::min(name.find('.'), name.size());
  const std::string_view dialect = name.substr(0, dot);
  const std::string_view operation = name.substr(std::min(dot + 1, name.size()));
  if (std::find(std::begin(kReadDialects), std::end(kReadDialects), dialect) ==
      std::end(kReadDialects)) {
    return "operations of this dialect cannot be planned; lower the program to StableHLO";
  }
  if (dialect == "sdy") {
    return "what Shardy writes on the way to a partitioned program cannot be planned; pass the "
           "program as it was before, with nothing of Shardy's but meshes, shardings and "
           "sdy.sharding_constraint";
  }
  if (operation.starts_with("dynamic_") || operation.starts_with("real_dynamic_") ||
      operation.ends_with("_shape") || operation.ends_with("_shapes")) {
    return "its shape is computed while the program runs; planning needs sizes, so lower the "
           "program for shapes that are known";
  }
  if (operation.starts_with("uniform_")) {
    return "quantized numbers cannot be planned; lower the program with plain ones, such as i8";
  }
  return "this operation is not known, so nothing can be said about what it computes; lower the "
         "program to operations of StableHLO, or to a stablehlo.custom_call of what runs it";
}

}  // namespace meshwright
