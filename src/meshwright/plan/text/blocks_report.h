#ifndef MESHWRIGHT_PLAN_TEXT_BLOCKS_REPORT_H_
#define MESHWRIGHT_PLAN_TEXT_BLOCKS_REPORT_H_

#include <memory>
#include <string>
#include <vector>

#include "meshwright/blocks/blocks.h"
#include "meshwright/blocks/segments.h"
#include "meshwright/hlo/program/program.h"

namespace meshwright {

// What `meshwright blocks` shows of a program.
struct BlocksReport {
  Program program;
  Mesh mesh;
  BlockAnalysis analysis;
  std::vector<std::vector<std::string>> strategies;  // by block: see BlockFinder::StrategyText
  std::vector<int32_t> kinds;                        // by block
  SegmentCover segments;
  // Decimal logarithms of the ways to run the whole program: every operator by itself, every block
  // by itself.
  double log10_before = 0, log10_after = 0;
  double combinations = 0;  // of the distinct segments' blocks: what there is to measure
};

BlocksReport ReportBlocks(Program program, const Mesh& mesh);

std::string BlocksTable(const BlocksReport& report);

// Keys: program, mesh, blocks (a list: kind, contractions, operators, strategies),
// distinct_segments (kinds, times, combinations), exact, sequence (indices of distinct_segments),
// space_before and space_after (decimal logarithms), combinations, warnings, notes.
std::string BlocksJson(const BlocksReport& report);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_TEXT_BLOCKS_REPORT_H_
