#ifndef MESHWRIGHT_HLO_STABLEHLO_MLIR_PARSER_H_
#define MESHWRIGHT_HLO_STABLEHLO_MLIR_PARSER_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "meshwright/hlo/stablehlo/mlir_module.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {

// The recursive-descent parser behind ParseMlirModule. mlir_parser.cc reads modules, functions,
// regions and generic operations, mlir_assembly.cc the short forms, mlir_value.cc values and types.
class MlirParser {
 public:
  MlirParser(std::string_view text, std::string_view file_name, const MlirAliases& aliases)
      : cursor_(text, file_name), aliases_(aliases) {}

  absl::StatusOr<MlirModule> Parse();

 private:
  struct Defined {
    std::string_view name;
    size_t position = 0;
  };
  // What stands before the '=' of an operation: `%a:2, %b =`.
  struct Definitions {
    std::vector<Defined> names;
    std::vector<int32_t> counts;  // by name
    size_t total = 0;
  };
  using Types = std::vector<const Shape*>;

  // ---- mlir_parser.cc ----
  static bool IsTerminator(std::string_view name);
  absl::Status ParseModuleBody(bool braced);
  absl::Status ParseFunction(size_t begin);
  absl::Status ParseArguments(MlirFunction& function);
  absl::Status ParseResults(MlirFunction& function);
  absl::Status ParseGenericModule();
  absl::Status ParseMeshOperation();
  // Operations up to the '}' that closes the region, which is consumed.
  absl::Status ParseBody(MlirRegion& region);
  absl::Status ParseOperation(MlirRegion& region);
  // Replaces a short form's name of mhlo by the operation's own. Error if it is unknown.
  absl::Status CheckKnown(MlirOperation& operation) const;
  absl::StatusOr<Definitions> ParseDefinitions();
  absl::Status ParseGeneric(const Definitions& defined, MlirOperation& operation);
  // `({...}, {...})` or `{...}`, with a label and arguments or without.
  absl::Status ParseRegion(MlirRegion& region);
  // `%a: tensor<2xf32> loc(...)`, separated by commas, up to the closing parenthesis.
  absl::Status ParseRegionArguments(MlirRegion& region);
  // `: types` and what they say of operands and results.
  absl::Status ParseTypes(const Definitions& defined, MlirOperation& operation);
  // `{...}` into `attributes`; notes in `anchor` where an entry could be added.
  absl::Status ParseAttributes(MlirAttributes& attributes, MlirAnchor& anchor);
  // `loc(...)`, if it is there; `end` is where it, or what stands before it, ends.
  absl::Status ParseLocation(size_t& location, size_t* end = nullptr);

  // ---- mlir_assembly.cc ----
  absl::Status ParseAssembly(const Definitions& defined, MlirOperation& operation);
  bool AtRegion();
  absl::Status ParseItems(MlirOperation& operation);
  absl::Status ParseNamedItem(MlirOperation& operation, std::string_view name);
  absl::StatusOr<MlirAttribute> ParseItemValue();
  absl::Status ParseRngState(const Definitions& defined, MlirOperation& operation);
  absl::Status ParseNamedComputation(const Definitions& defined, MlirOperation& operation);
  absl::Status ParseConstant(const Definitions& defined, MlirOperation& operation);
  absl::Status ParseWhile(const Definitions& defined, MlirOperation& operation);
  absl::Status ParseReduce(const Definitions& defined, MlirOperation& operation);
  absl::Status ParseReducer(MlirOperation& operation);
  absl::Status MakeReducer(MlirOperation& operation, std::string_view applies, size_t position);

  // ---- mlir_value.cc ----
  // A region of its own for names: what is defined after Enter is forgotten at Leave.
  size_t Enter() const { return scope_.size(); }
  void Leave(size_t mark);
  absl::StatusOr<const Shape*> ParseType();
  absl::StatusOr<Types> ParseTypeList();  // `(a, b)` or `a`
  // `%a` or `%a#1`, which must be defined.
  absl::StatusOr<MlirValue> ParseOperand();
  absl::StatusOr<Defined> ParseValueName();
  // `count` values that follow each other: `%a#0`, `%a#1`, ...
  absl::StatusOr<MlirValue> Define(const Defined& name, const Shape* type, int32_t count);
  absl::Status DefineResults(const Definitions& defined, const Types& types,
                             MlirOperation& operation);
  absl::Status CheckOperandTypes(const MlirOperation& operation, const Types& types);

  struct NamedValue {
    MlirValue value = 0;
    int32_t count = 1;
  };

  TextCursor cursor_;
  const MlirAliases& aliases_;
  MlirModule module_;
  MlirFunction* function_ = nullptr;                           // being read
  absl::flat_hash_map<std::string_view, const Shape*> types_;  // by text
  absl::flat_hash_map<std::string_view, NamedValue> values_;
  std::vector<std::string_view> scope_;  // names that are defined, in order
  int depth_ = 0;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_MLIR_PARSER_H_
