#ifndef MESHWRIGHT_HLO_PROTO_HLO_PROTO_H_
#define MESHWRIGHT_HLO_PROTO_HLO_PROTO_H_

#include <cstdint>
#include <string>

#include "meshwright/hlo/proto/message.h"

// The part of XLA's HloModuleProto that Module holds. Message, field and number choices are XLA's
// (xla/service/hlo.proto, xla/xla_data.proto), so the bytes are interchangeable; fields that HLO
// text does not show either (profile information, buffer assignment) are left out.

// clang-format off

namespace meshwright::proto {

#define PADDING_CONFIG_DIMENSION_FIELDS(F) \
  F(SCALAR, int64_t, edge_padding_low, 1) \
  F(SCALAR, int64_t, edge_padding_high, 2) \
  F(SCALAR, int64_t, interior_padding, 3)
MESHWRIGHT_PROTO_MESSAGE(PaddingConfigDimension, PADDING_CONFIG_DIMENSION_FIELDS)
#undef PADDING_CONFIG_DIMENSION_FIELDS

struct PaddingConfigTypes {
  using PaddingConfigDimension = proto::PaddingConfigDimension;
};
#define PADDING_CONFIG_FIELDS(F) \
  F(SUBS, PaddingConfigDimension, dimensions, 1)
MESHWRIGHT_PROTO_MESSAGE(PaddingConfig, PADDING_CONFIG_FIELDS, PaddingConfigTypes)
#undef PADDING_CONFIG_FIELDS

#define TILE_PROTO_FIELDS(F) \
  F(SCALARS, int64_t, dimensions, 1)
MESHWRIGHT_PROTO_MESSAGE(TileProto, TILE_PROTO_FIELDS)
#undef TILE_PROTO_FIELDS

#define SPLIT_CONFIG_PROTO_FIELDS(F) \
  F(SCALAR, int64_t, dimension, 1) \
  F(SCALARS, int64_t, split_indices, 2)
MESHWRIGHT_PROTO_MESSAGE(SplitConfigProto, SPLIT_CONFIG_PROTO_FIELDS)
#undef SPLIT_CONFIG_PROTO_FIELDS

#define LAYOUT_PROTO_FIELDS(F) \
  F(SCALARS, int64_t, minor_to_major, 1) \
  F(SUBS, TileProto, tiles, 6) \
  F(SCALAR, int64_t, element_size_in_bits, 7) \
  F(SCALAR, int64_t, memory_space, 8) \
  F(SCALAR, int64_t, dynamic_shape_metadata_prefix_bytes, 15) \
  F(SCALAR, int64_t, tail_padding_alignment_in_elements, 16) \
  F(SUBS, SplitConfigProto, split_configs, 17)
MESHWRIGHT_PROTO_MESSAGE(LayoutProto, LAYOUT_PROTO_FIELDS)
#undef LAYOUT_PROTO_FIELDS

#define SHAPE_PROTO_FIELDS(F) \
  F(SCALAR, int32_t, element_type, 2) /* PrimitiveType */ \
  F(SCALARS, int64_t, dimensions, 3) \
  F(SUBS, ShapeProto, tuple_shapes, 4) \
  F(SUB, LayoutProto, layout, 5) \
  F(SCALARS, bool, is_dynamic_dimension, 6)
MESHWRIGHT_PROTO_MESSAGE(ShapeProto, SHAPE_PROTO_FIELDS)
#undef SHAPE_PROTO_FIELDS

#define PROGRAM_SHAPE_PROTO_FIELDS(F) \
  F(SUBS, ShapeProto, parameters, 1) \
  F(SUB, ShapeProto, result, 2) \
  F(TEXTS, std::string, parameter_names, 3)
MESHWRIGHT_PROTO_MESSAGE(ProgramShapeProto, PROGRAM_SHAPE_PROTO_FIELDS)
#undef PROGRAM_SHAPE_PROTO_FIELDS

#define OP_METADATA_FIELDS(F) \
  F(TEXT, std::string, op_type, 1) \
  F(TEXT, std::string, op_name, 2) \
  F(TEXT, std::string, source_file, 3) \
  F(SCALAR, int32_t, source_line, 4) \
  F(SCALARS, int32_t, profile_type, 5) \
  F(SCALAR, int64_t, size_of_generated_code_in_bytes, 8) \
  F(SCALAR, int64_t, size_of_memory_working_set_in_bytes, 9) \
  F(TEXT, std::string, deduplicated_name, 12) \
  F(SCALAR, int32_t, stack_frame_id, 15) \
  F(TEXT, std::string, scheduling_name, 16) \
  F(SCALAR, int32_t, source_end_line, 17) \
  F(SCALAR, int32_t, source_column, 18) \
  F(SCALAR, int32_t, source_end_column, 19)
MESHWRIGHT_PROTO_MESSAGE(OpMetadata, OP_METADATA_FIELDS)
#undef OP_METADATA_FIELDS

#define LITERAL_PROTO_FIELDS(F) \
  F(SUB, ShapeProto, shape, 1) \
  F(SCALARS, bool, preds, 2) \
  F(TEXT, std::string, u8s, 3) \
  F(SCALARS, int32_t, s32s, 4) \
  F(SCALARS, int64_t, s64s, 5) \
  F(SCALARS, uint32_t, u32s, 6) \
  F(SCALARS, uint64_t, u64s, 7) \
  F(SCALARS, float, f32s, 8) \
  F(SCALARS, double, f64s, 9) \
  F(SUBS, LiteralProto, tuple_literals, 10) \
  F(TEXT, std::string, f16s, 11) \
  F(SCALARS, float, c64s, 12) \
  F(TEXT, std::string, bf16s, 13) \
  F(TEXT, std::string, s8s, 15) \
  F(TEXT, std::string, u16s, 16) \
  F(TEXT, std::string, s16s, 17) \
  F(SCALARS, double, c128s, 18) \
  F(TEXT, std::string, f8e5m2s, 19) \
  F(TEXT, std::string, f8e4m3fns, 20) \
  F(TEXT, std::string, s4s, 21) \
  F(TEXT, std::string, u4s, 22) \
  F(TEXT, std::string, f8e4m3b11fnuzs, 23) \
  F(TEXT, std::string, f8e5m2fnuzs, 24) \
  F(TEXT, std::string, f8e4m3fnuzs, 25) \
  F(TEXT, std::string, s2s, 26) \
  F(TEXT, std::string, u2s, 27) \
  F(TEXT, std::string, f8e4m3s, 28) \
  F(TEXT, std::string, f8e3m4s, 29) \
  F(TEXT, std::string, s1s, 30) \
  F(TEXT, std::string, u1s, 31) \
  F(TEXT, std::string, f4e2m1fns, 32) \
  F(TEXT, std::string, f8e8m0fnus, 33)
MESHWRIGHT_PROTO_MESSAGE(LiteralProto, LITERAL_PROTO_FIELDS)
#undef LITERAL_PROTO_FIELDS

#define WINDOW_DIMENSION_FIELDS(F) \
  F(SCALAR, int64_t, size, 1) \
  F(SCALAR, int64_t, stride, 2) \
  F(SCALAR, int64_t, padding_low, 3) \
  F(SCALAR, int64_t, padding_high, 4) \
  F(SCALAR, int64_t, window_dilation, 5) \
  F(SCALAR, int64_t, base_dilation, 6) \
  F(SCALAR, bool, window_reversal, 7)
MESHWRIGHT_PROTO_MESSAGE(WindowDimension, WINDOW_DIMENSION_FIELDS)
#undef WINDOW_DIMENSION_FIELDS

#define WINDOW_FIELDS(F) \
  F(SUBS, WindowDimension, dimensions, 1)
MESHWRIGHT_PROTO_MESSAGE(Window, WINDOW_FIELDS)
#undef WINDOW_FIELDS

#define GATHER_DIMENSION_NUMBERS_FIELDS(F) \
  F(SCALARS, int64_t, offset_dims, 1) \
  F(SCALARS, int64_t, collapsed_slice_dims, 2) \
  F(SCALARS, int64_t, start_index_map, 3) \
  F(SCALAR, int64_t, index_vector_dim, 4) \
  F(SCALARS, int64_t, operand_batching_dims, 5) \
  F(SCALARS, int64_t, start_indices_batching_dims, 6)
MESHWRIGHT_PROTO_MESSAGE(GatherDimensionNumbers, GATHER_DIMENSION_NUMBERS_FIELDS)
#undef GATHER_DIMENSION_NUMBERS_FIELDS

#define SCATTER_DIMENSION_NUMBERS_FIELDS(F) \
  F(SCALARS, int64_t, update_window_dims, 1) \
  F(SCALARS, int64_t, inserted_window_dims, 2) \
  F(SCALARS, int64_t, scatter_dims_to_operand_dims, 3) \
  F(SCALAR, int64_t, index_vector_dim, 4) \
  F(SCALARS, int64_t, input_batching_dims, 5) \
  F(SCALARS, int64_t, scatter_indices_batching_dims, 6)
MESHWRIGHT_PROTO_MESSAGE(ScatterDimensionNumbers, SCATTER_DIMENSION_NUMBERS_FIELDS)
#undef SCATTER_DIMENSION_NUMBERS_FIELDS

#define CONVOLUTION_DIMENSION_NUMBERS_FIELDS(F) \
  F(SCALAR, int64_t, kernel_input_feature_dimension, 3) \
  F(SCALAR, int64_t, kernel_output_feature_dimension, 4) \
  F(SCALARS, int64_t, kernel_spatial_dimensions, 6) \
  F(SCALAR, int64_t, input_batch_dimension, 7) \
  F(SCALAR, int64_t, input_feature_dimension, 8) \
  F(SCALAR, int64_t, output_batch_dimension, 9) \
  F(SCALAR, int64_t, output_feature_dimension, 10) \
  F(SCALARS, int64_t, input_spatial_dimensions, 11) \
  F(SCALARS, int64_t, output_spatial_dimensions, 12)
MESHWRIGHT_PROTO_MESSAGE(ConvolutionDimensionNumbers, CONVOLUTION_DIMENSION_NUMBERS_FIELDS)
#undef CONVOLUTION_DIMENSION_NUMBERS_FIELDS

#define DOT_DIMENSION_NUMBERS_FIELDS(F) \
  F(SCALARS, int64_t, lhs_contracting_dimensions, 1) \
  F(SCALARS, int64_t, rhs_contracting_dimensions, 2) \
  F(SCALARS, int64_t, lhs_batch_dimensions, 3) \
  F(SCALARS, int64_t, rhs_batch_dimensions, 4)
MESHWRIGHT_PROTO_MESSAGE(DotDimensionNumbers, DOT_DIMENSION_NUMBERS_FIELDS)
#undef DOT_DIMENSION_NUMBERS_FIELDS

#define RAGGED_DOT_DIMENSION_NUMBERS_FIELDS(F) \
  F(SUB, DotDimensionNumbers, dot_dimension_numbers, 1) \
  F(SCALARS, int64_t, lhs_ragged_dimensions, 2) \
  F(SCALARS, int64_t, rhs_group_dimensions, 3)
MESHWRIGHT_PROTO_MESSAGE(RaggedDotDimensionNumbers, RAGGED_DOT_DIMENSION_NUMBERS_FIELDS)
#undef RAGGED_DOT_DIMENSION_NUMBERS_FIELDS

#define TRIANGULAR_SOLVE_OPTIONS_FIELDS(F) \
  F(SCALAR, bool, left_side, 1) \
  F(SCALAR, bool, lower, 2) \
  F(SCALAR, bool, unit_diagonal, 3) \
  F(SCALAR, int32_t, transpose_a, 4)
MESHWRIGHT_PROTO_MESSAGE(TriangularSolveOptions, TRIANGULAR_SOLVE_OPTIONS_FIELDS)
#undef TRIANGULAR_SOLVE_OPTIONS_FIELDS

#define CHOLESKY_OPTIONS_FIELDS(F) \
  F(SCALAR, bool, lower, 1)
MESHWRIGHT_PROTO_MESSAGE(CholeskyOptions, CHOLESKY_OPTIONS_FIELDS)
#undef CHOLESKY_OPTIONS_FIELDS

#define ENTRY_FIELDS(F) \
  F(TEXT, std::string, key, 1) \
  F(TEXT, std::string, value, 2)
MESHWRIGHT_PROTO_MESSAGE(Entry, ENTRY_FIELDS)
#undef ENTRY_FIELDS

struct FrontendAttributesTypes {
  using Entry = proto::Entry;
};
#define FRONTEND_ATTRIBUTES_FIELDS(F) \
  F(SUBS, Entry, map, 1)
MESHWRIGHT_PROTO_MESSAGE(FrontendAttributes, FRONTEND_ATTRIBUTES_FIELDS, FrontendAttributesTypes)
#undef FRONTEND_ATTRIBUTES_FIELDS

#define MESH_AXIS_FIELDS(F) \
  F(TEXT, std::string, name, 1) \
  F(SCALAR, int64_t, size, 2)
MESHWRIGHT_PROTO_MESSAGE(MeshAxis, MESH_AXIS_FIELDS)
#undef MESH_AXIS_FIELDS

#define IOTA_DEVICE_IDS_FIELDS(F) \
  F(SCALARS, int64_t, reshape_dims, 1) \
  F(SCALARS, int32_t, transpose_perm, 2)
MESHWRIGHT_PROTO_MESSAGE(IotaDeviceIds, IOTA_DEVICE_IDS_FIELDS)
#undef IOTA_DEVICE_IDS_FIELDS

struct MeshProtoTypes {
  using MeshAxis = proto::MeshAxis;
  using IotaDeviceIds = proto::IotaDeviceIds;
};
#define MESH_PROTO_FIELDS(F) \
  F(SUBS, MeshAxis, axes, 1) \
  F(SCALARS, int64_t, device_ids, 2) \
  F(SUB, IotaDeviceIds, iota_device_ids, 3)
MESHWRIGHT_PROTO_MESSAGE(MeshProto, MESH_PROTO_FIELDS, MeshProtoTypes)
#undef MESH_PROTO_FIELDS

#define SUB_AXIS_FIELDS(F) \
  F(SCALAR, int64_t, pre_size, 1) \
  F(SCALAR, int64_t, size, 2)
MESHWRIGHT_PROTO_MESSAGE(SubAxis, SUB_AXIS_FIELDS)
#undef SUB_AXIS_FIELDS

struct AxisRefProtoTypes {
  using SubAxis = proto::SubAxis;
};
#define AXIS_REF_PROTO_FIELDS(F) \
  F(SCALAR, int64_t, mesh_axis_index, 1) \
  F(SUB, SubAxis, sub_axis_info, 2)
MESHWRIGHT_PROTO_MESSAGE(AxisRefProto, AXIS_REF_PROTO_FIELDS, AxisRefProtoTypes)
#undef AXIS_REF_PROTO_FIELDS

#define DIMENSION_SHARDING_FIELDS(F) \
  F(SUBS, AxisRefProto, axes, 1) \
  F(SCALAR, bool, is_closed, 2)
MESHWRIGHT_PROTO_MESSAGE(DimensionSharding, DIMENSION_SHARDING_FIELDS)
#undef DIMENSION_SHARDING_FIELDS

struct NamedShardingProtoTypes {
  using DimensionSharding = proto::DimensionSharding;
};
#define NAMED_SHARDING_PROTO_FIELDS(F) \
  F(SUBS, NamedShardingProto, tuple_shardings, 1) \
  F(SUB, MeshProto, mesh, 2) \
  F(SUBS, DimensionSharding, dim_shardings, 3) \
  F(SUBS, AxisRefProto, replicated_axes, 4) \
  F(SUBS, AxisRefProto, unreduced_axes, 5) \
  F(SUBS, AxisRefProto, manual_axes, 7)
MESHWRIGHT_PROTO_MESSAGE(NamedShardingProto, NAMED_SHARDING_PROTO_FIELDS, NamedShardingProtoTypes)
#undef NAMED_SHARDING_PROTO_FIELDS

struct OpShardingTypes {
  enum Type : int { REPLICATED = 0, MAXIMAL = 1, TUPLE = 2, OTHER = 3, MANUAL = 4, UNKNOWN = 5, UNREDUCED = 6 };
};
#define OP_SHARDING_FIELDS(F) \
  F(SCALAR, OpShardingTypes::Type, type, 1) \
  F(SCALARS, int64_t, tile_assignment_dimensions, 3) \
  F(SCALARS, int64_t, tile_assignment_devices, 4) \
  F(SUBS, OpSharding, tuple_shardings, 5) \
  F(SCALAR, bool, replicate_on_last_tile_dim, 6) \
  F(SCALARS, OpShardingTypes::Type, last_tile_dims, 8) \
  F(SCALARS, int64_t, iota_reshape_dims, 9) \
  F(SCALARS, int32_t, iota_transpose_perm, 10) \
  F(SCALAR, bool, is_shard_group, 11) \
  F(SCALAR, int64_t, shard_group_id, 12) \
  F(SCALAR, int32_t, shard_group_type, 13) /* 0: as, 1: like */ \
  F(SUB, NamedShardingProto, named_sharding, 14)
MESHWRIGHT_PROTO_MESSAGE(OpSharding, OP_SHARDING_FIELDS, OpShardingTypes)
#undef OP_SHARDING_FIELDS

#define REPLICA_GROUP_FIELDS(F) \
  F(SCALARS, int64_t, replica_ids, 1)
MESHWRIGHT_PROTO_MESSAGE(ReplicaGroup, REPLICA_GROUP_FIELDS)
#undef REPLICA_GROUP_FIELDS

#define IOTA_REPLICA_GROUP_LIST_PROTO_FIELDS(F) \
  F(SCALAR, int64_t, num_replica_groups, 1) \
  F(SCALAR, int64_t, num_devices_per_group, 2) \
  F(SCALARS, int64_t, iota_reshape_dims, 3) \
  F(SCALARS, int32_t, iota_transpose_perm, 4)
MESHWRIGHT_PROTO_MESSAGE(IotaReplicaGroupListProto, IOTA_REPLICA_GROUP_LIST_PROTO_FIELDS)
#undef IOTA_REPLICA_GROUP_LIST_PROTO_FIELDS

#define COLLECTIVE_DEVICE_LIST_PROTO_FIELDS(F) \
  F(SUBS, ReplicaGroup, replica_groups, 1) \
  F(SUB, IotaReplicaGroupListProto, iota_replica_group_list, 2) /* moved to a field of the instruction in 2025 */
MESHWRIGHT_PROTO_MESSAGE(CollectiveDeviceListProto, COLLECTIVE_DEVICE_LIST_PROTO_FIELDS)
#undef COLLECTIVE_DEVICE_LIST_PROTO_FIELDS

#define MESH_AXES_REPLICA_GROUP_LIST_PROTO_FIELDS(F) \
  F(SUB, MeshProto, mesh, 1) \
  F(SUBS, AxisRefProto, axes, 2)
MESHWRIGHT_PROTO_MESSAGE(MeshAxesReplicaGroupListProto, MESH_AXES_REPLICA_GROUP_LIST_PROTO_FIELDS)
#undef MESH_AXES_REPLICA_GROUP_LIST_PROTO_FIELDS

#define SOURCE_TARGET_FIELDS(F) \
  F(SCALAR, int64_t, source, 1) \
  F(SCALAR, int64_t, target, 2)
MESHWRIGHT_PROTO_MESSAGE(SourceTarget, SOURCE_TARGET_FIELDS)
#undef SOURCE_TARGET_FIELDS

#define TOLERANCE_FIELDS(F) \
  F(SCALAR, double, atol, 1) \
  F(SCALAR, double, rtol, 2) \
  F(SCALAR, int64_t, ulps, 3)
MESHWRIGHT_PROTO_MESSAGE(Tolerance, TOLERANCE_FIELDS)
#undef TOLERANCE_FIELDS

struct ResultAccuracyTypes {
  using Tolerance = proto::Tolerance;
};
#define RESULT_ACCURACY_FIELDS(F) \
  F(OPTIONAL, int32_t, mode, 1) \
  F(SUB, Tolerance, tolerance, 2)
MESHWRIGHT_PROTO_MESSAGE(ResultAccuracy, RESULT_ACCURACY_FIELDS, ResultAccuracyTypes)
#undef RESULT_ACCURACY_FIELDS

#define PRECISION_CONFIG_FIELDS(F) \
  F(SCALARS, int32_t, operand_precision, 1) \
  F(SCALAR, int32_t, algorithm, 2)
MESHWRIGHT_PROTO_MESSAGE(PrecisionConfig, PRECISION_CONFIG_FIELDS)
#undef PRECISION_CONFIG_FIELDS

#define PARAMETER_REPLICATION_FIELDS(F) \
  F(SCALARS, bool, replicated_at_leaf_buffers, 1)
MESHWRIGHT_PROTO_MESSAGE(ParameterReplication, PARAMETER_REPLICATION_FIELDS)
#undef PARAMETER_REPLICATION_FIELDS

#define OUTPUT_OPERAND_ALIASING_FIELDS(F) \
  F(SCALARS, int64_t, output_shape_index, 1) \
  F(SCALAR, int64_t, operand_index, 2) \
  F(SCALARS, int64_t, operand_shape_index, 3)
MESHWRIGHT_PROTO_MESSAGE(OutputOperandAliasing, OUTPUT_OPERAND_ALIASING_FIELDS)
#undef OUTPUT_OPERAND_ALIASING_FIELDS

// What only Module has is kept in fields from 30000 on, which XLA ignores, so that nothing is lost.
#define TEXT_ATTRIBUTE_FIELDS(F) \
  F(TEXT, std::string, name, 1) \
  F(TEXT, std::string, value, 2)
MESHWRIGHT_PROTO_MESSAGE(TextAttribute, TEXT_ATTRIBUTE_FIELDS)
#undef TEXT_ATTRIBUTE_FIELDS

#define SLICE_DIMENSIONS_FIELDS(F) \
  F(SCALAR, int64_t, start, 1) \
  F(SCALAR, int64_t, limit, 2) \
  F(SCALAR, int64_t, stride, 3)
MESHWRIGHT_PROTO_MESSAGE(SliceDimensions, SLICE_DIMENSIONS_FIELDS)
#undef SLICE_DIMENSIONS_FIELDS

struct HloInstructionProtoTypes {
  using SliceDimensions = proto::SliceDimensions;
};
#define HLO_INSTRUCTION_PROTO_FIELDS(F) \
  F(TEXT, std::string, name, 1) \
  F(TEXT, std::string, opcode, 2) \
  F(SUB, ShapeProto, shape, 3) \
  F(SUB, OpMetadata, metadata, 7) \
  F(SUB, LiteralProto, literal, 8) \
  F(SCALAR, int64_t, parameter_number, 9) \
  F(TEXT, std::string, fusion_kind, 11) \
  F(SCALAR, int64_t, tuple_index, 13) \
  F(SCALARS, int64_t, dimensions, 14) \
  F(SUB, Window, window, 15) \
  F(SUB, ConvolutionDimensionNumbers, convolution_dimension_numbers, 16) \
  F(SUBS, SliceDimensions, slice_dimensions, 17) \
  F(SCALAR, int32_t, exponent_bits, 18) \
  F(SCALAR, int32_t, mantissa_bits, 19) \
  F(SCALARS, int64_t, dynamic_slice_sizes, 20) \
  F(SUB, PaddingConfig, padding_config, 21) \
  F(TEXT, std::string, outfeed_config, 22) \
  F(SCALAR, int32_t, distribution, 23) \
  F(SCALAR, float, epsilon, 24) \
  F(SCALAR, int64_t, feature_index, 25) \
  F(SCALAR, int64_t, channel_id, 26) \
  F(TEXT, std::string, infeed_config, 27) \
  F(TEXT, std::string, custom_call_target, 28) \
  F(SUB, ShapeProto, outfeed_shape, 29) \
  F(SUB, DotDimensionNumbers, dot_dimension_numbers, 30) \
  F(SCALAR, int32_t, fft_type, 31) \
  F(SCALARS, int64_t, fft_length, 32) \
  F(SUB, GatherDimensionNumbers, gather_dimension_numbers, 33) \
  F(SCALARS, int64_t, gather_slice_sizes, 34) \
  F(SCALAR, int64_t, id, 35) \
  F(SCALARS, int64_t, operand_ids, 36) \
  F(SCALARS, int64_t, control_predecessor_ids, 37) \
  F(SCALARS, int64_t, called_computation_ids, 38) \
  F(SUB, OpSharding, sharding, 40) \
  F(TEXT, std::string, backend_config, 43) \
  F(SCALAR, int64_t, all_reduce_id, 45) /* what channel_id was called */ \
  F(SCALAR, bool, is_host_transfer, 47) \
  F(SUB, ScatterDimensionNumbers, scatter_dimension_numbers, 48) \
  F(SUBS, ReplicaGroup, replica_groups, 49) /* before collective_device_list */ \
  F(SCALAR, int64_t, feature_group_count, 50) \
  F(SUB, PrecisionConfig, precision_config, 51) \
  F(SUBS, SourceTarget, source_target_pairs, 52) \
  F(SUB, OpSharding, domain_entry_sharding, 54) \
  F(SUB, OpSharding, domain_exit_sharding, 55) \
  F(SCALAR, bool, constrain_layout, 56) \
  F(SUBS, ShapeProto, operand_shapes_with_layout, 57) \
  F(SCALAR, int64_t, batch_group_count, 58) \
  F(SUB, TriangularSolveOptions, triangular_solve_options, 59) \
  F(SCALAR, bool, is_stable, 60) \
  F(SUB, ParameterReplication, parameter_replication, 61) \
  F(SUB, CholeskyOptions, cholesky_options, 62) \
  F(TEXT, std::string, comparison_direction, 63) \
  F(SCALAR, bool, custom_call_has_side_effect, 65) \
  F(SCALAR, int64_t, delta, 66) \
  F(SCALAR, bool, indices_are_sorted, 67) \
  F(SUB, FrontendAttributes, frontend_attributes, 68) \
  F(SCALAR, bool, unique_indices, 69) \
  F(SCALAR, int32_t, rng_algorithm, 70) \
  F(SCALAR, bool, use_global_device_ids, 71) \
  F(TEXT, std::string, comparison_type, 72) \
  F(SUBS, OutputOperandAliasing, output_operand_aliasing, 74) \
  F(SCALAR, int32_t, padding_type, 75) \
  F(SCALAR, int32_t, custom_call_schedule, 76) \
  F(SCALAR, int32_t, custom_call_api_version, 77) \
  F(TEXT, std::string, async_execution_thread, 79) \
  F(OPTIONAL, int32_t, cross_program_prefetch_index, 80) \
  F(SCALAR, int64_t, k, 81) \
  F(SCALAR, bool, largest, 85) \
  F(SUB, CollectiveDeviceListProto, collective_device_list, 87) \
  F(SCALAR, bool, is_composite, 89) \
  F(SUB, RaggedDotDimensionNumbers, ragged_dot_dimension_numbers, 90) \
  F(SUB, ResultAccuracy, result_accuracy, 91) \
  F(SUB, IotaReplicaGroupListProto, iota_collective_device_list, 92) \
  F(SUB, MeshAxesReplicaGroupListProto, mesh_axes_replica_group_list, 93) \
  F(SUBS, TextAttribute, text_attributes, 30000) /* all of Instruction::other, where fields fall short */ \
  F(TEXT, std::string, text_sharding, 30001) /* likewise Instruction::sharding */ \
  F(TEXT, std::string, async_name, 30002) /* Instruction::async_name */ \
  F(SUBS, TextAttribute, text_metadata, 30003) /* Metadata::other */
MESHWRIGHT_PROTO_MESSAGE(HloInstructionProto, HLO_INSTRUCTION_PROTO_FIELDS, HloInstructionProtoTypes)
#undef HLO_INSTRUCTION_PROTO_FIELDS

#define HLO_COMPUTATION_PROTO_FIELDS(F) \
  F(TEXT, std::string, name, 1) \
  F(SUBS, HloInstructionProto, instructions, 2) \
  F(SUB, ProgramShapeProto, program_shape, 4) \
  F(SCALAR, int64_t, id, 5) \
  F(SCALAR, int64_t, root_id, 6) \
  F(SCALAR, bool, is_fusion_computation, 7) \
  F(TEXT, std::string, execution_thread, 8)
MESHWRIGHT_PROTO_MESSAGE(HloComputationProto, HLO_COMPUTATION_PROTO_FIELDS)
#undef HLO_COMPUTATION_PROTO_FIELDS

#define INSTRUCTION_SEQUENCE_FIELDS(F) \
  F(SCALARS, int64_t, instruction_ids, 1)
MESHWRIGHT_PROTO_MESSAGE(InstructionSequence, INSTRUCTION_SEQUENCE_FIELDS)
#undef INSTRUCTION_SEQUENCE_FIELDS

struct HloScheduleProtoTypes {
  using InstructionSequence = proto::InstructionSequence;
};
#define HLO_SCHEDULE_PROTO_FIELDS(F) \
  F(MAP, InstructionSequence, sequences, 1)
MESHWRIGHT_PROTO_MESSAGE(HloScheduleProto, HLO_SCHEDULE_PROTO_FIELDS, HloScheduleProtoTypes)
#undef HLO_SCHEDULE_PROTO_FIELDS

#define ALIAS_ENTRY_PROTO_FIELDS(F) \
  F(SCALARS, int64_t, output_shape_index, 1) \
  F(SCALAR, int64_t, parameter_number, 2) \
  F(SCALARS, int64_t, parameter_shape_index, 3) \
  F(SCALAR, int32_t, kind, 4) /* 1: may, 2: must */
MESHWRIGHT_PROTO_MESSAGE(AliasEntryProto, ALIAS_ENTRY_PROTO_FIELDS)
#undef ALIAS_ENTRY_PROTO_FIELDS

struct HloInputOutputAliasProtoTypes {
  using AliasEntryProto = proto::AliasEntryProto;
};
#define HLO_INPUT_OUTPUT_ALIAS_PROTO_FIELDS(F) \
  F(SUBS, AliasEntryProto, entries, 1)
MESHWRIGHT_PROTO_MESSAGE(HloInputOutputAliasProto, HLO_INPUT_OUTPUT_ALIAS_PROTO_FIELDS, HloInputOutputAliasProtoTypes)
#undef HLO_INPUT_OUTPUT_ALIAS_PROTO_FIELDS

#define BUFFER_DONOR_ENTRY_PROTO_FIELDS(F) \
  F(SCALAR, int64_t, parameter_number, 1) \
  F(SCALARS, int64_t, parameter_shape_index, 2)
MESHWRIGHT_PROTO_MESSAGE(BufferDonorEntryProto, BUFFER_DONOR_ENTRY_PROTO_FIELDS)
#undef BUFFER_DONOR_ENTRY_PROTO_FIELDS

struct HloBufferDonorProtoTypes {
  using BufferDonorEntryProto = proto::BufferDonorEntryProto;
};
#define HLO_BUFFER_DONOR_PROTO_FIELDS(F) \
  F(SUBS, BufferDonorEntryProto, entries, 1)
MESHWRIGHT_PROTO_MESSAGE(HloBufferDonorProto, HLO_BUFFER_DONOR_PROTO_FIELDS, HloBufferDonorProtoTypes)
#undef HLO_BUFFER_DONOR_PROTO_FIELDS

#define FILE_LOCATION_FIELDS(F) \
  F(SCALAR, int32_t, file_name_id, 1) \
  F(SCALAR, int32_t, function_name_id, 2) \
  F(SCALAR, int32_t, line, 3) \
  F(SCALAR, int32_t, column, 4) \
  F(SCALAR, int32_t, end_line, 5) \
  F(SCALAR, int32_t, end_column, 6)
MESHWRIGHT_PROTO_MESSAGE(FileLocation, FILE_LOCATION_FIELDS)
#undef FILE_LOCATION_FIELDS

#define STACK_FRAME_FIELDS(F) \
  F(SCALAR, int32_t, file_location_id, 1) \
  F(SCALAR, int32_t, parent_frame_id, 2)
MESHWRIGHT_PROTO_MESSAGE(StackFrame, STACK_FRAME_FIELDS)
#undef STACK_FRAME_FIELDS

struct StackFrameIndexProtoTypes {
  using FileLocation = proto::FileLocation;
  using StackFrame = proto::StackFrame;
};
#define STACK_FRAME_INDEX_PROTO_FIELDS(F) \
  F(TEXTS, std::string, file_names, 1) \
  F(TEXTS, std::string, function_names, 2) \
  F(SUBS, FileLocation, file_locations, 3) \
  F(SUBS, StackFrame, stack_frames, 4)
MESHWRIGHT_PROTO_MESSAGE(StackFrameIndexProto, STACK_FRAME_INDEX_PROTO_FIELDS, StackFrameIndexProtoTypes)
#undef STACK_FRAME_INDEX_PROTO_FIELDS

#define DEVICE_ASSIGNMENT_PROTO_FIELDS(F) \
  F(SCALAR, int32_t, replica_count, 1) \
  F(SCALAR, int32_t, computation_count, 2)
MESHWRIGHT_PROTO_MESSAGE(DeviceAssignmentProto, DEVICE_ASSIGNMENT_PROTO_FIELDS)
#undef DEVICE_ASSIGNMENT_PROTO_FIELDS

#define HLO_MODULE_PROTO_FIELDS(F) \
  F(TEXT, std::string, name, 1) \
  F(TEXT, std::string, entry_computation_name, 2) \
  F(SUBS, HloComputationProto, computations, 3) \
  F(SUB, ProgramShapeProto, host_program_shape, 4) \
  F(SCALAR, int64_t, id, 5) \
  F(SCALAR, int64_t, entry_computation_id, 6) \
  F(SUB, HloScheduleProto, schedule, 7) \
  F(SUB, HloInputOutputAliasProto, input_output_alias, 8) \
  F(SUB, DeviceAssignmentProto, device_assignment, 15) /* of compiled modules */ \
  F(SUB, StackFrameIndexProto, stack_frame_index, 17) \
  F(SUB, HloBufferDonorProto, buffer_donor, 18) \
  F(SUB, FrontendAttributes, frontend_attributes, 19) \
  F(SUBS, TextAttribute, text_attributes, 30000) /* all of Module::other, where fields fall short */ \
  F(SCALAR, bool, no_entry_layout, 30001) /* host_program_shape is made up: Module has no entry layouts */
MESHWRIGHT_PROTO_MESSAGE(HloModuleProto, HLO_MODULE_PROTO_FIELDS)
#undef HLO_MODULE_PROTO_FIELDS

#define HLO_PROTO_FIELDS(F) \
  F(SUB, HloModuleProto, hlo_module, 1)
MESHWRIGHT_PROTO_MESSAGE(HloProto, HLO_PROTO_FIELDS)
#undef HLO_PROTO_FIELDS

}  // namespace meshwright::proto

// clang-format on

#endif  // MESHWRIGHT_HLO_PROTO_HLO_PROTO_H_
