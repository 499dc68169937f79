#include "meshwright/profile/whole_step.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "meshwright/base/sha256.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/layers/fingerprint.h"
#include "meshwright/plan/annotate/movements.h"

namespace meshwright {
namespace {

constexpr size_t kDigestDigits = 16;
constexpr int64_t kMostPositions = 1'000'000;
constexpr char kWholeStep[] = "whole step: ", kByCostModel[] = "whole step: by the cost model";
constexpr char kBetweenRuns[] = " ; ";

bool IsDigest(absl::string_view text) {
  return text.size() == kDigestDigits &&
         text.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

void AddShardings(const std::vector<Sharding>& shardings, const Mesh& mesh, std::string* text) {
  for (const Sharding& sharding : shardings) absl::StrAppend(text, sharding.ToString(mesh), " ");
  text->push_back('\n');
}

}  // namespace

std::string StepProgram(const Graph& graph) {
  OpFingerprints fingerprints(graph);
  std::string text;
  for (size_t i = 0; i < graph.ops.size(); ++i) {
    absl::StrAppend(&text, absl::Hex(fingerprints.Of(OpId(i)), absl::kZeroPad16));
    for (const ValueId v : graph.ops[i].operands) absl::StrAppend(&text, " ", v.value);
    absl::StrAppend(&text, "\n");
  }
  for (const int32_t alias : graph.output_alias) absl::StrAppend(&text, alias, "\n");
  return absl::StrCat("step ", Sha256Hex(text));
}

std::string StepChoice::Way() const {
  if (segments.empty()) return kByCostModel;
  std::string text = kWholeStep;
  for (size_t begin = 0, end = 0; begin < segments.size(); begin = end) {
    while (end < segments.size() && segments[end] == segments[begin]) ++end;
    absl::StrAppend(&text, begin == 0 ? "" : kBetweenRuns, end - begin, " ", segments[begin]);
  }
  return text;
}

absl::StatusOr<StepChoice> StepChoice::Parse(const std::string& plan, const std::string& way) {
  const auto malformed = [&] {
    return absl::InvalidArgumentError(
        StrCat("\"", plan, "\", \"", way,
               "\" is no choice for a whole step: expected 16 hexadecimal digits, and "
               "how often each segment's choice follows itself, and the choice"));
  };
  StepChoice choice;
  if (!IsDigest(plan)) return malformed();
  choice.plan = plan;
  if (way == kByCostModel) return choice;
  absl::string_view runs = way;
  if (!absl::ConsumePrefix(&runs, kWholeStep)) return malformed();
  for (const absl::string_view run : absl::StrSplit(runs, kBetweenRuns)) {
    const std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(run, absl::MaxSplits(' ', 1));
    int64_t times = 0;
    if (!absl::SimpleAtoi(words.first, &times) || times < 1 || words.second.empty() ||
        times > kMostPositions - static_cast<int64_t>(choice.segments.size()))
      return malformed();
    choice.segments.insert(choice.segments.end(), static_cast<size_t>(times),
                           std::string(words.second));
  }
  return choice;
}

std::string PlanDigest(const Graph& graph, const Mesh& mesh, const IntraPlan& plan) {
  std::string text;
  AddShardings(plan.shardings, mesh, &text);
  const Movements movements = FindMovements(graph, mesh, plan);
  for (const auto* const moved : {&movements.needed, &movements.computed}) {
    for (const std::vector<Sharding>& shardings : *moved) AddShardings(shardings, mesh, &text);
  }
  for (const auto* const moved : {&movements.operand_paths, &movements.result_paths}) {
    for (const std::vector<Movements::Path>& paths : *moved) {
      for (const Movements::Path& path : paths) AddShardings(path, mesh, &text);
    }
  }
  return Sha256Hex(text).substr(0, kDigestDigits);
}

}  // namespace meshwright
