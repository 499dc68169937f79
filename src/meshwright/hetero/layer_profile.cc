#include "meshwright/hetero/layer_profile.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/csv.h"
#include "meshwright/base/status.h"
#include "meshwright/base/strings.h"
#include "meshwright/cluster/device_names.h"
#include "meshwright/model/builtin_models.h"

namespace meshwright::transformer::hetero {
namespace {

constexpr int64_t kMostProfiled = 1'000'000;  // of any whole number in a profile

// Least and most seconds of a pass of a layer that make sense.
constexpr double kLeastSeconds = 1e-9, kMostSeconds = 1e6;

LayerTime Between(const LayerTime& a, const LayerTime& b, double share) {
  return {a.forward + share * (b.forward - a.forward),
          a.backward + share * (b.backward - a.backward)};
}

std::vector<LayerTime> Between(const std::vector<LayerTime>& a, const std::vector<LayerTime>& b,
                               double share) {
  std::vector<LayerTime> all(a.size());
  for (size_t i = 0; i < a.size(); ++i) all[i] = Between(a[i], b[i], share);
  return all;
}

std::vector<LayerTime> AtMicroBatch(const std::map<int64_t, std::vector<LayerTime>>& measured,
                                    int64_t micro_batch) {
  auto above = measured.lower_bound(micro_batch);
  if (above != measured.end() && above->first == micro_batch) return above->second;
  const double at = static_cast<double>(micro_batch);
  if (above == measured.begin() || measured.size() == 1) {
    const auto& [only, seconds] = *measured.begin();
    const std::vector<LayerTime> none(seconds.size());
    return Between(none, seconds, at / static_cast<double>(only));
  }
  const bool beyond = above == measured.end();
  if (beyond) above = std::prev(above);
  const auto below = std::prev(above);
  const double first = static_cast<double>(below->first);
  std::vector<LayerTime> seconds = Between(
      below->second, above->second, (at - first) / (static_cast<double>(above->first) - first));
  // More sequences take no less than those that were measured, whichever way the line falls.
  for (size_t i = 0; beyond && i < seconds.size(); ++i) {
    seconds[i].forward = std::max(seconds[i].forward, above->second[i].forward);
    seconds[i].backward = std::max(seconds[i].backward, above->second[i].backward);
  }
  return seconds;
}

struct ProfileColumns {
  int64_t gpu = -1, tp = -1, layer = -1, forward = -1, micro_batch = -1, backward = -1;
  int64_t model = -1, sequence = -1, dtype = -1;  // that rows are chosen by
};

absl::StatusOr<ProfileColumns> FindColumns(const std::vector<std::string>& header,
                                           std::string_view file) {
  ProfileColumns columns;
  const struct {
    const char* name;
    int64_t* column;
    bool required;
  } all[] = {{"model", &columns.model, false},
             {"gpu", &columns.gpu, true},
             {"tp", &columns.tp, true},
             {"layer_id", &columns.layer, true},
             {"forward_seconds", &columns.forward, true},
             {"micro_batch", &columns.micro_batch, false},
             {"backward_seconds", &columns.backward, false},
             {"sequence", &columns.sequence, false},
             {"dtype", &columns.dtype, false}};
  for (const auto& one : all) {
    const auto found = std::find(header.begin(), header.end(), one.name);
    if (found != header.end()) {
      *one.column = found - header.begin();
    } else if (one.required) {
      return absl::InvalidArgumentError(StrCat(
          file, ":1: no column \"", one.name,
          "\"; a profile has gpu, tp, layer_id, forward_seconds and may have model, micro_batch, "
          "backward_seconds, sequence, dtype"));
    }
  }
  return columns;
}

class ProfileRow {
 public:
  ProfileRow(const CsvRow& row, std::string_view file) : row_(row), file_(file) {}

  absl::Status Error(std::string_view message) const {
    return absl::InvalidArgumentError(StrCat(file_, ":", row_.line, ": ", message));
  }
  const std::string& Text(int64_t column) const { return row_.fields[column]; }
  absl::StatusOr<int64_t> Whole(int64_t column, std::string_view name, int64_t least) const {
    int64_t value = 0;
    if (absl::SimpleAtoi(Text(column), &value) && value >= least && value <= kMostProfiled) {
      return value;
    }
    return Error(StrCat(name, ": found \"", Text(column), "\", expected a whole number from ",
                        least, " to ", kMostProfiled));
  }
  absl::StatusOr<double> Seconds(int64_t column, std::string_view name) const {
    double value = 0;
    if (absl::SimpleAtod(Text(column), &value) && value >= kLeastSeconds && value <= kMostSeconds) {
      return value;
    }
    return Error(StrCat(name, ": found \"", Text(column), "\", expected measured seconds, from ",
                        kLeastSeconds, " to ", kMostSeconds));
  }

 private:
  const CsvRow& row_;
  std::string_view file_;
};

// Leaves rows out whose column says something else than what is wanted.
class RowFilter {
 public:
  // `same`: whether two texts mean the same.
  RowFilter(int64_t column, std::string_view name, std::string wanted,
            bool (*same)(std::string_view, std::string_view) = IsSameName)
      : column_(wanted.empty() ? -1 : column),
        name_(name),
        wanted_(std::move(wanted)),
        same_(same) {}

  bool Takes(const ProfileRow& row) {
    if (column_ < 0) return true;
    found_.insert(row.Text(column_));
    return same_(row.Text(column_), wanted_);
  }
  // `model "t5" (found "bert", "gpt")`; empty where it takes everything, or
  // was left nothing.
  std::string Text() const {
    if (column_ < 0 || found_.empty()) return "";
    const std::string found = absl::StrJoin(
        found_, ", ",
        [](std::string* out, const std::string& one) { StrAppend(out, "\"", one, "\""); });
    return StrCat(name_, " \"", wanted_, "\" (found ", found, ")");
  }

 private:
  int64_t column_;
  std::string_view name_;
  std::string wanted_;
  bool (*same_)(std::string_view, std::string_view);
  std::set<std::string> found_;
};

}  // namespace

absl::StatusOr<LayerProfile> LayerProfile::Parse(std::string_view text, std::string_view file,
                                                 const Subject& subject) {
  MW_ASSIGN_OR_RETURN(const CsvTable table, ParseCsv(text, file));
  MW_ASSIGN_OR_RETURN(const ProfileColumns columns, FindColumns(table.header, file));
  std::map<std::string, std::map<int64_t, std::map<int64_t, std::map<int64_t, LayerTime>>>> read;
  const std::string sequence = subject.sequence > 0 ? StrCat(subject.sequence) : "";
  RowFilter filters[] = {{columns.model, "model", std::string(subject.model), IsSameModel},
                         {columns.sequence, "sequence", sequence},
                         {columns.dtype, "dtype", std::string(subject.dtype)}};
  for (const CsvRow& fields : table.rows) {
    const ProfileRow row(fields, file);
    if (!std::all_of(std::begin(filters), std::end(filters),
                     [&](RowFilter& filter) { return filter.Takes(row); })) {
      continue;
    }
    if (row.Text(columns.gpu).empty()) return row.Error("gpu: empty");
    MW_ASSIGN_OR_RETURN(const int64_t tp, row.Whole(columns.tp, "tp", 1));
    MW_ASSIGN_OR_RETURN(const int64_t layer, row.Whole(columns.layer, "layer_id", 0));
    int64_t micro_batch = 1;
    if (columns.micro_batch >= 0) {
      MW_ASSIGN_OR_RETURN(micro_batch, row.Whole(columns.micro_batch, "micro_batch", 1));
    }
    LayerTime seconds;
    MW_ASSIGN_OR_RETURN(seconds.forward, row.Seconds(columns.forward, "forward_seconds"));
    seconds.backward = 2 * seconds.forward;
    if (columns.backward >= 0) {
      MW_ASSIGN_OR_RETURN(seconds.backward, row.Seconds(columns.backward, "backward_seconds"));
    }
    if (!read[row.Text(columns.gpu)][tp][micro_batch].try_emplace(layer, seconds).second) {
      return row.Error(StrCat("entry ", layer, " of ", row.Text(columns.gpu), ", tp ", tp,
                              ", micro-batch ", micro_batch, " stands here twice"));
    }
  }
  if (read.empty()) {
    std::string of;
    for (const RowFilter& filter : filters) {
      const std::string one = table.rows.empty() ? "" : filter.Text();
      if (!one.empty()) StrAppend(&of, of.empty() ? " of " : ", ", one);
    }
    return absl::InvalidArgumentError(StrCat(file, ": no rows", of));
  }
  LayerProfile profile;
  for (const auto& [gpu, degrees] : read) {
    for (const auto& [tp, micro_batches] : degrees) {
      for (const auto& [micro_batch, layers] : micro_batches) {
        const size_t entries = layers.rbegin()->first + 1;
        if (profile.entries_ == 0) profile.entries_ = entries;
        if (layers.size() != profile.entries_ || entries != profile.entries_) {
          return absl::InvalidArgumentError(StrCat(
              file, ": ", gpu, ", tp ", tp, ", micro-batch ", micro_batch, " has ", layers.size(),
              " entries up to ", entries - 1, ", expected 0 to ", profile.entries_ - 1));
        }
        std::vector<LayerTime>& all = profile.devices_[gpu][tp][micro_batch];
        for (const auto& [layer, seconds] : layers) all.push_back(seconds);
      }
    }
  }
  return profile;
}

std::optional<std::vector<LayerTime>> LayerProfile::Find(std::string_view device, int64_t tp,
                                                         int64_t micro_batch) const {
  for (const auto& [name, degrees] : devices_) {
    if (!IsNameOfDevice(name, device)) continue;
    const auto above = degrees.lower_bound(tp);
    if (above == degrees.end()) return std::nullopt;
    if (above->first == tp) return AtMicroBatch(above->second, micro_batch);
    if (above == degrees.begin()) return std::nullopt;
    const auto below = std::prev(above);
    const auto inverse = [](int64_t degree) { return 1 / static_cast<double>(degree); };
    const double share =
        (inverse(tp) - inverse(below->first)) / (inverse(above->first) - inverse(below->first));
    return Between(AtMicroBatch(below->second, micro_batch),
                   AtMicroBatch(above->second, micro_batch), share);
  }
  return std::nullopt;
}

int64_t LayerProfile::NearestDegree(std::string_view device, int64_t tp) const {
  for (const auto& [name, degrees] : devices_) {
    if (!IsNameOfDevice(name, device)) continue;
    const auto above = degrees.lower_bound(tp);
    if (above == degrees.end()) return degrees.rbegin()->first;
    if (above->first == tp || above == degrees.begin()) return above->first;
    const int64_t below = std::prev(above)->first;
    return above->first - tp < tp - below ? above->first : below;
  }
  return 0;
}

int64_t LayerProfile::MostMeasured(std::string_view device, int64_t tp) const {
  for (const auto& [name, degrees] : devices_) {
    if (!IsNameOfDevice(name, device)) continue;
    const auto above = degrees.lower_bound(tp);
    if (above == degrees.end()) return 0;
    const int64_t most = above->second.rbegin()->first;
    if (above->first == tp || above == degrees.begin()) return most;
    return std::min(most, std::prev(above)->second.rbegin()->first);
  }
  return 0;
}

std::string LayerProfile::Measured() const {
  std::string text;
  for (const auto& [name, degrees] : devices_) {
    StrAppend(&text, text.empty() ? "" : ", ", name, " (tp ",
              absl::StrJoin(degrees, ", ",
                            [](std::string* out, const auto& one) { StrAppend(out, one.first); }),
              ")");
  }
  return text;
}

}  // namespace meshwright::transformer::hetero
