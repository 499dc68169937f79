#ifndef MESHWRIGHT_REPORT_HEADLINE_H_
#define MESHWRIGHT_REPORT_HEADLINE_H_

#include <string>
#include <vector>

#include "meshwright/plan/document/plan.h"

namespace meshwright {

// What a plan does, in a few sentences for somebody who sees it for the first time.
std::vector<std::string> Headline(const Plan& plan);

// The program's file or the model's name.
std::string ProgramName(const Plan& plan);

}  // namespace meshwright

#endif  // MESHWRIGHT_REPORT_HEADLINE_H_
