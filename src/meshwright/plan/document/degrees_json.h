#ifndef MESHWRIGHT_PLAN_DOCUMENT_DEGREES_JSON_H_
#define MESHWRIGHT_PLAN_DOCUMENT_DEGREES_JSON_H_

#include "meshwright/base/json_value.h"
#include "meshwright/degrees/configuration.h"

namespace meshwright {

// The degrees of a configuration by their names in the table of degrees, those of a placement in an
// object of their own. ReadJson (json_reader.h) is the inverse.
Json DegreesJson(const transformer::Configuration& configuration);

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_DEGREES_JSON_H_
