#ifndef MESHWRIGHT_PUBLISHED_NERSC_JSON_H_
#define MESHWRIGHT_PUBLISHED_NERSC_JSON_H_

#include "meshwright/base/json_value.h"
#include "meshwright/published/nersc/nersc.h"

// Inputs of the model in the members' names of the published code. What does not pass the model's
// checks is an error of the value.

namespace meshwright::transformer::nersc {

Model ReadModel(const JsonValue& json);    // l, e, h, depth, f
System ReadSystem(const JsonValue& json);  // as in systems/config-*.json
Strategy ReadStrategy(const JsonValue& json);
int64_t ReadSize(const JsonValue& json);  // of anything, from 1

// A configuration whose parts of the NVLink domain, nv_*, are members of `placement`.
Config ReadConfig(const JsonValue& json, const JsonValue& placement, Strategy strategy);

}  // namespace meshwright::transformer::nersc

#endif  // MESHWRIGHT_PUBLISHED_NERSC_JSON_H_
