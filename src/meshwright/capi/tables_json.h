#ifndef MESHWRIGHT_CAPI_TABLES_JSON_H_
#define MESHWRIGHT_CAPI_TABLES_JSON_H_

#include <string>

#include "meshwright/hlo/graph.h"

namespace meshwright {

// The JSON lists that include/meshwright.h documents for mw_tables.
std::string DevicesJson();
std::string OperatorsJson();
std::string CallsJson();
std::string ModelsJson();
std::string AllOptionsJson();

// The same for mw_read_program.
std::string ParametersJson(const Graph& graph);
std::string OutputsJson(const Graph& graph);

}  // namespace meshwright

#endif  // MESHWRIGHT_CAPI_TABLES_JSON_H_
