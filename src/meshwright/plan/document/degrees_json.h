#ifndef MESHWRIGHT_PLAN_DOCUMENT_DEGREES_JSON_H_
#define MESHWRIGHT_PLAN_DOCUMENT_DEGREES_JSON_H_

#include "meshwright/base/json_members.h"
#include "meshwright/degrees/configuration.h"

namespace meshwright {

// The degrees of a configuration by their names in the table of degrees, those of a placement in an
// object of their own.
template <>
struct JsonForm<transformer::Configuration> {
  static Json Write(const transformer::Configuration& configuration);
  static void Read(const JsonValue& json, transformer::Configuration& configuration, MemberForm);
};

}  // namespace meshwright

#endif  // MESHWRIGHT_PLAN_DOCUMENT_DEGREES_JSON_H_
