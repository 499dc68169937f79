#include "meshwright/sharding/sharding.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

struct ReductionWord {
  Reduction reduction;
  std::string_view word;
};

constexpr ReductionWord kReductionWords[] = {
    {Reduction::kNone, "none"}, {Reduction::kSum, "sum"},     {Reduction::kProduct, "product"},
    {Reduction::kMax, "max"},   {Reduction::kMin, "min"},     {Reduction::kAnd, "and"},
    {Reduction::kOr, "or"},     {Reduction::kOther, "other"},
};

// Reads the text form of a sharding. Grammar (blanks anywhere between words):
//   sharding := "replicated" | ("[" entries "]" | "P(" entries ")") ["{" reduction ":" axes "}"]
//   entries  := [entry {"," entry} [","]]     entry := "_" | "None" | axis | "(" axes ")"
// An axis may stand in single or double quotes.
class ShardingParser {
 public:
  ShardingParser(std::string_view text, const Mesh& mesh, int64_t rank)
      : text_(text), mesh_(mesh), used_(mesh.rank(), false), result_(Sharding::Replicated(rank)) {}

  absl::StatusOr<Sharding> Parse() {
    SkipBlanks();
    if (FromAbsl(absl::StripTrailingAsciiWhitespace(ToAbsl(text_.substr(pos_)))) == "replicated")
      return result_;
    if (Accept('P')) {
      MW_RETURN_IF_ERROR(Expect('('));
      MW_RETURN_IF_ERROR(Entries(')'));
    } else {
      MW_RETURN_IF_ERROR(Expect('['));
      MW_RETURN_IF_ERROR(Entries(']'));
      if (Accept('{')) MW_RETURN_IF_ERROR(Unreduced());
    }
    SkipBlanks();
    if (pos_ < text_.size()) return Error(StrCat("'", text_.substr(pos_), "' after its end"));
    return result_;
  }

 private:
  absl::Status Error(std::string_view what) const {
    return absl::InvalidArgumentError(StrCat("sharding '", text_, "', column ", pos_ + 1, ": ",
                                             what,
                                             " (write for example [x,_,(y,z)] or replicated)"));
  }

  void SkipBlanks() {
    while (pos_ < text_.size() && absl::ascii_isspace(text_[pos_])) ++pos_;
  }

  bool Accept(char c) {
    SkipBlanks();
    if (pos_ >= text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }

  absl::Status Expect(char c) {
    if (Accept(c)) return absl::OkStatus();
    std::string found =
        pos_ < text_.size() ? StrCat("'", text_.substr(pos_, 1), "'") : std::string("the end");
    return Error(StrCat("expected '", std::string(1, c), "', found ", found));
  }

  std::string_view Word() {
    SkipBlanks();
    size_t begin = pos_;
    while (pos_ < text_.size() && (absl::ascii_isalnum(text_[pos_]) || text_[pos_] == '_')) ++pos_;
    return text_.substr(begin, pos_ - begin);
  }

  // One axis into `list`; an axis of size 1 is checked but not listed.
  absl::Status Axis(std::string_view name, AxisList& list) {
    for (size_t a = 0; a < mesh_.rank(); ++a) {
      if (mesh_.axes[a].name != name) continue;
      if (used_[a]) return Error(StrCat("axis '", name, "' is used twice"));
      used_[a] = true;
      if (mesh_.axes[a].size > 1) list.push_back(static_cast<AxisIndex>(a));
      return absl::OkStatus();
    }
    std::string known = absl::StrJoin(mesh_.axes, ", ", [](std::string* out, const MeshAxis& axis) {
      StrAppend(out, axis.name);
    });
    return Error(StrCat("the mesh has no axis '", name, "'; its axes are ", known));
  }

  absl::Status QuotedOrPlainAxis(AxisList& list) {
    for (char quote : {'\'', '"'}) {
      if (!Accept(quote)) continue;
      std::string_view name = Word();
      MW_RETURN_IF_ERROR(Axis(name, list));
      return Expect(quote);
    }
    std::string_view name = Word();
    if (name.empty()) return Error("expected the name of a mesh axis");
    return Axis(name, list);
  }

  // Comma-separated axes up to and including `end`.
  absl::Status Axes(char end, AxisList& list) {
    while (!Accept(end)) {
      MW_RETURN_IF_ERROR(QuotedOrPlainAxis(list));
      if (!Accept(',')) return Expect(end);
    }
    return absl::OkStatus();
  }

  absl::Status Entry(AxisList& list) {
    if (Accept('(')) return Axes(')', list);
    size_t begin = pos_;
    std::string_view word = Word();
    if (word == "_" || word == "None") return absl::OkStatus();
    pos_ = begin;
    return QuotedOrPlainAxis(list);
  }

  absl::Status Entries(char end) {
    for (size_t dim = 0; !Accept(end); ++dim) {
      if (dim == result_.dims.size()) {
        return Error(StrCat("more entries than the array has dimensions (", dim, ")"));
      }
      MW_RETURN_IF_ERROR(Entry(result_.dims[dim]));
      if (!Accept(',')) return Expect(end);
    }
    return absl::OkStatus();
  }

  absl::Status Unreduced() {
    std::string_view word = Word();
    for (const ReductionWord& row : kReductionWords) {
      if (row.word == word) result_.reduction = row.reduction;
    }
    if (result_.reduction == Reduction::kNone) {
      return Error(
          StrCat("'", word, "' is no reduction; there are sum, product, max, min, and, or"));
    }
    MW_RETURN_IF_ERROR(Expect(':'));
    MW_RETURN_IF_ERROR(Axes('}', result_.unreduced));
    std::sort(result_.unreduced.begin(), result_.unreduced.end());
    if (result_.unreduced.empty()) result_.reduction = Reduction::kNone;
    return absl::OkStatus();
  }

  std::string_view text_;
  const Mesh& mesh_;
  std::vector<bool> used_;
  Sharding result_;
  size_t pos_ = 0;
};

std::string AxisNames(const AxisList& list, const Mesh& mesh) {
  return absl::StrJoin(
      list, ",", [&](std::string* out, AxisIndex axis) { StrAppend(out, mesh.axes[axis].name); });
}

}  // namespace

std::string_view ReductionName(Reduction reduction) {
  for (const ReductionWord& row : kReductionWords) {
    if (row.reduction == reduction) return row.word;
  }
  return "other";
}

Sharding Sharding::Replicated(int64_t rank) {
  Sharding sharding;
  sharding.dims.resize(static_cast<size_t>(rank));
  return sharding;
}

bool Sharding::is_replicated() const {
  return unreduced.empty() &&
         std::all_of(dims.begin(), dims.end(), [](const AxisList& list) { return list.empty(); });
}

int64_t Sharding::shards(const Mesh& mesh) const {
  int64_t product = 1;
  for (const AxisList& list : dims) product *= mesh.Size(list);
  return product;
}

std::string Sharding::ToString(const Mesh& mesh) const {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) text += ',';
    std::string names = AxisNames(dims[i], mesh);
    if (dims[i].empty()) names = "_";
    if (dims[i].size() > 1) names = StrCat("(", names, ")");
    text += names;
  }
  text += ']';
  if (!unreduced.empty()) {
    StrAppend(&text, "{", ReductionName(reduction), ":", AxisNames(unreduced, mesh), "}");
  }
  return text;
}

int64_t BytesPerDevice(const Shape& shape, const Sharding& sharding, const Mesh& mesh) {
  Shape part = shape;
  for (size_t i = 0; i < part.dims.size() && i < sharding.dims.size(); ++i) {
    int64_t pieces = mesh.Size(sharding.dims[i]);
    part.dims[i] = part.dims[i] / pieces + (part.dims[i] % pieces != 0);
  }
  return part.bytes();
}

bool DividesEvenly(const Shape& shape, const Sharding& sharding, const Mesh& mesh) {
  for (size_t i = 0; i < shape.dims.size() && i < sharding.dims.size(); ++i) {
    if (shape.dims[i] % mesh.Size(sharding.dims[i]) != 0) return false;
  }
  return true;
}

absl::StatusOr<Sharding> ParseSharding(std::string_view text, const Mesh& mesh, int64_t rank) {
  return ShardingParser(text, mesh, rank).Parse();
}

}  // namespace meshwright
