#ifndef MESHWRIGHT_DEGREES_PRECISION_SUPPORT_H_
#define MESHWRIGHT_DEGREES_PRECISION_SUPPORT_H_

#include <string>

#include "meshwright/cluster/cluster.h"
#include "meshwright/degrees/configuration.h"

// Which types of matmuls a device has hardware for: those that its peak rates list
// (cluster/device_table.cc, or `peak_flops` of a cluster's file).

namespace meshwright::transformer {

bool HasPrecision(const DeviceType& device, Precision precision);

// A warning of a plan whose matmuls a device has no hardware for: at which rate they are planned,
// and which type it has instead. Empty where it has.
std::string PrecisionWarning(const DeviceType& device, Precision precision);

}  // namespace meshwright::transformer

#endif  // MESHWRIGHT_DEGREES_PRECISION_SUPPORT_H_
