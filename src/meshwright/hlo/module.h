#ifndef MESHWRIGHT_HLO_MODULE_H_
#define MESHWRIGHT_HLO_MODULE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "meshwright/base/id.h"
#include "meshwright/hlo/opcode.h"
#include "meshwright/hlo/shape.h"
#include "meshwright/hlo/source_place.h"

// An HLO module in memory: plain values, no pointers between them. Instructions refer to each other
// by position in their computation, computations by position in the module. Everything that HLO
// text or an HloModuleProto says is kept, so that either can be written again; `operator==`
// compares all of it, so equal modules print equal text.

namespace meshwright {

struct InstructionTag {};
struct ComputationTag {};
using InstructionId = Id<InstructionTag>;  // index into Computation::instructions
using ComputationId = Id<ComputationTag>;  // index into Module::computations

// A constant's value: elements in row-major order, each in its natural width, little-endian.
// Large constants that XLA printed as `{...}` have `elided` set and no data.
struct Literal {
  std::string data;
  bool elided = false;
  std::vector<Literal> tuple;
  friend bool operator==(const Literal&, const Literal&) = default;
};

struct DotDimensions {
  std::vector<int64_t> lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
  friend bool operator==(const DotDimensions&, const DotDimensions&) = default;
};

struct WindowDimension {
  int64_t size = 1, stride = 1, padding_low = 0, padding_high = 0;
  int64_t window_dilation = 1, base_dilation = 1;
  bool reversal = false;
  friend bool operator==(const WindowDimension&, const WindowDimension&) = default;
};

// `dim_labels=b01f_01io->b01f`: positions of the labelled dimensions in lhs, rhs and output.
struct ConvolutionDimensions {
  int64_t input_batch = 0, input_feature = 0;
  std::vector<int64_t> input_spatial;
  int64_t kernel_input_feature = 0, kernel_output_feature = 0;
  std::vector<int64_t> kernel_spatial;
  int64_t output_batch = 0, output_feature = 0;
  std::vector<int64_t> output_spatial;
  friend bool operator==(const ConvolutionDimensions&, const ConvolutionDimensions&) = default;
};

struct GatherDimensions {
  std::vector<int64_t> offset_dims, collapsed_slice_dims, start_index_map;
  std::vector<int64_t> operand_batching_dims, start_indices_batching_dims;
  int64_t index_vector_dim = 0;
  std::vector<int64_t> slice_sizes;
  bool indices_are_sorted = false;
  friend bool operator==(const GatherDimensions&, const GatherDimensions&) = default;
};

struct ScatterDimensions {
  std::vector<int64_t> update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims;
  std::vector<int64_t> input_batching_dims, scatter_indices_batching_dims;
  int64_t index_vector_dim = 0;
  bool indices_are_sorted = false, unique_indices = false;
  friend bool operator==(const ScatterDimensions&, const ScatterDimensions&) = default;
};

struct SliceDimension {
  int64_t start = 0, limit = 0, stride = 1;
  friend bool operator==(const SliceDimension&, const SliceDimension&) = default;
};

struct PaddingDimension {
  int64_t low = 0, high = 0, interior = 0;
  friend bool operator==(const PaddingDimension&, const PaddingDimension&) = default;
};

// What the framework said about where an instruction comes from.
struct Metadata {
  std::string op_type, op_name, source_file, scheduling_name, deduplicated_name;
  int64_t source_line = 0, source_end_line = 0, source_column = 0, source_end_column = 0;
  int64_t stack_frame_id = 0;  // 1-based index into Module::stack_frames; 0: none
  std::vector<std::pair<std::string, std::string>>
      other;  // fields not listed, in order, canonical text
  bool empty() const { return *this == Metadata(); }
  friend bool operator==(const Metadata&, const Metadata&) = default;
};

struct Instruction {
  std::string name;  // without the leading '%'
  Opcode opcode = Opcode::kParameter;
  Shape shape;
  std::vector<InstructionId> operands;
  // Called computations in the order of their meaning: call, map, reduce, sort, ...: {to_apply};
  // fusion: {calls}; while: {condition, body}; conditional: the branches in order of their index
  // (true before false); select-and-scatter: {select, scatter}; custom-call: called_computations.
  std::vector<ComputationId> called;

  // --- attributes; which of them are meaningful follows from the opcode ---
  int64_t parameter_number = -1;  // parameter
  Literal literal;                // constant
  std::vector<int64_t>
      dimensions;  // broadcast, reduce, transpose, concatenate, reverse, sort, map, all-gather, ...
  int64_t iota_dimension = -1;          // iota
  int64_t tuple_index = -1;             // get-tuple-element
  DotDimensions dot;                    // dot, ragged-dot
  std::vector<WindowDimension> window;  // convolution, reduce-window, select-and-scatter
  ConvolutionDimensions convolution;    // convolution
  int64_t feature_group_count = 1, batch_group_count = 1;  // convolution
  GatherDimensions gather;                                 // gather
  ScatterDimensions scatter;                               // scatter
  std::vector<SliceDimension> slice;                       // slice
  std::vector<int64_t> dynamic_slice_sizes;                // dynamic-slice
  std::vector<PaddingDimension> padding;                   // pad
  std::string direction;           // compare: "EQ", "NE", "GE", "GT", "LE", "LT"
  std::string fusion_kind;         // fusion: "kLoop", "kInput", "kOutput", "kCustom"
  std::string custom_call_target;  // custom-call
  std::string async_name;  // async-*: opcode printed before "-start", e.g. "all-to-all"; else empty
  bool is_root = false;    // it is its computation's root

  // Text of attributes that planning treats as opaque, in canonical form and the order they print
  // in: channel_id, replica_groups, source_target_pairs, comparison type, precision, algorithm,
  // known trip counts, ...; without sharding, metadata, frontend_attributes and backend_config.
  std::vector<std::pair<std::string, std::string>> other;

  std::string sharding;        // canonical text with its braces, or empty
  std::string backend_config;  // raw text as printed after `backend_config=`, or empty
  std::vector<std::pair<std::string, std::string>> frontend_attributes;  // unquoted values
  std::vector<InstructionId> control_predecessors;
  Metadata metadata;

  SourcePlace place;

  friend bool operator==(const Instruction& a, const Instruction& b);
};

// Value of an `other` attribute, or nullptr.
const std::string* FindAttribute(const Instruction& instruction, std::string_view name);
// The numbers of one such as `fft_length={6,4}`; nullopt if there is none, or it is no such list.
std::optional<std::vector<int64_t>> FindIntegers(const Instruction& instruction,
                                                 std::string_view name);

struct Computation {
  std::string name;
  // In the order of the text. Operands come before users (readers reorder where text does not).
  std::vector<Instruction> instructions;
  std::vector<InstructionId> parameters;  // by parameter number
  InstructionId root;
  std::string execution_thread;  // empty: the main thread
  bool has_signature = false;  // text had `(params) -> result` after the name; only printing cares

  const Instruction& operator[](InstructionId id) const { return instructions[id.index()]; }
  Instruction& operator[](InstructionId id) { return instructions[id.index()]; }
  friend bool operator==(const Computation& a, const Computation& b);  // has_signature not compared
};

// One entry of input_output_alias: output leaf `output` may (or must) reuse the buffer of leaf
// `parameter_index` of parameter `parameter`.
struct InputOutputAlias {
  std::vector<int64_t> output;
  int64_t parameter = 0;
  std::vector<int64_t> parameter_index;
  bool must = false;
  friend bool operator==(const InputOutputAlias&, const InputOutputAlias&) = default;
};

struct FileLocation {
  int64_t file_name_id = 0, function_name_id = 0, line = 0, end_line = 0, column = 0,
          end_column = 0;
  friend bool operator==(const FileLocation&, const FileLocation&) = default;
};

struct StackFrame {
  int64_t file_location_id = 0, parent_frame_id = 0;  // 1-based; parent == own id: none
  friend bool operator==(const StackFrame&, const StackFrame&) = default;
};

struct Module {
  std::string name;
  std::vector<Computation> computations;  // callees before callers, the entry last
  ComputationId entry;
  bool is_scheduled = false;
  std::vector<InputOutputAlias> input_output_alias;
  // buffer_donor entries: (parameter, leaf index) whose buffer may be reused by any output.
  std::vector<std::pair<int64_t, std::vector<int64_t>>> buffer_donors;
  std::vector<Shape> entry_parameter_layouts;  // entry_computation_layout; empty if absent
  Shape entry_result_layout;                   // kInvalid if absent
  // Other module-level attributes (num_partitions, replica_count, frontend_attributes,
  // allow_spmd_sharding_propagation_to_output, ...) as canonical text in order.
  std::vector<std::pair<std::string, std::string>> other;
  SourcePlace devices_place;  // of the number of partitions, else of replicas, among them
  std::vector<std::string> file_names, function_names;
  std::vector<FileLocation> file_locations;
  std::vector<StackFrame> stack_frames;

  const Computation& operator[](ComputationId id) const { return computations[id.index()]; }
  Computation& operator[](ComputationId id) { return computations[id.index()]; }
  const Computation& entry_computation() const { return computations[entry.index()]; }
  friend bool operator==(const Module&, const Module&) = default;
};

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_MODULE_H_
