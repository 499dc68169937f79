#ifndef MESHWRIGHT_HLO_PROTO_READER_H_
#define MESHWRIGHT_HLO_PROTO_READER_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "meshwright/hlo/module.h"

namespace meshwright {

// Reads a serialized HloModuleProto, or an HloProto (what `--xla_dump_hlo_as_proto` writes),
// HloSnapshot or HloUnoptimizedSnapshot (`--xla_dump_hlo_snapshots`,
// `--xla_dump_hlo_unoptimized_snapshots`) with one. The module is the one ParseHloText reads from
// XLA's text of the same program, but for what text leaves out (the data of large constants, the
// computations of `X-start` sugar) and what the proto leaves out (replica_count and num_partitions
// before compilation, other compile options). Instructions are in the order stored, in scheduled
// modules in that of the schedule. The result is verified (verifier.h). Errors: one line, `file:
// computation "c": instruction "i": what was found`.
absl::StatusOr<Module> ParseHloProto(std::string_view bytes, std::string_view file_name);

}  // namespace meshwright

#endif  // MESHWRIGHT_HLO_PROTO_READER_H_
