#ifndef MESHWRIGHT_HLO_PROTO_WRITER_H_
#define MESHWRIGHT_HLO_PROTO_WRITER_H_

#include <string>

#include "meshwright/hlo/module.h"

namespace meshwright {

// `module` as a serialized HloModuleProto that XLA reads. ParseHloProto gives the same module back:
// what XLA has no field for travels in fields that it ignores; constants without a layout get the
// row-major one, as XLA reads none without.
std::string ToHloProto(const Module& module);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PROTO_WRITER_H_
