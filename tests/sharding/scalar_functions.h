#ifndef MESHWRIGHT_TESTS_SHARDING_SCALAR_FUNCTIONS_H_
#define MESHWRIGHT_TESTS_SHARDING_SCALAR_FUNCTIONS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>

#include "meshwright/hlo/module.h"
#include "meshwright/sharding/sharding.h"

// What operators and reductions do to single numbers.

namespace meshwright {

// `direction`: LT and so on, as a compare has it.
inline bool CompareValues(const std::string& direction, double a, double b) {
  if (direction == "EQ") return a == b;
  if (direction == "NE") return a != b;
  if (direction == "GT") return a > b;
  if (direction == "GE") return a >= b;
  if (direction == "LE") return a <= b;
  return a < b;
}

// An element of an elementwise operator's result; `arg(i)` is that of operand i.
inline double ElementwiseValue(const Instruction& instruction,
                               const std::function<double(size_t)>& arg) {
  switch (instruction.opcode) {
    case Opcode::kDivide:
      return IsInteger(instruction.shape.type) ? std::trunc(arg(0) / arg(1)) : arg(0) / arg(1);
    case Opcode::kPower:
      return std::pow(arg(0), arg(1));
    case Opcode::kMinimum:
      return std::min(arg(0), arg(1));
    case Opcode::kAnd:
      return arg(0) != 0 && arg(1) != 0;
    case Opcode::kOr:
      return arg(0) != 0 || arg(1) != 0;
    case Opcode::kNot:
      return arg(0) == 0;
    case Opcode::kIsFinite:
      return std::isfinite(arg(0));
    case Opcode::kAbs:
      return std::abs(arg(0));
    case Opcode::kSign:
      return (arg(0) > 0) - (arg(0) < 0);
    case Opcode::kExp:
      return std::exp(arg(0));
    case Opcode::kLog:
      return std::log(arg(0));
    case Opcode::kSqrt:
      return std::sqrt(arg(0));
    case Opcode::kRsqrt:
      return 1 / std::sqrt(arg(0));
    case Opcode::kTanh:
      return std::tanh(arg(0));
    case Opcode::kSin:
      return std::sin(arg(0));
    case Opcode::kCos:
      return std::cos(arg(0));
    case Opcode::kAdd:
      return arg(0) + arg(1);
    case Opcode::kSubtract:
      return arg(0) - arg(1);
    case Opcode::kMultiply:
      return arg(0) * arg(1);
    case Opcode::kMaximum:
      return std::max(arg(0), arg(1));
    case Opcode::kNegate:
      return -arg(0);
    case Opcode::kCompare:
      return CompareValues(instruction.direction, arg(0), arg(1));
    case Opcode::kSelect:
      return arg(0) != 0 ? arg(1) : arg(2);
    case Opcode::kClamp:
      return std::min(std::max(arg(1), arg(0)), arg(2));
    default:  // copy, convert
      return arg(0);
  }
}

// What a reduction starts from.
inline double ReductionIdentity(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProduct:
    case Reduction::kAnd:
      return 1;
    case Reduction::kMax:
      return -std::numeric_limits<double>::infinity();
    case Reduction::kMin:
      return std::numeric_limits<double>::infinity();
    default:
      return 0;
  }
}

inline double Combine(Reduction reduction, double a, double b) {
  switch (reduction) {
    case Reduction::kSum:
      return a + b;
    case Reduction::kProduct:
      return a * b;
    case Reduction::kMax:
      return std::max(a, b);
    case Reduction::kMin:
      return std::min(a, b);
    case Reduction::kAnd:
      return a != 0 && b != 0;
    case Reduction::kOr:
      return a != 0 || b != 0;
    default:  // a body that keeps its second argument
      return b;
  }
}

}  // namespace meshwright

#endif  // MESHWRIGHT_TESTS_SHARDING_SCALAR_FUNCTIONS_H_
