#include <utility>

#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/hlo/proto/sharding.h"
#include "meshwright/hlo/stablehlo/lowering.h"
#include "meshwright/hlo/stablehlo/mlir_literal.h"
#include "meshwright/hlo/stablehlo/mlir_sharding.h"

// Attributes of an operation as numbers, words and shardings, and errors that name it.

namespace meshwright {

absl::Status StablehloLowering::ErrorAt(size_t position, std::string_view message) const {
  return TextCursor(text_, file_name_).Error(position, message);
}

absl::Status StablehloLowering::Error(const MlirOperation& operation,
                                      std::string_view message) const {
  return ErrorAt(operation.position, StrCat(operation.name, ": ", message));
}

const MlirAttribute* StablehloLowering::Find(const MlirOperation& operation,
                                             std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    if (const MlirAttribute* attribute = operation.Find(name)) return attribute;
  }
  return nullptr;
}

absl::StatusOr<std::vector<int64_t>> StablehloLowering::ToIntegers(
    const MlirAttribute& attribute) const {
  return ReadMlirIntegers(attribute, text_, file_name_);
}

absl::StatusOr<std::vector<int64_t>> StablehloLowering::Integers(
    const MlirOperation& operation, std::initializer_list<std::string_view> names, int64_t size,
    const std::vector<int64_t>& missing) const {
  const MlirAttribute* const attribute = Find(operation, names);
  if (attribute == nullptr) return missing;
  MW_ASSIGN_OR_RETURN(std::vector<int64_t> values, ToIntegers(*attribute));
  if (size >= 0 && static_cast<int64_t>(values.size()) != size) {
    return Error(operation, StrCat("attribute ", *names.begin(), " has ", values.size(),
                                   " numbers; it needs ", size));
  }
  return values;
}

absl::StatusOr<std::vector<int64_t>> StablehloLowering::RequiredIntegers(
    const MlirOperation& operation, std::initializer_list<std::string_view> names,
    int64_t size) const {
  if (Find(operation, names) == nullptr) {
    return Error(operation, StrCat("lacks the attribute ", *names.begin()));
  }
  return Integers(operation, names, size);
}

absl::StatusOr<int64_t> StablehloLowering::Integer(
    const MlirOperation& operation, std::initializer_list<std::string_view> names) const {
  const MlirAttribute* const attribute = Find(operation, names);
  if (attribute == nullptr || attribute->kind != MlirAttribute::Kind::kInteger) {
    return Error(operation, StrCat("lacks the attribute ", *names.begin(), ", a number"));
  }
  return attribute->integer;
}

int64_t StablehloLowering::IntegerOr(const MlirOperation& operation, std::string_view name,
                                     int64_t missing) const {
  const MlirAttribute* const attribute = operation.Find(name);
  if (attribute == nullptr) return missing;
  if (attribute->kind == MlirAttribute::Kind::kUnit) return 1;
  return attribute->kind == MlirAttribute::Kind::kInteger ? attribute->integer : missing;
}

std::string StablehloLowering::Word(const MlirAttribute* attribute) {
  if (attribute == nullptr) return "";
  if (attribute->kind == MlirAttribute::Kind::kString) return attribute->string;
  std::string_view text = attribute->text;
  while (text.ends_with('>') || text.ends_with(' ')) text.remove_suffix(1);
  return std::string(text.substr(text.find_last_of(" <.") + 1));
}

absl::Status StablehloLowering::Expect(const MlirOperation& operation, int64_t operands,
                                       int64_t results, int64_t regions) const {
  struct Count {
    int64_t wanted;
    size_t found;
    std::string_view what;
  };
  for (const Count& count : {Count{operands, operation.operands.size(), "operands"},
                             Count{results, operation.results.size(), "results"},
                             Count{regions, operation.regions.size(), "regions"}}) {
    if (count.wanted < 0 || static_cast<size_t>(count.wanted) == count.found) continue;
    return Error(operation,
                 StrCat("has ", count.found, " ", count.what, "; it takes ", count.wanted));
  }
  return absl::OkStatus();
}

absl::Status StablehloLowering::ExpectArray(const MlirOperation& operation, MlirValue value) const {
  if (Type(value).is_array()) return absl::OkStatus();
  return Error(operation, StrCat("takes tensors, found ", Type(value).ToString(false)));
}

absl::StatusOr<std::string> StablehloLowering::SdySharding(const MlirAttribute& attribute) const {
  MW_ASSIGN_OR_RETURN(
      std::vector<std::string> texts,
      HloShardingsFromSdy(text_, file_name_, attribute.position, mlir_.meshes, aliases_));
  if (texts.size() == 1) return std::move(texts[0]);
  return ErrorAt(attribute.position, StrCat("shardings of ", texts.size(), " values, not of one"));
}

absl::StatusOr<OpShardingRule> StablehloLowering::ShardingRule(
    const MlirAttribute& attribute) const {
  return ParseOpShardingRule(text_, file_name_, attribute.position);
}

absl::StatusOr<std::string> StablehloLowering::ShardingOf(const MlirAttributes& attributes,
                                                          size_t leaves) const {
  for (const auto& [name, value] : attributes) {
    if (name == "mhlo.sharding") {
      if (value.kind == MlirAttribute::Kind::kString) {
        if (value.string.starts_with("{")) return CanonicalText(value.string);
        // Before 2023 frameworks wrote the bytes of an OpSharding.
        if (absl::StatusOr<std::string> text = ShardingTextFromBytes(value.string); text.ok()) {
          return text;
        }
      }
      return ErrorAt(value.position,
                     "expected mhlo.sharding = \"{...}\" or the bytes of an OpSharding");
    }
    if (name != "sdy.sharding") continue;
    MW_ASSIGN_OR_RETURN(
        const std::vector<std::string> texts,
        HloShardingsFromSdy(text_, file_name_, value.position, mlir_.meshes, aliases_));
    if (texts.size() == 1) return texts[0];
    if (texts.size() != leaves) {
      return ErrorAt(value.position,
                     StrCat("shardings of ", texts.size(), " values; there are ", leaves));
    }
    std::string list;
    for (const std::string& text : texts) {
      // A tuple has no text for an element that is left open.
      if (text.empty()) return std::string();
      StrAppend(&list, list.empty() ? "" : ", ", text);
    }
    return StrCat("{", list, "}");
  }
  return std::string();
}

}  // namespace meshwright
