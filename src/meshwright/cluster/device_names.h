#ifndef MESHWRIGHT_CLUSTER_DEVICE_NAMES_H_
#define MESHWRIGHT_CLUSTER_DEVICE_NAMES_H_

#include <string_view>

#include "meshwright/cluster/cluster.h"

namespace meshwright {

// The same name, without regard to case and to what stands between words: "A100_40G" is "a100-40g".
bool IsSameName(std::string_view a, std::string_view b);

// Whether `written`, as measurements call their device, is `device` (DeviceType::name, or what a
// user called one): the same name, how it begins ("A100" is "a100-40g"), or another name of a
// built-in type: what CUDA calls it, or what others' measurements do.
bool IsNameOfDevice(std::string_view written, std::string_view device);

}  // namespace meshwright

#endif  // MESHWRIGHT_CLUSTER_DEVICE_NAMES_H_
