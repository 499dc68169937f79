#ifndef MESHWRIGHT_PUBLISHED_NERSC_COMPARISON_H_
#define MESHWRIGHT_PUBLISHED_NERSC_COMPARISON_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "meshwright/base/json_value.h"
#include "meshwright/published/nersc/operator.h"

// Recorded figures beside ours.

namespace meshwright::transformer::nersc {

class Comparison {
 public:
  // Numbers agree if |found - recorded| is at most `tolerance` times the larger magnitude.
  explicit Comparison(double tolerance) : tolerance_(tolerance) {}

  // Names the record that is compared from now on, in `differences`.
  void Enter(std::string where) { where_ = std::move(where); }

  // The member `key` of `record`, an error of it if there is none, beside `found`.
  void Number(const JsonValue& record, const char* key, double found);
  void Count(const JsonValue& record, const char* key, int64_t found);  // exact
  void Flag(const JsonValue& record, const char* key, bool found);
  void Text(const JsonValue& record, const char* key, std::string_view found);
  // What has no key of its own.
  void Numbers(std::string_view what, double recorded, double found);
  void Texts(std::string_view what, std::string_view recorded, std::string_view found);

  int64_t figures() const { return figures_; }
  int64_t differ() const { return differ_; }
  double largest_deviation() const { return largest_; }  // relative; infinite of 0 from another
  const std::vector<std::string>& differences() const { return differences_; }  // the first few

 private:
  void Differs(std::string_view what, std::string_view recorded, std::string_view found);

  double tolerance_;
  std::string where_;
  int64_t figures_ = 0, differ_ = 0;
  double largest_ = 0;
  std::vector<std::string> differences_;
};

// A row of the published tables of a module.
struct TableRow {
  std::string_view name;
  double weights_gb = 0, activation_gb = 0;
  struct Side {
    double tflop = 0;
    Transfers transfers = {};
    PassTime time = {};
  };
  Side forward = {}, backward = {};
};
std::vector<TableRow> MakeRows(const System& system, const std::vector<Operator>& module,
                               const Groups& groups);
void CompareRows(const JsonValue& recorded, const std::vector<TableRow>& found,
                 Comparison* comparison);

}  // namespace meshwright::transformer::nersc

#endif  // MESHWRIGHT_PUBLISHED_NERSC_COMPARISON_H_
