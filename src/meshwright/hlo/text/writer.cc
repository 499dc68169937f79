#include "meshwright/hlo/text/writer.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/attribute_order.h"
#include "meshwright/hlo/text/attributes.h"
#include "meshwright/hlo/text/header.h"
#include "meshwright/hlo/text/literal.h"
#include "meshwright/hlo/text_cursor.h"

namespace meshwright {
namespace {

// Every kIndexInterval-th operand is preceded by its index in the long style.
constexpr size_t kIndexInterval = 5;

class InstructionWriter {
 public:
  InstructionWriter(const Module& module, const Computation& computation,
                    const Instruction& instruction, std::string& out)
      : module_(module),
        computation_(computation),
        instruction_(instruction),
        percent_(computation.has_signature ? "%" : ""),
        out_(out) {}

  void Write() {
    StrAppend(&out_, instruction_.is_root ? "ROOT " : "", Named(instruction_.name), " = ",
              instruction_.shape.ToString(), " ", OpcodeText(), "(");
    WriteOperands();
    out_ += ')';
    WriteAttributes();
  }

 private:
  struct Attribute {
    int rank;
    std::string_view name;
    std::string text;
  };

  // With a '%' where the computation has them, and where the name would be a keyword without.
  std::string Named(std::string_view name) const {
    return StrCat(percent_.empty() && IsHloKeyword(name) ? "%" : percent_, name);
  }

  std::string OpcodeText() const {
    const std::string_view own = OpcodeName(instruction_.opcode);
    if (instruction_.async_name.empty()) return std::string(own);
    return StrCat(instruction_.async_name, own.substr(own.rfind('-')));  // async-start: "-start"
  }

  void WriteOperands() {
    if (instruction_.opcode == Opcode::kParameter) {
      StrAppend(&out_, instruction_.parameter_number);
    } else if (instruction_.opcode == Opcode::kConstant) {
      AppendLiteral(instruction_.literal, instruction_.shape, out_);
    }
    for (size_t i = 0; i < instruction_.operands.size(); ++i) {
      if (i > 0) out_ += ", ";
      if (computation_.has_signature && i > 0 && i % kIndexInterval == 0) {
        StrAppend(&out_, "/*index=", i, "*/");
      }
      out_ += Named(computation_[instruction_.operands[i]].name);
    }
  }

  void Collect(std::string_view name, std::string text) {
    attributes_.push_back({AttributeRank(instruction_, name), name, std::move(text)});
  }

  void CollectCalled() {
    const bool predicate = !instruction_.operands.empty() &&
                           computation_[instruction_.operands[0]].shape.type == ElementType::kPred;
    for (const CalledText& called : CalledTexts(instruction_, predicate)) {
      std::string text = called.list ? "{" : "";
      for (size_t i = called.begin; i < called.end && i < instruction_.called.size(); ++i) {
        StrAppend(&text, i > called.begin ? ", " : "", Named(module_[instruction_.called[i]].name));
      }
      Collect(called.name, text + (called.list ? "}" : ""));
    }
  }

  void CollectControlPredecessors() {
    if (instruction_.control_predecessors.empty()) return;
    std::string text = "{";
    for (const InstructionId id : instruction_.control_predecessors) {
      StrAppend(&text, text.size() > 1 ? ", " : "", Named(computation_[id].name));
    }
    Collect("control-predecessors", text + "}");
  }

  void WriteAttributes() {
    const Opcode opcode = AttributeOpcode(instruction_);
    for (const TypedAttribute& typed : TypedAttributes()) {
      if (!typed.applies(opcode)) continue;
      std::string text = typed.write(instruction_);
      if (!text.empty()) Collect(typed.name, std::move(text));
    }
    CollectCalled();
    CollectControlPredecessors();
    std::stable_sort(attributes_.begin(), attributes_.end(),
                     [](const Attribute& a, const Attribute& b) { return a.rank < b.rank; });
    // Merge in `other`, whose own order is part of the module and stays.
    auto typed = attributes_.begin();
    for (const auto& [name, text] : instruction_.other) {
      const int rank = AttributeRank(instruction_, name);
      for (; typed != attributes_.end() && typed->rank <= rank; ++typed) {
        StrAppend(&out_, ", ", typed->name, "=", typed->text);
      }
      StrAppend(&out_, ", ", name, "=", text);
    }
    for (; typed != attributes_.end(); ++typed) {
      StrAppend(&out_, ", ", typed->name, "=", typed->text);
    }
  }

  const Module& module_;
  const Computation& computation_;
  const Instruction& instruction_;
  const std::string_view percent_;
  std::string& out_;
  std::vector<Attribute> attributes_;
};

void WriteComputation(const Module& module, const Computation& computation, bool is_entry,
                      std::string& out) {
  if (is_entry) out += "ENTRY ";
  if (computation.has_signature) {
    StrAppend(&out, "%", computation.name, " (");
    for (size_t i = 0; i < computation.parameters.size(); ++i) {
      const Instruction& parameter = computation[computation.parameters[i]];
      StrAppend(&out, i > 0 ? ", " : "", IsHloKeyword(parameter.name) ? "%" : "", parameter.name,
                ": ", parameter.shape.ToString(false));
    }
    StrAppend(&out, ") -> ", computation[computation.root].shape.ToString(false), " {\n");
  } else {
    StrAppend(&out, IsHloKeyword(computation.name) ? "%" : "", computation.name, " {\n");
  }
  for (const Instruction& instruction : computation.instructions) {
    out += "  ";
    InstructionWriter(module, computation, instruction, out).Write();
    out += '\n';
  }
  out += '}';
  if (!computation.execution_thread.empty()) {
    StrAppend(&out, ", execution_thread=\"", computation.execution_thread, "\"");
  }
  out += "\n\n";
}

}  // namespace

std::string ToString(const Module& module, const Computation& computation,
                     const Instruction& instruction) {
  std::string out;
  InstructionWriter(module, computation, instruction, out).Write();
  return out;
}

std::string ToHloText(const Module& module) {
  std::string out;
  AppendModuleHeader(module, out);
  if (!module.stack_frames.empty()) out += '\n';  // XLA ends the tables with two empty lines
  for (size_t i = 0; i < module.computations.size(); ++i) {
    WriteComputation(module, module.computations[i], i == module.entry.index(), out);
  }
  return out;
}

}  // namespace meshwright
