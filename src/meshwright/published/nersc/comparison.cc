#include "meshwright/published/nersc/comparison.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_format.h"
#include "meshwright/base/strings.h"

namespace meshwright::transformer::nersc {
namespace {

constexpr size_t kMostDifferences = 5;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double Deviation(double recorded, double found) {
  if (recorded == found) return 0;
  if (!std::isfinite(found) || recorded == 0) return kInfinity;
  return std::abs(found - recorded) / std::max(std::abs(found), std::abs(recorded));
}

struct SideKeys {
  const char* tflop;
  const char* comm;
  const char* comm_type;
  const char* seconds;
  const char* comm_seconds;
  const char* compute;
  const char* exposed_memory;
  const char* intensity;
};
constexpr SideKeys kForward = {"flops_fwd",  "comm_fwd",   "comm_fwd_type", "t_fwd",
                               "t_fwd_comm", "t_fwd_comp", "t_fwd_mem",     "intensity_fwd"};
constexpr SideKeys kBackward = {"flops_bwd",  "comm_bwd",   "comm_bwd_type", "t_bwd",
                                "t_bwd_comm", "t_bwd_comp", "t_bwd_mem",     "intensity_bwd"};

// One transfer is written as itself, several as lists, none as 0 of type "none".
void CompareTransfers(const JsonValue& row, const SideKeys& keys, const Transfers& transfers,
                      Comparison* comparison) {
  if (transfers.size() <= 1) {
    const bool none = transfers.size() == 0;
    comparison->Number(row, keys.comm, none ? 0 : transfers[0].gb);
    comparison->Text(row, keys.comm_type, none ? "none" : CollectiveName(transfers[0].collective));
    return;
  }
  const std::vector<JsonValue> volumes =
      row.At(keys.comm).Elements(transfers.size(), "one a transfer");
  const std::vector<JsonValue> types =
      row.At(keys.comm_type).Elements(transfers.size(), "one a transfer");
  for (size_t i = 0; i < transfers.size() && row.ok(); ++i) {
    comparison->Numbers(keys.comm, volumes[i].Number(), transfers[i].gb);
    comparison->Texts(keys.comm_type, types[i].Text(), CollectiveName(transfers[i].collective));
  }
}

void CompareSide(const JsonValue& row, const SideKeys& keys, const TableRow::Side& side,
                 Comparison* comparison) {
  comparison->Number(row, keys.tflop, side.tflop);
  CompareTransfers(row, keys, side.transfers, comparison);
  comparison->Number(row, keys.seconds, side.time.seconds);
  comparison->Number(row, keys.comm_seconds, side.time.comm);
  comparison->Number(row, keys.compute, side.time.compute);
  comparison->Number(row, keys.exposed_memory, side.time.exposed_memory);
  comparison->Number(row, keys.intensity, side.time.intensity);
}

}  // namespace

void Comparison::Differs(std::string_view what, std::string_view recorded, std::string_view found) {
  ++differ_;
  if (differences_.size() < kMostDifferences) {
    differences_.push_back(StrCat(where_, " ", what, ": recorded ", recorded, ", found ", found));
  }
}

void Comparison::Numbers(std::string_view what, double recorded, double found) {
  ++figures_;
  const double deviation = Deviation(recorded, found);
  largest_ = std::max(largest_, deviation);
  if (deviation <= tolerance_) return;
  Differs(what, absl::StrFormat("%.15g", recorded), absl::StrFormat("%.15g", found));
}

void Comparison::Number(const JsonValue& record, const char* key, double found) {
  const double recorded = record.At(key).Number();
  if (record.ok()) Numbers(key, recorded, found);
}

void Comparison::Count(const JsonValue& record, const char* key, int64_t found) {
  const int64_t recorded = record.At(key).Integer(0, int64_t{1} << 53);
  if (!record.ok()) return;
  ++figures_;
  if (recorded == found) return;
  largest_ =
      std::max(largest_, Deviation(static_cast<double>(recorded), static_cast<double>(found)));
  Differs(key, StrCat(recorded), StrCat(found));
}

void Comparison::Flag(const JsonValue& record, const char* key, bool found) {
  const bool recorded = record.At(key).Boolean();
  if (record.ok()) Texts(key, recorded ? "true" : "false", found ? "true" : "false");
}

void Comparison::Texts(std::string_view what, std::string_view recorded, std::string_view found) {
  ++figures_;
  if (recorded == found) return;
  largest_ = kInfinity;
  Differs(what, recorded, found);
}

void Comparison::Text(const JsonValue& record, const char* key, std::string_view found) {
  const std::string recorded = record.At(key).Text();
  if (record.ok()) Texts(key, recorded, found);
}

std::vector<TableRow> MakeRows(const System& system, const std::vector<Operator>& module,
                               const Groups& groups) {
  std::vector<TableRow> rows;
  rows.reserve(module.size());
  for (const Operator& op : module) {
    const OperatorTime time = TimeOperator(system, op, groups);
    rows.push_back({.name = op.name,
                    .weights_gb = op.weights_gb,
                    .activation_gb = op.activation_gb,
                    .forward = {op.forward.tflop, op.forward.transfers, time.forward},
                    .backward = {op.backward.tflop, op.backward.transfers, time.backward}});
  }
  return rows;
}

void CompareRows(const JsonValue& recorded, const std::vector<TableRow>& found,
                 Comparison* comparison) {
  const std::vector<JsonValue> rows = recorded.Elements(found.size(), "one an operator");
  for (size_t i = 0; i < found.size() && recorded.ok(); ++i) {
    const TableRow& row = found[i];
    comparison->Text(rows[i], "name", row.name);
    comparison->Number(rows[i], "weights_mem", row.weights_gb);
    comparison->Number(rows[i], "weights_grad_mem", row.weights_gb);
    comparison->Number(rows[i], "activation_buffer", row.activation_gb);
    CompareSide(rows[i], kForward, row.forward, comparison);
    CompareSide(rows[i], kBackward, row.backward, comparison);
    comparison->Number(rows[i], "t", row.forward.time.seconds + row.backward.time.seconds);
  }
}

}  // namespace meshwright::transformer::nersc
