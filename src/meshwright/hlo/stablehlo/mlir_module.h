#ifndef MESHWRIGHT_HLO_STABLEHLO_MLIR_MODULE_H_
#define MESHWRIGHT_HLO_STABLEHLO_MLIR_MODULE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "meshwright/hlo/shape.h"
#include "meshwright/hlo/source_place.h"
#include "meshwright/hlo/stablehlo/mlir_syntax.h"

// An MLIR module of functions as it is written, before anything is made of its operations. Views
// point into the text.

namespace meshwright {

using MlirValue = int32_t;  // number of a value in its function; its type is MlirFunction::types[]

// Where an attribute can be put into the text of an operation, an argument or a result.
struct MlirAnchor {
  enum class Form {
    kNone,         // nowhere
    kBare,         // `{...}` at `position`
    kInside,       // an entry and a comma at `position`, behind the '{' of a dictionary
    kInsideEmpty,  // the same without the comma
    kParentheses,  // a type alone at [position, end): `(type {...})`
    kReplace,      // the text of [position, end), a sharding that is there without a name
  };
  Form form = Form::kNone;
  size_t position = 0, end = 0;
  // [begin, end) of the entries `sdy.sharding = ...` and `mhlo.sharding = ...` that are there.
  std::vector<std::pair<size_t, size_t>> shardings;
};

struct MlirRegion;

// A name before the '=' of an operation, `%a` or `%a:2`.
struct MlirDefinition {
  size_t begin = 0, end = 0;  // of `%a` in the text
  int32_t count = 1;
  friend bool operator==(const MlirDefinition&, const MlirDefinition&) = default;
};

// `%a` or `%a#1` among operands.
struct MlirUse {
  size_t begin = 0, end = 0;
  MlirValue value = 0;
  bool is_part = false;  // of a name that stands for several values
};

struct MlirOperation {
  std::string_view name;         // "stablehlo.add"
  size_t position = 0, end = 0;  // of the operation in the text, with its location
  SourcePlace place;
  size_t location = std::string_view::npos;  // of what stands in its `loc(...)`
  std::vector<MlirValue> operands, results;
  std::vector<MlirDefinition> definitions;
  MlirAttributes attributes;  // inherent and discardable ones
  // Attributes of the short form that have no name: comparison directions, ranges of slices, ...
  std::vector<MlirAttribute> unnamed;
  std::vector<MlirRegion> regions;
  MlirValue inner = 0;  // values of the regions have this number or a larger one, others do not
  MlirAnchor anchor;

  const MlirAttribute* Find(std::string_view name) const;
};

struct MlirRegion {
  std::vector<MlirValue> arguments;
  std::vector<MlirOperation> operations;  // the last one is the terminator
};

// An argument or a result of a function.
struct MlirPort {
  const Shape* type = nullptr;
  MlirAttributes attributes;
  size_t location = std::string_view::npos;
  MlirAnchor anchor;
};

struct MlirFunction {
  std::string_view name;
  size_t begin = 0, end = 0;  // in the text, with its location
  size_t position = 0;        // behind `func.func`
  SourcePlace place;
  bool is_private = false;
  bool is_declaration = false;
  std::vector<MlirPort> arguments, results;
  std::vector<const Shape*> types;            // by value
  std::vector<MlirUse> uses;                  // in the order of the text
  std::vector<std::string_view> value_names;  // by value, without the '%'
  MlirRegion body;
};

// `sdy.mesh @mesh = <["x"=2, "y"=4], device_ids=[...]>`
struct MlirMesh {
  std::string name;
  std::vector<std::pair<std::string, int64_t>> axes;
  std::vector<int64_t> device_ids;
  friend bool operator==(const MlirMesh&, const MlirMesh&) = default;
};

struct MlirModule {
  std::string name;
  MlirAttributes attributes;
  std::vector<MlirFunction> functions;
  std::vector<MlirMesh> meshes;
  size_t body = 0;           // where the first operation of the module could stand
  std::deque<Shape> shapes;  // what types point to
};

// The body of `<["x"=2], device_ids=[1, 0]>`; the cursor is before the '<'.
absl::StatusOr<MlirMesh> ParseMlirMesh(TextCursor& cursor);

// Reads a module (or functions without one) in which every operation has one of the forms that
// MLIR prints: the generic one or the short one of its dialect. Types are checked where an
// operation says those of its operands. Errors: `file:line:column: message`. Time and memory are
// linear in the size of the text.
absl::StatusOr<MlirModule> ParseMlirModule(std::string_view text, std::string_view file_name,
                                           const MlirAliases& aliases);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_STABLEHLO_MLIR_MODULE_H_
