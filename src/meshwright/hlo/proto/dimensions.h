#ifndef MESHWRIGHT_HLO_PROTO_DIMENSIONS_H_
#define MESHWRIGHT_HLO_PROTO_DIMENSIONS_H_

#include <cstdint>
#include <vector>

#include "meshwright/hlo/module.h"
#include "meshwright/hlo/proto/hlo.pb.h"

namespace meshwright {

// Lists of numbers.
template <typename List>
std::vector<int64_t> FromList(const List& list) {
  return {list.begin(), list.end()};
}

template <typename List>
void ToList(const std::vector<int64_t>& values, List* list) {
  list->Add(values.begin(), values.end());
}

// Attributes that describe dimensions, one to one between Module and proto.

std::vector<WindowDimension> WindowFromProto(const proto::Window& window);
void WindowToProto(const std::vector<WindowDimension>& window, proto::Window* out);

DotDimensions DotFromProto(const proto::DotDimensionNumbers& dot);
void DotToProto(const DotDimensions& dot, proto::DotDimensionNumbers* out);

ConvolutionDimensions ConvolutionFromProto(const proto::ConvolutionDimensionNumbers& dimensions);
void ConvolutionToProto(const ConvolutionDimensions& dimensions,
                        proto::ConvolutionDimensionNumbers* out);

// A gather's and a scatter's attributes are spread over several fields of the instruction.
GatherDimensions GatherFromProto(const proto::HloInstructionProto& instruction);
void GatherToProto(const GatherDimensions& gather, proto::HloInstructionProto* out);
ScatterDimensions ScatterFromProto(const proto::HloInstructionProto& instruction);
void ScatterToProto(const ScatterDimensions& scatter, proto::HloInstructionProto* out);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PROTO_DIMENSIONS_H_
