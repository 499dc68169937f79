#ifndef MESHWRIGHT_PROFILE_SLICE_FINGERPRINT_H_
#define MESHWRIGHT_PROFILE_SLICE_FINGERPRINT_H_

#include <string>

#include "meshwright/inter/slice/slice.h"

namespace meshwright {

// ProfileKey::program of a segment: 64 hexadecimal digits of its operators (types, shapes,
// attributes, data flow; no names) and of what each input and output is to the network. Part of the
// format of databases: see kProfileFormat.
std::string SliceFingerprint(const ProgramSlice& slice);

}  // namespace meshwright

#endif  // MESHWRIGHT_PROFILE_SLICE_FINGERPRINT_H_
