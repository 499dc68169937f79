#ifndef MESHWRIGHT_HLO_TEXT_DIMENSIONS_H_
#define MESHWRIGHT_HLO_TEXT_DIMENSIONS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "meshwright/hlo/module.h"
#include "meshwright/hlo/text_cursor.h"

// Attributes that describe dimensions in a small grammar of their own, each read and written here.

namespace meshwright {

// `{size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=1x1 rhs_dilate=2x2 rhs_reversal=0x1}`
absl::Status ReadWindow(TextCursor& cursor, std::vector<WindowDimension>& window);
std::string WindowText(const std::vector<WindowDimension>& window);

// `b01f_01io->b01f`
absl::Status ReadDimLabels(TextCursor& cursor, ConvolutionDimensions& dimensions);
std::string DimLabelsText(const ConvolutionDimensions& dimensions);

// `{[0:16], [0:64:2]}`
absl::Status ReadSlice(TextCursor& cursor, std::vector<SliceDimension>& slice);
std::string SliceText(const std::vector<SliceDimension>& slice);

// `0_1x0_0_2`: low_high or low_high_interior for each dimension
absl::Status ReadPadding(TextCursor& cursor, std::vector<PaddingDimension>& padding);
std::string PaddingText(const std::vector<PaddingDimension>& padding);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_TEXT_DIMENSIONS_H_
