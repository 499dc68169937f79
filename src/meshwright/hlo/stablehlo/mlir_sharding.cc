#include "meshwright/hlo/stablehlo/mlir_sharding.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "meshwright/base/nearest_name.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

absl::StatusOr<std::vector<int64_t>> ParseIntegers(TextCursor& cursor) {
  MW_RETURN_IF_ERROR(cursor.Expect("[", "before a list of integers"));
  std::vector<int64_t> values;
  if (cursor.Consume(']')) return values;
  do {
    MW_ASSIGN_OR_RETURN(values.emplace_back(), cursor.Integer());
  } while (cursor.Consume(','));
  MW_RETURN_IF_ERROR(cursor.Expect("]", "after a list of integers"));
  return values;
}

// Aliases may name aliases, themselves too.
constexpr int kMaxShardingAliases = 1000;

class SdyParser {
 public:
  SdyParser(TextCursor cursor, absl::Span<const MlirMesh> meshes, const MlirAliases& aliases)
      : cursor_(cursor), meshes_(meshes), aliases_(aliases) {}

  absl::StatusOr<std::vector<std::string>> Parse() {
    return Aliased([this] { return Shardings(); });
  }

 private:
  // `parse()` of what stands here or, if that is an alias, of what the alias stands for.
  template <typename Parse>
  auto Aliased(const Parse& parse) -> decltype(parse()) {
    cursor_.SkipSpace();
    const size_t at = cursor_.position();
    if (!cursor_.Consume('#')) return parse();
    const std::string_view name = MlirName(cursor_);
    if (name.find('.') != std::string_view::npos) {
      cursor_.set_position(at);
      return parse();
    }
    const size_t end = cursor_.position(), value = aliases_.Find(name);
    if (value == std::string_view::npos) {
      return cursor_.Error(at, StrCat("alias ", QuoteForError(StrCat("#", name)),
                                      " is not defined; add a line #", name, " = ..."));
    }
    if (++expansions_ > kMaxShardingAliases) {
      return cursor_.Error(at,
                           StrCat("more than ", kMaxShardingAliases, " aliases in one attribute"));
    }
    cursor_.set_position(value);
    auto result = Aliased(parse);
    cursor_.set_position(end);
    return result;
  }

  absl::StatusOr<std::vector<std::string>> Shardings() {
    std::vector<std::string> texts;
    if (cursor_.Consume("#sdy.sharding_per_value")) {
      MW_RETURN_IF_ERROR(cursor_.Expect("<", "before shardings"));
      MW_RETURN_IF_ERROR(cursor_.Expect("[", "before shardings"));
      if (!cursor_.Consume(']')) {
        do {
          MW_ASSIGN_OR_RETURN(texts.emplace_back(), Sharding());
        } while (cursor_.Consume(','));
        MW_RETURN_IF_ERROR(cursor_.Expect("]", "after shardings"));
      }
      MW_RETURN_IF_ERROR(cursor_.Expect(">", "after shardings"));
      return texts;
    }
    MW_ASSIGN_OR_RETURN(texts.emplace_back(), Sharding());
    return texts;
  }

  // `<@mesh, [{"x"}, {?}], replicated={"y"}>`
  absl::StatusOr<std::string> Sharding() {
    return Aliased([this] { return PlainSharding(); });
  }
  absl::StatusOr<std::string> PlainSharding() {
    cursor_.Consume("#sdy.sharding");
    MW_RETURN_IF_ERROR(cursor_.Expect("<", "before a sharding"));
    MW_ASSIGN_OR_RETURN(const MlirMesh mesh, Aliased([this] { return Mesh(); }));
    MW_RETURN_IF_ERROR(cursor_.Expect(",", "before the shardings of the dimensions"));
    MW_RETURN_IF_ERROR(cursor_.Expect("[", "before the shardings of the dimensions"));
    std::vector<std::string> dims;
    bool open = false, sharded = false;
    if (!cursor_.Consume(']')) {
      do {
        MW_ASSIGN_OR_RETURN(dims.emplace_back(), Axes(mesh, &open, &sharded));
        if (cursor_.Consume('p')) MW_RETURN_IF_ERROR(cursor_.Integer().status());
      } while (cursor_.Consume(','));
      MW_RETURN_IF_ERROR(cursor_.Expect("]", "after the shardings of the dimensions"));
    }
    std::string more;
    while (cursor_.Consume(',')) {
      const std::string_view key = MlirName(cursor_);
      if (key != "replicated" && key != "unreduced") {
        return cursor_.Expected("replicated={...} or unreduced={...}");
      }
      MW_RETURN_IF_ERROR(cursor_.Expect("=", "before axes"));
      for (const std::string_view reduction : {"sum", "max", "min"}) cursor_.ConsumeWord(reduction);
      MW_ASSIGN_OR_RETURN(const std::string axes, Axes(mesh, &open, &sharded));
      StrAppend(&more, ", ", key, "=", axes);
      sharded = true;
    }
    MW_RETURN_IF_ERROR(cursor_.Expect(">", "after a sharding"));
    if (open && !sharded) return std::string();
    if (mesh.axes.empty()) {
      if (mesh.device_ids.empty()) return std::string("{replicated}");
      return StrCat("{maximal device=", mesh.device_ids[0], "}");
    }
    std::string text = StrCat("{mesh[",
                              absl::StrJoin(mesh.axes, ",",
                                            [](auto* out, const auto& a) {
                                              StrAppend(out, "'", a.first, "'=", a.second);
                                            }),
                              "]");
    if (!mesh.device_ids.empty()) {
      StrAppend(&text, ", device_ids=(", absl::StrJoin(mesh.device_ids, ","), ")");
    }
    return StrCat(text, ", [", absl::StrJoin(dims, ", "), "]", more, "}");
  }

  absl::StatusOr<MlirMesh> Mesh() {
    if (cursor_.Consume("#sdy.mesh") || cursor_.ConsumeWord("mesh")) return ParseMlirMesh(cursor_);
    cursor_.SkipSpace();
    const size_t at = cursor_.position();
    MW_ASSIGN_OR_RETURN(const std::string_view name, MlirSymbol(cursor_));
    for (const MlirMesh& mesh : meshes_) {
      if (mesh.name == name) return mesh;
    }
    std::vector<std::string> names;
    for (const MlirMesh& mesh : meshes_) names.push_back(mesh.name);
    return cursor_.Error(
        at, StrCat("mesh ", QuoteForError(StrCat("@", name)), " is not defined; ",
                   names.empty() ? "the module has no sdy.mesh"
                                 : StrCat("the nearest is \"@", NearestName(name, names), "\"")));
  }

  // `{"x", "y":(2)4, ?}` as HLO spells it: `{'x', 'y':(2)4, ?}`.
  absl::StatusOr<std::string> Axes(const MlirMesh& mesh, bool* open, bool* sharded) {
    MW_RETURN_IF_ERROR(cursor_.Expect("{", "before axes"));
    std::vector<std::string> axes;
    if (cursor_.Consume('}')) return std::string("{}");
    do {
      if (cursor_.Consume('?')) {
        *open = true;
        axes.emplace_back("?");
        continue;
      }
      cursor_.SkipSpace();
      const size_t at = cursor_.position();
      MW_ASSIGN_OR_RETURN(const std::string name, MlirString(cursor_));
      const bool known = std::any_of(mesh.axes.begin(), mesh.axes.end(),
                                     [&](const auto& axis) { return axis.first == name; });
      if (!known) {
        return cursor_.Error(at, StrCat("mesh @", mesh.name, " has no axis ", QuoteForError(name)));
      }
      std::string text = StrCat("'", name, "'");
      if (cursor_.Consume(":(")) {
        MW_ASSIGN_OR_RETURN(const int64_t before, cursor_.Integer());
        MW_RETURN_IF_ERROR(cursor_.Expect(")", "after the number of larger pieces of an axis"));
        MW_ASSIGN_OR_RETURN(const int64_t size, cursor_.Integer());
        StrAppend(&text, ":(", before, ")", size);
      }
      axes.push_back(std::move(text));
      *sharded = true;
    } while (cursor_.Consume(','));
    MW_RETURN_IF_ERROR(cursor_.Expect("}", "after axes"));
    return StrCat("{", absl::StrJoin(axes, ", "), "}");
  }

  TextCursor cursor_;
  absl::Span<const MlirMesh> meshes_;
  const MlirAliases& aliases_;
  int expansions_ = 0;
};

}  // namespace

absl::StatusOr<MlirMesh> ParseMlirMesh(TextCursor& cursor) {
  MlirMesh mesh;
  MW_RETURN_IF_ERROR(cursor.Expect("<", "before the axes of a mesh"));
  MW_RETURN_IF_ERROR(cursor.Expect("[", "before the axes of a mesh"));
  if (!cursor.Consume(']')) {
    do {
      MW_ASSIGN_OR_RETURN(std::string name, MlirString(cursor));
      MW_RETURN_IF_ERROR(cursor.Expect("=", "after the name of an axis"));
      cursor.SkipSpace();
      const size_t at = cursor.position();
      MW_ASSIGN_OR_RETURN(const int64_t size, cursor.Integer());
      if (size < 1) return cursor.Error(at, StrCat("an axis of size ", size, "; at least 1"));
      mesh.axes.emplace_back(std::move(name), size);
    } while (cursor.Consume(','));
    MW_RETURN_IF_ERROR(cursor.Expect("]", "after the axes of a mesh"));
  }
  if (cursor.Consume(',')) {
    if (!cursor.ConsumeWord("device_ids")) return cursor.Expected("device_ids=[...]");
    MW_RETURN_IF_ERROR(cursor.Expect("=", "before device ids"));
    MW_ASSIGN_OR_RETURN(mesh.device_ids, ParseIntegers(cursor));
  }
  MW_RETURN_IF_ERROR(cursor.Expect(">", "after a mesh"));
  return mesh;
}

absl::StatusOr<std::vector<std::string>> HloShardingsFromSdy(std::string_view text,
                                                             std::string_view file_name,
                                                             size_t position,
                                                             absl::Span<const MlirMesh> meshes,
                                                             const MlirAliases& aliases) {
  TextCursor cursor(text, file_name);
  cursor.set_position(position);
  return SdyParser(cursor, meshes, aliases).Parse();
}

}  // namespace meshwright
