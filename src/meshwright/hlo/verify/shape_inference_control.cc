#include "meshwright/base/strings.h"
#include "meshwright/hlo/verify/shape_inference.h"

// Tuples, and instructions that run other computations.

namespace meshwright {
namespace {

const Shape& ResultOf(const Computation& computation) {
  return computation[computation.root].shape;
}

// A problem unless `computation` takes operands [first, first + count) of `i`.
Problem CheckArguments(const TypedInstruction& i, const Computation& computation, size_t first,
                       size_t count) {
  if (computation.parameters.size() != count) {
    return StrCat("computation ", computation.name, " has ", computation.parameters.size(),
                  " parameters, it is given ", count);
  }
  for (size_t k = 0; k < count; ++k) {
    const Shape& parameter = computation[computation.parameters[k]].shape;
    if (!Compatible(parameter, i.operand(first + k))) {
      return StrCat("computation ", computation.name, " takes parameter ", k, " as ",
                    parameter.ToString(false), ", operand ", first + k, " is ",
                    i.operand(first + k).ToString(false));
    }
  }
  return "";
}

Problem CheckReturned(const Computation& computation, const Shape& wanted) {
  if (Compatible(ResultOf(computation), wanted)) return "";
  return StrCat("shape mismatch: is ", wanted.ToString(false), ", computation ", computation.name,
                " gives ", ResultOf(computation).ToString(false));
}

}  // namespace

Problem CheckTuple(const TypedInstruction& i) {
  bool ok = i.inferred == nullptr && i.result().is_tuple() &&
            i.result().tuple.size() == i.operand_count();
  for (size_t k = 0; ok && k < i.operand_count(); ++k) {
    ok = Compatible(i.result().tuple[k], i.operand(k));
  }
  if (ok) return "";
  std::vector<Shape> given;
  for (size_t k = 0; k < i.operand_count(); ++k) given.push_back(i.operand(k));
  return CheckResult(i, Shape::Tuple(std::move(given)));
}

Problem CheckGetTupleElement(const TypedInstruction& i) {
  const Shape& operand = i.operand(0);
  if (!operand.is_tuple()) {
    return StrCat("operand 0 must be a tuple, is ", operand.ToString(false));
  }
  if (i->tuple_index < 0 || i->tuple_index >= static_cast<int64_t>(operand.tuple.size())) {
    return StrCat("index=", i->tuple_index, " is out of range; the operand has ",
                  operand.tuple.size(), " elements");
  }
  const Shape& element = operand.tuple[static_cast<size_t>(i->tuple_index)];
  return CheckResult(i, element);
}

Problem CheckCall(const TypedInstruction& i) {
  if (i->called.size() != 1) return "calls one computation";
  if (Problem p = CheckArguments(i, i.called(0), 0, i.operand_count()); !p.empty()) return p;
  if (i.inferred != nullptr) return CheckResult(i, ResultOf(i.called(0)));
  return CheckReturned(i.called(0), i.result());
}

Problem CheckMap(const TypedInstruction& i) {
  if (i.operand_count() == 0) return "takes at least one operand";
  if (i->called.size() == 1 && i.called(0).parameters.size() != i.operand_count()) {
    return StrCat("computation ", i.called(0).name, " has ", i.called(0).parameters.size(),
                  " parameters, it is given ", i.operand_count());
  }
  return CheckSameDimensions(i);
}

Problem CheckWhile(const TypedInstruction& i) {
  if (i->called.size() != 2) return "needs a condition and a body";
  const Computation& condition = i.called(0);
  const Computation& body = i.called(1);
  if (Problem p = CheckArguments(i, condition, 0, 1); !p.empty()) return p;
  if (Problem p = CheckArguments(i, body, 0, 1); !p.empty()) return p;
  if (Problem p = CheckReturned(condition, Shape::Array(ElementType::kPred, {})); !p.empty()) {
    return p;
  }
  if (Problem p = CheckReturned(body, i.operand(0)); !p.empty()) return p;
  return CheckSameAsFirst(i);
}

Problem CheckConditional(const TypedInstruction& i) {
  const size_t branches = i->called.size();
  if (branches == 0 || i.operand_count() != branches + 1) {
    return StrCat("takes a selector and an operand for each of ", branches, " branches, found ",
                  i.operand_count(), " operands");
  }
  const Shape& selector = i.operand(0);
  const bool by_predicate = selector.type == ElementType::kPred;
  if (selector.rank() != 0 || !(by_predicate || selector.type == ElementType::kS32)) {
    return StrCat("operand 0 must be pred[] or s32[], is ", selector.ToString(false));
  }
  if (by_predicate && branches != 2)
    return StrCat("a pred selects from 2 branches, not ", branches);
  for (size_t b = 0; b < branches; ++b) {
    if (Problem p = CheckArguments(i, i.called(b), b + 1, 1); !p.empty()) return p;
    if (i.inferred != nullptr) continue;
    if (Problem p = CheckReturned(i.called(b), i.result()); !p.empty()) return p;
  }
  return i.inferred == nullptr ? "" : CheckResult(i, ResultOf(i.called(0)));
}

}  // namespace meshwright
