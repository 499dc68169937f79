#include "meshwright/plan/text/blocks_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "meshwright/base/columns.h"
#include "meshwright/base/counted.h"
#include "meshwright/base/json_value.h"
#include "meshwright/base/status.h"
#include "meshwright/base/wrap.h"
#include "meshwright/blocks/block_kinds.h"

namespace meshwright {
namespace {

// Segments in a row are shown run by run, at most so many runs.
constexpr size_t kMostRuns = 24;

std::string SequenceText(const std::vector<int32_t>& sequence) {
  std::vector<std::string> runs;
  for (size_t begin = 0, end = 0; begin < sequence.size(); begin = end) {
    while (end < sequence.size() && sequence[end] == sequence[begin]) ++end;
    runs.push_back(end - begin > 1 ? absl::StrCat(sequence[begin], "x", end - begin)
                                   : absl::StrCat(sequence[begin]));
  }
  if (runs.size() > kMostRuns) {
    runs.resize(kMostRuns);
    runs.push_back("...");
  }
  return absl::StrJoin(runs, " ");
}

double Combinations(const std::vector<int32_t>& kinds, const std::vector<double>& strategies) {
  double product = 1;
  for (int32_t kind : kinds) product *= strategies[kind];
  return product;
}

std::vector<double> StrategiesByKind(const BlocksReport& report) {
  std::vector<double> strategies;
  for (size_t b = 0; b < report.kinds.size(); ++b) {
    strategies.resize(std::max<size_t>(strategies.size(), report.kinds[b] + 1));
    strategies[report.kinds[b]] = static_cast<double>(report.strategies[b].size());
  }
  return strategies;
}

}  // namespace

BlocksReport ReportBlocks(Program program, const Mesh& mesh) {
  BlocksReport report;
  report.mesh = mesh;
  report.program = std::move(program);
  const Graph& graph = report.program.graph;
  BlockFinder finder(graph, report.mesh);
  report.analysis = finder.Find();
  for (const ParallelBlock& block : report.analysis.blocks) {
    std::vector<std::string>& texts = report.strategies.emplace_back();
    for (size_t s = 0; s < block.strategies.size(); ++s)
      texts.push_back(finder.StrategyText(block, s));
  }
  report.kinds = FindBlockKinds(graph, report.analysis);
  const std::vector<double> strategies = StrategiesByKind(report);
  const std::vector<int32_t> sequence = KindSequence(graph, report.analysis, report.kinds);
  report.segments = CoverWithSegments(sequence, strategies, SegmentOptions());
  report.log10_before = LogOperatorStrategies(graph, report.mesh);
  for (const auto& texts : report.strategies)
    report.log10_after += std::log10(static_cast<double>(texts.size()));
  for (const std::vector<int32_t>& segment : report.segments.distinct)
    report.combinations += Combinations(segment, strategies);
  return report;
}

std::string BlocksTable(const BlocksReport& report) {
  const Graph& graph = report.program.graph;
  const std::vector<ParallelBlock>& blocks = report.analysis.blocks;
  const auto members = graph.ops.size() - std::count(report.analysis.block_of.begin(),
                                                     report.analysis.block_of.end(), -1);
  std::string mesh =
      absl::StrJoin(report.mesh.axes, ",", [](std::string* out, const MeshAxis& axis) {
        absl::StrAppend(out, axis.name, "=", axis.size);
      });
  std::string text = absl::StrCat("program   ", Fit(report.program.input.path, kColumns - 10),
                                  "\nmesh      ", mesh, "\nblocks    ", blocks.size(), ", with ",
                                  members, " of ", graph.ops.size(), " operators\n");
  std::map<int32_t, std::pair<size_t, int>> by_kind;  // first block, how many
  for (size_t b = 0; b < blocks.size(); ++b)
    ++by_kind.try_emplace(report.kinds[b], b, 0).first->second.second;
  std::vector<std::vector<std::string>> rows = {
      {"led by", "kind", "times", "contractions", "operators", "strategies"}};
  for (const auto& [kind, first] : by_kind) {
    const ParallelBlock& block = blocks[first.first];
    rows.push_back({graph[block.contractions[0]].name, absl::StrCat(kind),
                    absl::StrCat(first.second), absl::StrCat(block.contractions.size()),
                    absl::StrCat(block.ops.size()), absl::StrCat(block.strategies.size())});
  }
  if (!blocks.empty())
    absl::StrAppend(&text, Columns(std::move(rows), {false, true, true, true, true, true}));
  const SegmentCover& segments = report.segments;
  absl::StrAppend(&text, "segments  ", segments.sequence.size(), ", ", segments.distinct.size(),
                  " of them distinct", segments.exact ? "" : " (fewer were not looked for)", "\n");
  const std::vector<double> strategies = StrategiesByKind(report);
  rows = {{"kinds of blocks", "segment", "times", "combinations"}};
  for (size_t s = 0; s < segments.distinct.size(); ++s) {
    rows.push_back({absl::StrJoin(segments.distinct[s], " "), absl::StrCat(s),
                    absl::StrCat(std::count(segments.sequence.begin(), segments.sequence.end(),
                                            static_cast<int32_t>(s))),
                    absl::StrFormat("%.0f", Combinations(segments.distinct[s], strategies))});
  }
  if (!segments.distinct.empty()) {
    absl::StrAppend(&text, Columns(std::move(rows), {false, true, true, true}), "sequence  ",
                    SequenceText(segments.sequence), "\n");
  }
  absl::StrAppend(
      &text,
      Hanging("space     ",
              absl::StrFormat("10^%.1f with operators by themselves, 10^%.1f with blocks; "
                              "%.0f combinations to measure",
                              report.log10_before, report.log10_after, report.combinations)));
  for (const std::string& warning : report.analysis.warnings)
    absl::StrAppend(&text, WrapWords(absl::StrCat("warning: ", warning), 2));
  for (const std::string& note : report.analysis.notes)
    absl::StrAppend(&text, WrapWords(absl::StrCat("note: ", note), 2));
  return text;
}

std::string BlocksJson(const BlocksReport& report) {
  const Graph& graph = report.program.graph;
  const std::vector<double> strategies = StrategiesByKind(report);
  Json json;
  json["program"] = report.program.input.path;
  for (const MeshAxis& axis : report.mesh.axes) json["mesh"][axis.name] = axis.size;
  const auto names = [&](const std::vector<OpId>& ops) {
    Json list = Json::array();
    for (OpId op : ops) list.push_back(graph[op].name);
    return list;
  };
  json["blocks"] = Json::array();
  for (size_t b = 0; b < report.analysis.blocks.size(); ++b) {
    const ParallelBlock& block = report.analysis.blocks[b];
    json["blocks"].push_back({{"kind", report.kinds[b]},
                              {"contractions", names(block.contractions)},
                              {"operators", names(block.ops)},
                              {"strategies", report.strategies[b]}});
  }
  json["distinct_segments"] = Json::array();
  const std::vector<int32_t>& sequence = report.segments.sequence;
  for (size_t s = 0; s < report.segments.distinct.size(); ++s) {
    const std::vector<int32_t>& kinds = report.segments.distinct[s];
    json["distinct_segments"].push_back(
        {{"kinds", kinds},
         {"times", std::count(sequence.begin(), sequence.end(), static_cast<int32_t>(s))},
         {"combinations", Combinations(kinds, strategies)}});
  }
  json["exact"] = report.segments.exact;
  json["sequence"] = sequence;
  json["space_before"] = report.log10_before;
  json["space_after"] = report.log10_after;
  json["combinations"] = report.combinations;
  json["warnings"] = report.analysis.warnings;
  json["notes"] = report.analysis.notes;
  return json.dump(1) + "\n";
}

}  // namespace meshwright
