#include "meshwright/published/fasop/reproduce.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/csv.h"
#include "meshwright/base/file.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/published/fasop/fasop.h"
#include "meshwright/published/nersc/comparison.h"

namespace meshwright::transformer::fasop {
namespace {

constexpr double kTolerance = 1e-6;
constexpr int64_t kMostBytes = int64_t{1} << 28;  // of an inflated file
constexpr int64_t kMostNodes = 16;                // of the published clusters

enum Column {
  kMbs,
  kTp,
  kDp,
  kPp,
  kPlacement,
  kA100,
  kA10,
  kPartition,
  kT,
  kPt,
  kDpt,
  kEt,
  kPrice,
  kOom,
  kMem,
  kZoom,
  kZmem,
  kTrain,
  kColumns
};
constexpr const char* kNames[kColumns] = {
    "mbs",       "tp",      "dp",   "pp",        "placement", "num_a100",       "num_a10",
    "partition", "t",       "pt",   "dpt",       "et",        "price_per_step", "is_oom",
    "mem",       "is_zoom", "zmem", "train_cost"};

class TableComparison {
 public:
  TableComparison(const Model& model, std::string_view file)
      : model_(model), file_(file), comparison_(kTolerance) {}

  absl::Status SetHeader(const std::vector<std::string>& header) {
    for (int c = 0; c < kColumns; ++c) {
      const auto found = std::find(header.begin(), header.end(), kNames[c]);
      if (found == header.end()) {
        return absl::InvalidArgumentError(StrCat(file_, ":1: no column \"", kNames[c],
                                                 "\"; expected ", absl::StrJoin(kNames, ", ")));
      }
      columns_[c] = found - header.begin();
    }
    return absl::OkStatus();
  }

  absl::Status Add(const CsvRow& row) {
    Degrees degrees;
    MW_ASSIGN_OR_RETURN(degrees.micro_batch, Whole(row, kMbs));
    MW_ASSIGN_OR_RETURN(degrees.tp, Whole(row, kTp));
    MW_ASSIGN_OR_RETURN(degrees.dp, Whole(row, kDp));
    MW_ASSIGN_OR_RETURN(degrees.pp, Whole(row, kPp));
    const Placement& placement = row.fields[columns_[kPlacement]];
    if (placement.empty() || placement.size() > kMostNodes ||
        placement.find_first_not_of("AB") != std::string::npos) {
      return ErrorAt(row, StrCat("placement: found \"", placement, "\", expected 1 to ", kMostNodes,
                                 " nodes, each A or B"));
    }
    const int64_t nodes = static_cast<int64_t>(placement.size());
    const int64_t a100 = std::count(placement.begin(), placement.end(), 'A');
    const int64_t gpus = degrees.tp * degrees.dp * degrees.pp;
    const bool pareto = gpus == nodes * GpusPerNode(Setup::kPareto);
    if (!pareto && gpus != nodes * GpusPerNode(Setup::kDefault)) {
      return ErrorAt(
          row, StrCat("tp dp pp: found ", gpus, " GPUs on ", nodes, " nodes, expected nodes of ",
                      GpusPerNode(Setup::kDefault), " or ", GpusPerNode(Setup::kPareto)));
    }
    Found& found = Results(pareto ? Setup::kPareto : Setup::kDefault, a100, nodes - a100);
    const auto estimate = found.find({placement, degrees});
    if (estimate == found.end()) {
      return ErrorAt(row,
                     StrCat("no search has this: placements are rotations, tp is 1, 2 or 4, dp "
                            "mbs divides ",
                            model_.global_batch, ", pp is at most ", model_.layers));
    }
    comparison_.Enter(StrCat("line ", row.line));
    ++rows_;
    if (estimate->second.recorded) comparison_.Texts("row", "a second time", "once");
    estimate->second.recorded = true;
    return Compare(row, a100, nodes - a100, estimate->second.estimate);
  }

  // What the searches that the table is of have, and the table does not.
  void CompareMissing() {
    for (const auto& [cluster, found] : found_) {
      for (const auto& [configuration, one] : found) {
        if (one.recorded) continue;
        const auto& [placement, degrees] = configuration;
        comparison_.Enter(absl::StrFormat("placement %s tp %d dp %d pp %d mbs %d", placement,
                                          degrees.tp, degrees.dp, degrees.pp, degrees.micro_batch));
        comparison_.Texts("row", "none", absl::StrFormat("%.9g s", one.estimate.seconds));
      }
    }
  }

  FileReport Report() const {
    return {std::string(file_),       model_.name,          rows_,
            comparison_.figures(),    comparison_.differ(), comparison_.largest_deviation(),
            comparison_.differences()};
  }

 private:
  struct FoundEstimate {
    Estimate estimate;
    bool recorded = false;
  };
  using Found = std::map<std::pair<Placement, Degrees>, FoundEstimate>;

  absl::Status ErrorAt(const CsvRow& row, std::string_view message) const {
    return absl::InvalidArgumentError(StrCat(file_, ":", row.line, ": ", message));
  }

  absl::StatusOr<int64_t> Whole(const CsvRow& row, Column column) const {
    constexpr int64_t kMost = 1'000'000;
    const std::string& text = row.fields[columns_[column]];
    int64_t value = 0;
    if (absl::SimpleAtoi(text, &value) && value >= 0 && value <= kMost) return value;
    return ErrorAt(row, StrCat(kNames[column], ": found \"", text,
                               "\", expected a whole number from 0 to ", kMost));
  }

  absl::Status CompareWhole(const CsvRow& row, Column column, int64_t found) {
    MW_ASSIGN_OR_RETURN(const int64_t recorded, Whole(row, column));
    comparison_.Texts(kNames[column], absl::StrCat(recorded), absl::StrCat(found));
    return absl::OkStatus();
  }

  // Our figure rounded to `digits`, if not 0.
  absl::Status CompareNumber(const CsvRow& row, Column column, double found, int digits = 0) {
    const std::string& text = row.fields[columns_[column]];
    double recorded = 0;
    if (!absl::SimpleAtod(text, &recorded) || !std::isfinite(recorded)) {
      return ErrorAt(row, StrCat(kNames[column], ": found \"", text, "\", expected a number"));
    }
    if (digits > 0 && !absl::SimpleAtod(absl::StrFormat("%.*g", digits, found), &found)) {
      return absl::InternalError("a rounded number is no number");
    }
    comparison_.Numbers(kNames[column], recorded, found);
    return absl::OkStatus();
  }

  absl::Status Compare(const CsvRow& row, int64_t a100, int64_t a10, const Estimate& found) {
    constexpr int kMemoryDigits = 6;
    MW_RETURN_IF_ERROR(CompareWhole(row, kA100, a100));
    MW_RETURN_IF_ERROR(CompareWhole(row, kA10, a10));
    comparison_.Texts(kNames[kPartition], row.fields[columns_[kPartition]],
                      absl::StrJoin(found.partition, "-"));
    MW_RETURN_IF_ERROR(CompareNumber(row, kT, found.seconds));
    MW_RETURN_IF_ERROR(CompareNumber(row, kPt, found.pipeline_seconds));
    MW_RETURN_IF_ERROR(CompareNumber(row, kDpt, found.data_seconds));
    MW_RETURN_IF_ERROR(CompareNumber(row, kEt, found.embedding_seconds));
    MW_RETURN_IF_ERROR(CompareNumber(row, kPrice, found.step_dollars));
    MW_RETURN_IF_ERROR(CompareWhole(row, kOom, found.over_memory ? 1 : 0));
    MW_RETURN_IF_ERROR(CompareNumber(row, kMem, found.memory_gib, kMemoryDigits));
    MW_RETURN_IF_ERROR(CompareWhole(row, kZoom, found.sharded_over_memory ? 1 : 0));
    MW_RETURN_IF_ERROR(CompareNumber(row, kZmem, found.sharded_memory_gib, kMemoryDigits));
    return CompareNumber(row, kTrain, found.training_dollars);
  }

  Found& Results(Setup setup, int64_t a100, int64_t a10) {
    const auto [place, added] = found_.try_emplace(std::tuple(setup, a100, a10));
    if (added) {
      for (Row& row : Search(model_, PublishedProfile(model_), setup, a100, a10)) {
        place->second.try_emplace({row.placement, row.degrees},
                                  FoundEstimate{std::move(row.estimate)});
      }
    }
    return place->second;
  }

  const Model& model_;
  const std::string_view file_;
  nersc::Comparison comparison_;
  std::array<int64_t, kColumns> columns_ = {};
  int64_t rows_ = 0;
  std::map<std::tuple<Setup, int64_t, int64_t>, Found> found_;
};

}  // namespace

absl::StatusOr<FileReport> ReproduceFile(const std::string& path) {
  MW_ASSIGN_OR_RETURN(const std::string text, ReadFileMaybeGzip(path, kMostBytes));
  return ReproduceText(text, path);
}

absl::StatusOr<FileReport> ReproduceText(std::string_view text, std::string_view name) {
  const std::string_view base = name.substr(name.rfind('/') + 1);
  const absl::StatusOr<const Model*> model = FindModel(base.substr(0, base.find('.')));
  if (!model.ok()) {
    return absl::InvalidArgumentError(
        StrCat(name, ": a table's name begins with its model, as gpt2XL.het.csv: ",
               FromAbsl(model.status().message())));
  }
  MW_ASSIGN_OR_RETURN(const CsvTable table, ParseCsv(text, name));
  TableComparison comparison(**model, name);
  MW_RETURN_IF_ERROR(comparison.SetHeader(table.header));
  for (const CsvRow& row : table.rows) MW_RETURN_IF_ERROR(comparison.Add(row));
  comparison.CompareMissing();
  return comparison.Report();
}

}  // namespace meshwright::transformer::fasop
