#include "meshwright/published/nersc/reproduce.h"

#include <optional>
#include <utility>

#include "meshwright/base/file.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/published/nersc/records.h"

namespace meshwright::transformer::nersc {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;  // of an inflated file

struct Kind {
  const char* name;
  const char* member;  // that only its records have
  double tolerance;
  int64_t (*reproduce)(const JsonValue& record, const std::string& where, Comparison* comparison);
};
constexpr Kind kKinds[] = {
    {"collectives", "vol_GB", 1e-12, &ReproduceCollective},
    {"points", "points", 1e-9, &ReproducePoints},
    {"searches", "case", 1e-9, &ReproduceSearch},
    {"op variants", "variants", 1e-9, &ReproduceVariants},
};

const Kind* KindOf(const JsonValue& record) {
  for (const Kind& kind : kKinds) {
    if (record.Find(kind.member).has_value()) return &kind;
  }
  return nullptr;
}

std::string NameOf(const JsonValue& record, const std::string& otherwise) {
  const std::optional<JsonValue> id = record.Find("id");
  return id.has_value() ? id->Text() : otherwise;
}

// The file's kind is that of its first record.
class FileReproduction {
 public:
  // `place` names the record where it does not name itself.
  void Add(const JsonValue& record, const std::string& place) {
    const Kind* const kind = KindOf(record);
    if (kind == nullptr) {
      record.Fail(
          "found no record: collectives have a member \"vol_GB\", points \"points\", searches "
          "\"case\", operators \"variants\"");
      return;
    }
    if (kind_ == nullptr) comparison_ = Comparison(kind->tolerance);
    if (kind_ != nullptr && kind != kind_) {
      record.Fail(StrCat("found ", kind->name, " after ", kind_->name));
      return;
    }
    kind_ = kind;
    records_ += kind->reproduce(record, NameOf(record, place), &comparison_);
  }

  // A record, or a list of them.
  absl::Status AddDocument(std::string_view text, const std::string& name,
                           const std::string& place) {
    MW_ASSIGN_OR_RETURN(const InputJson json, ParseInputJson(text, name));
    absl::Status status;
    const JsonValue root(json, &status);
    if (root.IsList()) {
      int64_t number = 0;
      for (const JsonValue& record : root.Elements()) {
        Add(record, StrCat("[", number++, "]"));
        if (!record.ok()) break;
      }
    } else {
      Add(root, place);
    }
    if (status.ok()) return status;
    return absl::Status(status.code(), StrCat(name, ": ", FromAbsl(status.message())));
  }

  absl::StatusOr<FileReport> Report(std::string_view name) const {
    if (kind_ == nullptr) return absl::InvalidArgumentError(StrCat(name, ": holds no record"));
    return FileReport{.file = std::string(name),
                      .kind = kind_->name,
                      .records = records_,
                      .figures = comparison_.figures(),
                      .differ = comparison_.differ(),
                      .largest_deviation = comparison_.largest_deviation(),
                      .differences = comparison_.differences()};
  }

 private:
  const Kind* kind_ = nullptr;
  Comparison comparison_{/*tolerance=*/0};
  int64_t records_ = 0;
};

struct Line {
  int64_t number;  // from 1
  std::string_view text;
};

// Those that are not blank.
std::vector<Line> LinesOf(std::string_view text) {
  std::vector<Line> lines;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) lines.push_back({number, line});
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace

absl::StatusOr<FileReport> ReproduceText(std::string text, std::string_view name) {
  MW_ASSIGN_OR_RETURN(text, MaybeGunzip(std::move(text), name, kMostBytes));
  FileReproduction file;
  const std::vector<Line> lines = LinesOf(text);
  // One document over several lines has no whole value on the first of them.
  if (lines.size() < 2 || !Json::accept(lines.front().text)) {
    MW_RETURN_IF_ERROR(file.AddDocument(text, std::string(name), "record"));
    return file.Report(name);
  }
  for (const Line& line : lines) {
    MW_RETURN_IF_ERROR(
        file.AddDocument(line.text, StrCat(name, ":", line.number), StrCat("line ", line.number)));
  }
  return file.Report(name);
}

absl::StatusOr<FileReport> ReproduceFile(const std::string& path) {
  MW_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  return ReproduceText(std::move(text), path);
}

}  // namespace meshwright::transformer::nersc
