#include "meshwright/hlo/program/file_kind.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/strings.h"

namespace meshwright {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBeginning = 1 << 16;

// What a file of a kind is called, and what takes it.
struct KindRow {
  FileKind kind;
  const char *name, *use;
};
constexpr KindRow kKinds[] = {
    {FileKind::kProgram, "a program", "`meshwright plan` makes plans of programs"},
    {FileKind::kModel, "a model",
     "`meshwright plan FILE --cluster CLUSTER --global-batch N` plans it"},
    {FileKind::kPlan, "a plan",
     "`meshwright explain FILE` says what it does, `meshwright report FILE` draws it"},
    {FileKind::kCluster, "the description of a cluster", "--cluster FILE takes it"},
    {FileKind::kCalibration, "the calibration of a device",
     "the description of a cluster takes it, as calibration: FILE"},
    {FileKind::kLayerTimes, "a table of measured layer times",
     "--profile FILE takes it where a model is planned"},
    {FileKind::kSweep, "the table of a sweep", "`meshwright report FILE` draws it"},
    {FileKind::kVerification, "what `meshwright verify --json` found",
     "`meshwright report plan.json FILE` shows it beside its plan"},
    {FileKind::kDatabase, "a profile database", "--db FILE takes it"},
};

struct WantedRow {
  WantedFile wanted;
  const char* name;
  FileKind kinds[2];
};
constexpr WantedRow kWanted[] = {
    {WantedFile::kProgram, "a program", {FileKind::kProgram, FileKind::kProgram}},
    {WantedFile::kProgramOrModel, "a program or a model", {FileKind::kProgram, FileKind::kModel}},
    {WantedFile::kModel, "a model", {FileKind::kModel, FileKind::kModel}},
    {WantedFile::kPlan, "a plan", {FileKind::kPlan, FileKind::kPlan}},
    {WantedFile::kCluster,
     "the description of a cluster",
     {FileKind::kCluster, FileKind::kCluster}},
};
const WantedRow& RowOf(WantedFile wanted) {
  return *std::find_if(std::begin(kWanted), std::end(kWanted),
                       [wanted](const WantedRow& row) { return row.wanted == wanted; });
}

bool HasAll(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::all_of(words.begin(), words.end(), [text](std::string_view word) {
    return text.find(word) != std::string_view::npos;
  });
}

// By its first bytes, or by words of a program in what is no JSON object: MLIR may begin with
// locations, HLO with a comment.
bool IsProgram(std::string_view text) {
  constexpr std::string_view kFirstBytes[] = {"\x1f\x8b", "HloModule ", "module ", "#loc",
                                              "ML\xefR"};
  constexpr std::string_view kWords[] = {"func.func", "stablehlo.", "HloModule ", "ENTRY "};
  const auto begins = [text](std::string_view bytes) { return text.starts_with(bytes); };
  if (std::any_of(std::begin(kFirstBytes), std::end(kFirstBytes), begins)) return true;
  return std::any_of(std::begin(kWords), std::end(kWords),
                     [text](std::string_view word) { return HasAll(text, {word}); });
}

std::optional<FileKind> KindOfObject(std::string_view text) {
  // Plans begin with these members (docs/plan-schema.md), and no configuration has both.
  if (HasAll(text, {"\"schema\":", "\"tool_version\":"})) return FileKind::kPlan;
  if (HasAll(text, {"\"passed\":", "\"checks\":"})) return FileKind::kVerification;
  if (HasAll(text, {"\"model_type\":"})) return FileKind::kModel;
  return std::nullopt;
}

// By keys at the left margin of what is text.
std::optional<FileKind> KindOfYaml(std::string_view text) {
  const auto is_control = [](char c) { return absl::ascii_iscntrl(c) && !absl::ascii_isspace(c); };
  if (std::any_of(text.begin(), text.end(), is_control)) return std::nullopt;
  const std::vector<absl::string_view> lines = absl::StrSplit(ToAbsl(text), '\n');
  const auto has = [&lines](std::string_view key) {
    return std::any_of(lines.begin(), lines.end(),
                       [key](absl::string_view line) { return FromAbsl(line).starts_with(key); });
  };
  if (has("model:")) return FileKind::kModel;
  if (has("groups:") || has("nodes:") || has("devices_per_node:")) return FileKind::kCluster;
  if (!has("device:")) return std::nullopt;
  return has("matmul:") || has("kernel_start:") ? FileKind::kCalibration : FileKind::kCluster;
}

absl::Status Refused(std::string_view name, std::string_view is, std::string_view use,
                     WantedFile wanted) {
  const std::string how = absl::StrReplaceAll(ToAbsl(use), {{"FILE", ToAbsl(name)}});
  return absl::InvalidArgumentError(
      StrCat(name, ": this is ", is, ", not ", RowOf(wanted).name, "; ", how));
}

}  // namespace

std::optional<FileKind> KindOfText(std::string_view text) {
  text = text.substr(0, kBeginning);
  if (text.starts_with("SQLite format 3")) return FileKind::kDatabase;
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return std::nullopt;
  if (text[first] == '{') return KindOfObject(text);
  if (IsProgram(text)) return FileKind::kProgram;
  const std::string_view line = text.substr(first, text.find('\n', first) - first);
  if (line.starts_with("gpus,global_batch,")) return FileKind::kSweep;
  if (HasAll(line, {"gpu,", "layer_id", "forward_seconds"})) return FileKind::kLayerTimes;
  return KindOfYaml(text);
}

absl::Status CheckFileKind(std::string_view text, std::string_view name, WantedFile wanted) {
  const std::optional<FileKind> kind = KindOfText(text);
  const WantedRow& row = RowOf(wanted);
  if (!kind.has_value() || *kind == row.kinds[0] || *kind == row.kinds[1]) return absl::OkStatus();
  const KindRow& is = *std::find_if(std::begin(kKinds), std::end(kKinds),
                                    [&](const KindRow& one) { return one.kind == *kind; });
  return Refused(name, is.name, is.use, wanted);
}

absl::Status CheckFileKindAt(const std::string& path, WantedFile wanted) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const bool takes_models = RowOf(wanted).kinds[1] == FileKind::kModel;
    if (takes_models && fs::exists(path + "/config.json", error)) return absl::OkStatus();
    return Refused(path, takes_models ? "a folder without a config.json" : "a folder",
                   "give one of its files", wanted);
  }
  if (!fs::is_regular_file(path, error)) return absl::OkStatus();
  std::ifstream file(path);
  std::string beginning(kBeginning, '\0');
  file.read(beginning.data(), static_cast<std::streamsize>(kBeginning));
  beginning.resize(static_cast<size_t>(file.gcount()));
  return CheckFileKind(beginning, path, wanted);
}

}  // namespace meshwright
