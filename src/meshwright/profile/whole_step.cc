#include "meshwright/profile/whole_step.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "meshwright/base/strings.h"
#include "meshwright/inter/fingerprint.h"
#include "meshwright/plan/movements.h"
#include "meshwright/plan/sha256.h"

namespace meshwright {
namespace {

constexpr size_t kDigestDigits = 16;
constexpr int64_t kMostPositions = 1'000'000;
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

std::string StepChoice::Text() const {
  std::string text = plan;
  for (size_t begin = 0, end = 0; begin < segments.size(); begin = end) {
    while (end < segments.size() && segments[end] == segments[begin]) ++end;
    absl::StrAppend(&text, begin == 0 ? " " : kBetweenRuns, end - begin, " ", segments[begin]);
  }
  return text;
}

absl::StatusOr<StepChoice> StepChoice::Parse(const std::string& text) {
  const auto malformed = [&text] {
    return absl::InvalidArgumentError(
        StrCat("\"", text,
               "\" is no choice for a whole step: expected 16 hexadecimal digits, "
               "then how often each segment's choice follows itself, and the choice"));
  };
  StepChoice choice;
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(text, absl::MaxSplits(' ', 1));
  if (!IsDigest(parts.first)) return malformed();
  choice.plan = std::string(parts.first);
  if (parts.second.empty()) return choice;
  for (const absl::string_view run : absl::StrSplit(parts.second, kBetweenRuns)) {
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
  return Sha256Hex(text).substr(0, kDigestDigits);
}

}  // namespace meshwright
