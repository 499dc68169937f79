#ifndef MESHWRIGHT_PUBLISHED_NERSC_RECORDS_H_
#define MESHWRIGHT_PUBLISHED_NERSC_RECORDS_H_

#include <cstdint>
#include <string>

#include "meshwright/base/json_value.h"
#include "meshwright/published/nersc/comparison.h"

// One record of each kind of reproduce.h, computed again. They return how many collectives,
// points, searches or variants it holds; what is wrong with it is an error of its value. `where`
// names the record in differences.

namespace meshwright::transformer::nersc {

int64_t ReproduceCollective(const JsonValue& record, const std::string& where,
                            Comparison* comparison);
int64_t ReproducePoints(const JsonValue& record, const std::string& where, Comparison* comparison);
int64_t ReproduceSearch(const JsonValue& record, const std::string& where, Comparison* comparison);
int64_t ReproduceVariants(const JsonValue& record, const std::string& where,
                          Comparison* comparison);

}  // namespace meshwright::transformer::nersc

#endif  // MESHWRIGHT_PUBLISHED_NERSC_RECORDS_H_
