#ifndef MESHWRIGHT_REPORT_SEGMENT_DOT_H_
#define MESHWRIGHT_REPORT_SEGMENT_DOT_H_

#include <string>

#include "meshwright/plan/document/plan.h"

namespace meshwright {

// The segments of a plan's program, or of each distinct stage, as a graph for Graphviz: a box for
// each segment with how often it repeats and what it takes, an edge where values go, red where a
// collective moves them. A plan of a model has none; the graph is empty then.
std::string SegmentDot(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_REPORT_SEGMENT_DOT_H_
