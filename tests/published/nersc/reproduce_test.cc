// Recorded results of the published code: a few records in tests/data, all of them where they lie
// beside the checkout.

#include "meshwright/published/nersc/reproduce.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "meshwright/base/file.h"
#include "meshwright/published/nersc/json.h"

namespace meshwright::transformer::nersc {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string Data(const std::string& name) {
  return *ReadFile(std::string(MESHWRIGHT_TEST_DATA "/transformer/nersc_") + name);
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

using Replacements = std::vector<std::pair<std::string, std::string>>;

// Replaces the first of each, which has to be there.
std::string Replaced(std::string text, const Replacements& replacements) {
  for (const auto& [from, to] : replacements) {
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) text.replace(at, from.size(), to);
  }
  return text;
}

std::string Error(const std::string& text) {
  return std::string(ReproduceText(text, "f").status().message());
}

void ExpectReproduced(const std::string& path, double tolerance) {
  const auto report = ReproduceFile(path);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->differ, 0) << path;
  EXPECT_THAT(report->differences, ElementsAre());
  EXPECT_GT(report->records, 0);
  EXPECT_GT(report->figures, 0);
  EXPECT_LE(report->largest_deviation, tolerance);
}

TEST(NerscReproduceTest, AFewRecordsOfEachKind) {
  const struct {
    const char* name;
    const char* kind;
    int64_t records;
  } files[] = {{"collectives.json", "collectives", 17},
               {"points.jsonl", "points", 6},
               {"searches.jsonl", "searches", 2},
               {"op_variants.json", "op variants", 2}};
  for (const auto& file : files) {
    const std::string path = std::string(MESHWRIGHT_TEST_DATA "/transformer/nersc_") + file.name;
    ExpectReproduced(path, 1e-12);
    const auto report = ReproduceFile(path);
    EXPECT_EQ(report->kind, file.kind);
    EXPECT_EQ(report->records, file.records);
  }
}

TEST(NerscReproduceTest, AllSharedRecords) {
  const std::string folder = MESHWRIGHT_SHARED "/peers/nersc";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no " << folder;
  ExpectReproduced(folder + "/collectives.json", 1e-12);
  ExpectReproduced(folder + "/op_variants.json", 1e-9);
  ExpectReproduced(folder + "/points.jsonl.gz", 1e-9);
  ExpectReproduced(folder + "/searches.jsonl.gz", 1e-9);
}

// What decides whether a configuration is feasible agrees to the last bit.
TEST(NerscReproduceTest, MemoryIsExact) {
  const std::string text = Data("points.jsonl");
  int points = 0;
  for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
    const InputJson json = *ParseInputJson(FirstLine(text.substr(begin)), "f");
    absl::Status status;
    const JsonValue record(json, &status);
    const Strategy strategy = ReadStrategy(record.At("strategy"));
    for (const JsonValue& point : record.At("points").Elements()) {
      const Config config = ReadConfig(point.At("config"), point.At("config"), strategy);
      const auto found = Evaluate(ReadModel(record.At("model")), ReadSystem(record.At("system")),
                                  strategy, config, ReadSize(record.At("global_batch_size")));
      ASSERT_TRUE(found.ok()) << found.status();
      const JsonValue stats = point.At("stats");
      EXPECT_EQ(found->stats.memory_gb, stats.At("mem").Number());
      EXPECT_EQ(found->stats.weights_gb, stats.At("wts_mem").Number());
      EXPECT_EQ(found->stats.optimizer_gb, stats.At("wts_optimizer_states_mem").Number());
      EXPECT_EQ(found->stats.activations_gb, stats.At("acts_mem").Number());
      ++points;
    }
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_EQ(points, 6);
}

TEST(NerscReproduceTest, RecordsMayComeAloneInListsOrOneALine) {
  const std::string line = FirstLine(Data("searches.jsonl"));
  EXPECT_EQ(ReproduceText(line, "f")->records, 1);
  EXPECT_EQ(ReproduceText("\n" + line + "\n\n \r\n" + line, "f")->records, 2);
  EXPECT_EQ(ReproduceText("[" + line + ",\n" + line + "]", "f")->records, 2);
  const std::string spread = absl::StrReplaceAll(line, {{", ", ",\n  "}, {"{", "{\n"}});
  EXPECT_EQ(ReproduceText(spread, "f")->records, 1);
}

TEST(NerscReproduceTest, DifferencesSayWhere) {
  const auto differences = [](const std::string& text) {
    const auto report = ReproduceText(text, "f");
    EXPECT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->differ, static_cast<int64_t>(report->differences.size()));
    return report->differences;
  };
  const std::string search = FirstLine(Data("searches.jsonl"));
  EXPECT_THAT(differences(Replaced(search, {{"\"n_candidates\": 780", "\"n_candidates\": 781"}})),
              ElementsAre("1d_gpt3_A100-NVS4_n16384_b4096 n_candidates: recorded 781, found 780"));
  EXPECT_THAT(differences(Replaced(search, {{"\"hbm_capacity\": 80", "\"hbm_capacity\": 40"}})),
              testing::Not(ElementsAre()));
  EXPECT_THAT(differences(Replaced(search, {{"\"rank\": 1", "\"rank\": 7"}})),
              ElementsAre(HasSubstr("rank 1 rank: recorded 7, found 1")));
  const auto with_ties = [&](const char* count) {
    return Replaced(search, {{"\"n_feasible\"",
                              std::string("\"n_tied_with_10th\": ") + count + ", \"n_feasible\""}});
  };
  EXPECT_THAT(differences(with_ties("1")), IsEmpty());
  EXPECT_THAT(differences(with_ties("2")),
              ElementsAre(HasSubstr("n_tied_with_10th: recorded 2, found 1")));
  const std::string searches = Data("searches.jsonl");
  const std::string grids = FirstLine(searches.substr(searches.find('\n') + 1));
  EXPECT_THAT(differences(Replaced(grids, {{"\"tp\": 2", "\"tp\": 16"}})),
              ElementsAre(HasSubstr("rank 0 tp: recorded 16, found 2")));
  const std::string points = FirstLine(Data("points.jsonl"));
  EXPECT_THAT(differences(Replaced(points, {{"\"reducescatter\"", "\"allgather\""}})),
              ElementsAre(HasSubstr("comm_fwd_type: recorded allgather, found reducescatter")));
  // A difference of 1e-11: too much for a collective.
  EXPECT_THAT(differences(R"({"system": "A100", "nvs": 4, "type": "broadcast", "n_gpus": 4,
                              "topology": 1, "vol_GB": 17.5, "t": 1.00001500001})"),
              ElementsAre("record t: recorded 1.00001500001, found 1.000015"));
}

// A deviation is of the larger of the two; nothing is near 0 but 0.
TEST(NerscReproduceTest, Deviations) {
  const auto deviation = [](const std::string& gb, const std::string& t) {
    return ReproduceText(R"({"system": "A100", "nvs": 4, "type": "p2p", "n_gpus": 2,
                             "topology": 1, "vol_GB": )" +
                             gb + ", \"t\": " + t + "}",
                         "f")
        ->largest_deviation;
  };
  EXPECT_EQ(deviation("0", "0"), 0);
  EXPECT_EQ(deviation("0", "1"), 1);
  EXPECT_EQ(deviation("1", "0"), std::numeric_limits<double>::infinity());
}

TEST(NerscReproduceTest, OtherInputsThanTheRecordedSystems) {
  const auto report = ReproduceText(
      R"([{"system": {"matrix_flops_fp16": 1, "vector_flops_fp16": 1, "hbm_bandwidth": 1,
           "hbm_capacity": 1, "nvlink_bandwidth": 8, "nvlink_eff": 0.5, "nvlink_latency": 0.25,
           "ib_bandwidth": 1, "ib_eff": 1, "ib_latency": 1, "nvlink_size": 4, "nic_factor": 1,
           "summa_nb": 4, "empirical": false, "element_size": 2e-9, "mask_element_size": 1e-9,
           "flops_units": 1e-12}, "nvs": 2, "type": "p2p", "n_gpus": 2, "topology": 2,
           "vol_GB": 4, "t": 1.25}])",
      "f");
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->differ, 0);
}

// What a variant's text leaves out is found in its table.
TEST(NerscReproduceTest, VariantsSayTheirInputsOrNot) {
  const std::string text = Data("op_variants.json");
  const auto differ = [&](const Replacements& replacements) {
    const auto report = ReproduceText(Replaced(text, replacements), "f");
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? report->differ : -1;
  };
  const std::string first = "sa_1d flash=False recompute=True";
  const std::string second = "sa_2d (LogitsSumma/AttendSumma/Softmax2D) m1=4 m2=2";
  EXPECT_EQ(differ({{first, first + " m=8 b=1 t=8"}}), 0);
  EXPECT_EQ(differ({{second, "sa_2d m2=2 m1=4 t1=4 t2=2 nb=4"}}), 0);
  EXPECT_GT(differ({{first, first + " t=4"}}), 0);
  EXPECT_GT(differ({{second, "sa_2d m1=4 m2=2 nb=8"}}), 0);
  EXPECT_GT(differ({{second, "sa_2d m1=2 m2=4"}}), 0);
}

TEST(NerscReproduceTest, FilesOfNoRecords) {
  EXPECT_EQ(Error(""),
            "f: not valid JSON, at $: parse error at line 1, column 1: syntax error while parsing "
            "value - unexpected end of input; expected '[', '{', or a literal");
  EXPECT_EQ(Error("[]"), "f: holds no record");
  EXPECT_THAT(Error("{}"), StartsWith("f: $: found no record: collectives have a member"));
  EXPECT_THAT(Error("[1]"), StartsWith("f: $[0]: found no record"));
  EXPECT_THAT(Error("[[]]"), StartsWith("f: $[0]: found no record"));
  EXPECT_THAT(Error(std::string("\x1f\x8b\x08", 3)), StartsWith("f: "));
  const std::string line = FirstLine(Data("searches.jsonl"));
  EXPECT_THAT(Error(line.substr(0, 1000)),
              StartsWith("f: not valid JSON, at $.top[0].stats.t_comp: parse error at line 1"));
  EXPECT_THAT(Error(line + "\n" + line.substr(0, 1000)), StartsWith("f:2: not valid JSON, at "));
  EXPECT_THAT(Error(line + "\n" + FirstLine(Data("points.jsonl"))),
              StartsWith("f:2: $: found points after searches"));
}

TEST(NerscReproduceTest, MalformedSearches) {
  const std::string line = FirstLine(Data("searches.jsonl"));
  const auto error = [&](const Replacements& replacements) {
    return Error(Replaced(line, replacements));
  };
  EXPECT_EQ(error({{"\"strategy\": \"1d\"", "\"strategy\": \"3d\""}}),
            "f: $.case.strategy: unknown strategy \"3d\"; valid are 1d, 2d, 2d-seqp");
  EXPECT_EQ(error({{"\"n_gpus\": 16384", "\"n_gpus\": 0"}}),
            "f: $.case.n_gpus: found 0, expected an integer from 1 to 1073741824");
  EXPECT_EQ(error({{"\"n_gpus\": 16384", "\"n_gpus\": -1e300"}}),
            "f: $.case.n_gpus: found -1e+300, expected at most 1e+30 in magnitude");
  EXPECT_EQ(error({{"\"n_gpus\": 16384", "\"n_gpus\": 12.5"}}),
            "f: $.case.n_gpus: found 12.5, expected an integer from 1 to 1073741824");
  EXPECT_EQ(error({{"\"n_gpus\"", "\"gpus\""}}), "f: $.case: has no \"n_gpus\"");
  EXPECT_EQ(error({{"\"l\": 2048", "\"l\": \"2048\""}}),
            "f: $.case.model.l: found \"2048\", expected an integer from 1 to 1073741824");
  EXPECT_EQ(
      error({{"\"h\": 96", "\"h\": 20000"}}),
      "f: $.case.model: the number of heads (h) is 20000, expected an integer from 1 to 12288");
  EXPECT_EQ(error({{"\"hbm_bandwidth\": 1555", "\"hbm_bandwidth\": -1"}}),
            "f: $.case.system: hbm_bandwidth is -1, expected a number from 1e-15 to 1e+15");
  EXPECT_THAT(error({{"\"empirical\": false", "\"empirical\": true"}}),
              StartsWith("f: $.case.system.empirical: the measured times"));
  EXPECT_EQ(error({{", \"nvlink_size\": 4}, \"n_candidates\"",
                    ", \"nvlink_size\": 8}, \"n_candidates\""}}),
            "f: $.case.nvlink_size: found 8, the system has 4");
  EXPECT_EQ(error({{"\"sum_mem_all_feasible\"", "\"sum\""}}),
            "f: $: has no \"sum_mem_all_feasible\"");
  EXPECT_EQ(error({{"\"t_bubble\"", "\"bubble\""}}), "f: $.top[0].stats: has no \"t_bubble\"");
  EXPECT_EQ(error({{"\"nv_pp\"", "\"nv\""}}), "f: $.top[0].stats: has no \"nv_pp\"");
  EXPECT_THAT(error({{"\"mbs\": 1}", "\"mbs\": 3}"}}),
              StartsWith("f: $.top[0].config: mbs is 3, which does not divide"));
  EXPECT_THAT(error({{"\"n_gpus\": 16384", "\"n_gpus\": 8192"}}),
              StartsWith("f: $.top[0].config: has 16384 GPUs, the case has 8192"));
  EXPECT_EQ(error({{"\"top\": [", "\"top\": 5, \"best\": ["}}),
            "f: $.top: found a number, expected a list");
}

TEST(NerscReproduceTest, MalformedPoints) {
  const std::string line = FirstLine(Data("points.jsonl"));
  const auto error = [&](const Replacements& replacements) {
    return Error(Replaced(line, replacements));
  };
  EXPECT_EQ(error({{"\"tp\":", "\"tp1\":"}}), "f: $.points[0].config: has no \"tp\"");
  EXPECT_THAT(error({{"\"nv_tp\": ", "\"nv_tp\": 7"}}), StartsWith("f: $.points[0].config: nv_tp"));
  EXPECT_EQ(error({{"\"feasible\": ", "\"feasible\": 1, \"was\": "}}),
            "f: $.points[0].feasible: found a number, expected a boolean");
  EXPECT_EQ(error({{"\"weights_mem\"", "\"weights\""}}),
            "f: $.points[0].mlp[0]: has no \"weights_mem\"");
  EXPECT_EQ(error({{"\"mlp\": [", "\"mlp\": [{}, "}}),
            "f: $.points[0].mlp: has 9 elements, expected 8 (one an operator)");
  EXPECT_THAT(error({{"\"comm_fwd\": 0.0", "\"comm_fwd\": [1, 2]"}}),
              HasSubstr("comm_fwd: found a list, expected a number"));
  EXPECT_EQ(error({{"\"points\": [", "\"points\": [null, "}}),
            "f: $.points[0]: found null, expected an object");
}

TEST(NerscReproduceTest, MalformedCollectives) {
  const std::string text = R"({"system": "A100", "nvs": 4, "type": "p2p", "n_gpus": 2,
                               "topology": 1, "vol_GB": 1, "t": 1})";
  const auto error = [&](const Replacements& replacements) {
    return Error(Replaced(text, replacements));
  };
  EXPECT_THAT(error({{"A100", "A10"}}),
              AllOf(StartsWith("f: $.system: unknown system \"A10\""), HasSubstr("\"A100\"?")));
  EXPECT_THAT(error({{"p2p", "alltoall"}}),
              StartsWith("f: $.type: unknown collective \"alltoall\"; valid are allreduce"));
  EXPECT_EQ(error({{"\"topology\": 1", "\"topology\": 8"}}),
            "f: $.topology: found 8, expected an integer from 1 to 4");
  EXPECT_EQ(error({{"\"n_gpus\": 2", "\"n_gpus\": 4"}}),
            "f: $.n_gpus: found 4, expected 2 of a transfer");
  EXPECT_EQ(error({{"\"vol_GB\": 1", "\"vol_GB\": -1"}}),
            "f: $.vol_GB: expected a volume of at least 0");
  EXPECT_EQ(error({{"\"t\": 1", "\"t\": null"}}), "f: $.t: found null, expected a number");
}

TEST(NerscReproduceTest, MalformedVariants) {
  const std::string text = Data("op_variants.json");
  const auto error = [&](const std::string& variant) {
    return Error(Replaced(text, {{"sa_1d flash=False recompute=True", variant}}));
  };
  EXPECT_THAT(error(""), StartsWith("f: $.variants[0].variant: unknown module \"\"; valid are "
                                    "mlp_1d, mlp_2d, mlp_seqp, sa_1d, sa_2d, sa_2d_seqp, sa_seqp"));
  EXPECT_THAT(error("(sa_1d"), HasSubstr("unknown module \"\""));
  EXPECT_THAT(error("sa_1d flash=no"),
              HasSubstr("found \"flash=no\", expected flash or recompute"));
  EXPECT_THAT(error("sa_1d flash"), HasSubstr("found \"flash\""));
  EXPECT_THAT(error("sa_1d m=0"), HasSubstr("found \"m=0\""));
  EXPECT_THAT(error("sa_1d m=99999999999999999999"), HasSubstr("found \"m=99999999999999999999\""));
  EXPECT_THAT(error("sa_1d m=97"), HasSubstr("m is 97, expected an integer from 1 to 96"));
  EXPECT_THAT(error("sa_1d m=8 t=3"), HasSubstr("do not divide its degrees"));
  EXPECT_THAT(error("sa_seqp flash=False m1=4"), HasSubstr("expected degrees: m1=..., m2=..."));
  EXPECT_THAT(Error(Replaced(text, {{"\"weights_mem\": 0.1", "\"weights_mem\": 10"}})),
              HasSubstr("the table's weights have none"));
  EXPECT_THAT(
      Error(Replaced(text, {{"\"activation_buffer\": 0.0", "\"activation_buffer\": -0.0"}})),
      HasSubstr("the table's activations have none"));
  EXPECT_THAT(Error(Replaced(text, {{"\"rows\": [", "\"rows\": [], \"table\": ["}})),
              HasSubstr("$.variants[0].rows: holds no operator"));
}

}  // namespace
}  // namespace meshwright::transformer::nersc
