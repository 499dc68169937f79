#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "meshwright/base/strings.h"
#include "meshwright/hlo/text/reader.h"
#include "meshwright/plan/document/plan_json.h"
#include "tests/cli/run_binary.h"

// The program as users run it: what it prints where, what it writes, and how it ends.

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// One layer with plain gradient descent. The weights take 2 MiB, the batch 16 MiB: data parallelism
// is cheap.
constexpr const char* kStep = R"(HloModule step

ENTRY main {
  w = f32[1024,512] parameter(0), metadata={op_name="state['w']"}
  x = f32[4096,1024] parameter(1), metadata={op_name="x"}
  y = f32[4096,512] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  g = f32[1024,512] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  wn = f32[1024,512] subtract(w, g)
  ROOT out = (f32[1024,512], f32[4096,512]) tuple(wn, y)
}
)";

// Everything a user can see of a failed run.
void ExpectFailure(const RunResult& run, int exit_code, const std::string& message) {
  EXPECT_EQ(run.exit_code, exit_code) << run.err;
  EXPECT_THAT(run.err, AllOf(StartsWith("meshwright: "), HasSubstr(message)));
  EXPECT_THAT(run.out, IsEmpty());
}

Plan PlanOf(const std::string& json) {
  const absl::StatusOr<Plan> plan = ParsePlanJson(json, "plan");
  EXPECT_TRUE(plan.ok()) << plan.status() << "\n" << json.substr(0, 400);
  return plan.ok() ? *plan : Plan();
}

TEST(CommandLine, HelpAndVersion) {
  const RunResult help = RunMeshwright({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* verb : {"plan", "estimate", "verify", "ops", "clusters"})
    EXPECT_THAT(help.out, HasSubstr(verb));
  for (const char* verb : {"plan", "estimate", "verify", "ops", "clusters"}) {
    const RunResult run = RunMeshwright({verb, "--help"});
    EXPECT_EQ(run.exit_code, 0) << verb;
    EXPECT_THAT(run.out, HasSubstr(std::string("Examples:\n  meshwright ") + verb)) << verb;
    EXPECT_THAT(run.err, IsEmpty()) << verb;
  }
  const RunResult version = RunMeshwright({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, testing::MatchesRegex("meshwright [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

// One error, and a hint that is no second one.
TEST(CommandLine, BadUsageIsOneError) {
  EXPECT_EQ(RunMeshwright({"explain"}).err_text,
            "meshwright: PLAN is required\n  run `meshwright explain --help` for usage\n");
}

TEST(CommandLine, BadUsage) {
  ExpectFailure(RunMeshwright({"frobnicate"}), 2, "there is no command \"frobnicate\"");
  ExpectFailure(RunMeshwright({"plan"}), 2, "run `meshwright plan --help` for usage");
  ExpectFailure(RunMeshwright({"plan", "a.hlo"}), 2, "--cluster is required");
  ExpectFailure(RunMeshwright({"plan", "a.hlo", "--cluster", "h100-sxm", "--frob"}), 2, "--frob");
  ExpectFailure(RunMeshwright({"plan", "a.hlo", "--cluster", "h100-sxm", "--threads", "0"}), 2,
                "--threads");
  ExpectFailure(RunMeshwright({"plan", "a.hlo", "--cluster", "h100-sxm", "--quiet", "--progress"}),
                2, "--progress");
  ExpectFailure(RunMeshwright({"estimate", "a.hlo", "--cluster", "h100-sxm"}), 2,
                "--mesh is required");
  ExpectFailure(RunMeshwright({"plan", "a.hlo", "--mesh", "8", "--mesh", "2x4"}), 2,
                "--mesh: taken once, but given 2");
}

TEST(CommandLine, FilesNamedLikeOptions) {
  ExpectFailure(RunMeshwright({"plan", "-x.hlo", "--cluster", "8xh100-sxm"}), 2,
                "-x.hlo: there is no such option, `meshwright plan --help` lists them; a file of "
                "this name is ./-x.hlo, or stands last, behind --");
  ExpectFailure(RunMeshwright({"plan", "--cluster", "8xh100-sxm", "--", "-x.hlo"}), 2,
                "-x.hlo: neither a file nor a model");
  ExpectFailure(RunMeshwright({"plan", "a.hlo", "--cluster", "8xh100-sxm", "-o", "-x"}), 2,
                "a.hlo: neither a file nor a model");  // -x is a value
}

TEST(CommandLine, CommandsThatAreMisspelt) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"pln"}, {"plann", "dot.txt", "--cluster", "8xh100-sxm"}}) {
    const RunResult run = RunMeshwright(words);
    EXPECT_EQ(run.exit_code, 2);
    EXPECT_THAT(run.err,
                HasSubstr("there is no command \"" + words[0] + "\"; did you mean \"plan\"?"));
  }
  const RunResult nested = RunMeshwright({"db", "merg"});
  EXPECT_EQ(nested.exit_code, 2);
  EXPECT_THAT(nested.err, HasSubstr("has no command \"merg\"; did you mean \"merge\"?"));
}

TEST(CommandLine, EmptyOutputNames) {
  const std::string message = ": the name is empty; name a file, or leave the option out";
  ExpectFailure(RunMeshwright({"simulate", "plan.json", "--trace", ""}), 2, "--trace" + message);
  ExpectFailure(RunMeshwright({"calibrate", "-o", ""}), 2, "--output" + message);
  ExpectFailure(RunMeshwright({"reproduce", "runs", "runs.csv", "-o", ""}), 2,
                "--output" + message);
}

// Not the argument that follows.
TEST(CommandLine, EmptyValues) {
  const std::string message = ": the value is empty; leave the option out or give one";
  const ScratchFolder folder;
  ExpectFailure(RunMeshwright({"export", "plan.json", "--to", "megatron",
                               "--data-path=", "--steps=100", "-o", folder.Path("launch")}),
                2, "--data-path" + message);
  ExpectFailure(RunMeshwright({"plan", "--cluster=", "8xh100-sxm", "a.hlo"}), 2,
                "--cluster" + message);
  ExpectFailure(RunMeshwright({"simulate", "plan.json", "--trace="}), 2, "--trace" + message);
  EXPECT_THAT(folder.Names(), IsEmpty());
  // Behind "--" it is a name, and = may end a value.
  ExpectFailure(RunMeshwright({"ops", "--", "--dot="}), 2, "unknown operator \"--dot=\"");
  ExpectFailure(RunMeshwright({"estimate", "a.hlo", "--mesh=8", "--cluster=b="}), 2,
                "unknown device \"b=\"");
}

TEST(CommandLine, Clusters) {
  const RunResult run = RunMeshwright({"clusters"});
  EXPECT_EQ(run.exit_code, 0);
  for (const char* device : {"h100-sxm", "a100-80g", "tpu-v5p"})
    EXPECT_THAT(run.out, HasSubstr(device));
  ExpectFitsATerminal(run.out);
}

TEST(CommandLine, Ops) {
  const RunResult all = RunMeshwright({"ops"});
  EXPECT_EQ(all.exit_code, 0);
  EXPECT_THAT(all.out, HasSubstr("\ndot "));
  EXPECT_THAT(all.out, HasSubstr("\nreshape "));
  const RunResult one = RunMeshwright({"ops", "dot"});
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_THAT(one.out, StartsWith("dot "));
  // Its remark does not fit beside it.
  EXPECT_EQ(std::count(one.out.begin(), one.out.end(), '\n'), 2);
  ExpectFitsATerminal(all.out);
  // What a program calls, and the pattern that stands for it.
  EXPECT_THAT(all.out, HasSubstr("\n__cudnn$fmha*"));
  const RunResult call = RunMeshwright({"ops", "__cudnn$fmhaSoftmaxBackward"});
  EXPECT_EQ(call.exit_code, 0);
  EXPECT_THAT(call.out, HasSubstr("__cudnn$fmha*Backward*"));
  EXPECT_THAT(call.out, HasSubstr("reduction={r, s}"));
  ExpectFailure(RunMeshwright({"ops", "dott"}), 2, "unknown operator \"dott\"");
}

class PlanCommand : public testing::Test {
 protected:
  const ScratchFolder folder_;
  const std::string program_ = folder_.Write("step.hlo", kStep);

  RunResult Plan(std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"plan", program_, "--cluster", "8xh100-sxm"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunMeshwright(arguments);
  }
};

TEST_F(PlanCommand, TableOnStandardOutput) {
  const RunResult run = Plan({"--mesh", "2x4"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, IsEmpty());
  for (const char* text : {"x=2,y=4", "state['w']", "f32[1024,512]", "memory", "of 80"}) {
    EXPECT_THAT(run.out, HasSubstr(text));
  }
  ExpectFitsATerminal(run.out);
  EXPECT_THAT(folder_.Names(), testing::ElementsAre("step.hlo"));
}

TEST_F(PlanCommand, NamesTheCommandsThatComeNext) {
  EXPECT_THAT(Plan({"--mesh", "2x4"}).out, HasSubstr("\nnext      -o plan.json writes the plan"));
  const std::string path = folder_.Path("my plan.json");
  const RunResult run = Plan({"--mesh", "2x4", "-o", path});
  EXPECT_THAT(run.out,
              HasSubstr(meshwright::StrCat("\nnext\n    meshwright explain '", path, "'\n")));
  EXPECT_THAT(run.out, HasSubstr("meshwright verify "));
  EXPECT_THAT(run.out, HasSubstr("--to jax "));
  EXPECT_THAT(run.out, HasSubstr(meshwright::StrCat("--program ", program_)));
  EXPECT_EQ(RunMeshwright({"explain", path}).exit_code, 0);
  const RunResult model = RunMeshwright({"plan", "gpt3-1.3b", "--cluster", "8xh100-sxm",
                                         "--global-batch", "64", "--for", "nemo", "-o", path});
  ASSERT_EQ(model.exit_code, 0) << model.err;
  EXPECT_THAT(model.out, HasSubstr("meshwright export "));
  EXPECT_THAT(model.out, HasSubstr("nemo"));
}

TEST_F(PlanCommand, JsonAndFileHoldTheSamePlan) {
  const std::string path = folder_.Path("plan.json");
  const RunResult run = Plan({"--mesh", "2x4", "--json", "-o", path});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, ReadText(path));
  const meshwright::Plan plan = PlanOf(run.out);
  EXPECT_EQ(plan.inputs[0].path, program_);
  EXPECT_EQ(plan.inputs[0].kind, "hlo_text");
  EXPECT_EQ(plan.cluster.parts[0].devices(), 8);
  EXPECT_EQ(plan.budget_bytes, plan.cluster.parts[0].device_memory_bytes);
  ASSERT_EQ(plan.program.parameters.size(), 2u);
  EXPECT_EQ(plan.program.parameters[0].name, "state['w']");
  EXPECT_EQ(plan.program.parameters[0].category, MemoryCategory::kParameters);
  EXPECT_EQ(plan.program.parameters[1].category, MemoryCategory::kInputs);
  ASSERT_EQ(plan.program.outputs.size(), 2u);
  EXPECT_EQ(plan.program.outputs[0].spec,
            plan.program.parameters[0].spec);  // fed back to the next step
  EXPECT_GT(plan.objective_seconds, 0);
  EXPECT_LE(plan.bound_seconds, plan.objective_seconds);
  int64_t memory = 0;
  for (int64_t bytes : plan.memory_by_category) memory += bytes;
  EXPECT_EQ(memory, plan.peak_bytes);
  double compute = 0, communication = 0, grouped = 0;
  for (const PlanInstruction& instruction : plan.program.instructions) {
    compute += instruction.seconds;
    for (const PlanCollective& collective : instruction.collective)
      communication += collective.seconds;
  }
  for (const PlanCollective& collective : plan.program.collectives) grouped += collective.seconds;
  EXPECT_NEAR(compute, plan.compute_seconds, 1e-12);
  EXPECT_NEAR(communication, plan.communication_seconds, 1e-12);
  EXPECT_NEAR(grouped, plan.communication_seconds, 1e-12);
}

TEST_F(PlanCommand, EqualRunsGiveEqualBytes) {
  const auto without_time = [](const std::string& json) {
    const size_t at = json.find("\"planning_seconds\"");
    EXPECT_NE(at, std::string::npos);
    return json.substr(0, at);
  };
  const RunResult first = Plan({"--json"});
  const RunResult second = Plan({"--json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(without_time(first.out), without_time(second.out));
}

TEST_F(PlanCommand, AutoIsAsGoodAsAnyMesh) {
  const RunResult automatic = Plan({"--json"});
  ASSERT_EQ(automatic.exit_code, 0) << automatic.err;
  for (const char* mesh : {"8", "2x4", "4x2"}) {
    const RunResult run = Plan({"--json", "--mesh", mesh});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_LE(PlanOf(automatic.out).objective_seconds, PlanOf(run.out).objective_seconds) << mesh;
  }
}

TEST_F(PlanCommand, EmittedProgramParsesAndIsAnnotated) {
  const std::string path = folder_.Path("out.hlo");
  const RunResult run = Plan({"--mesh", "2x4", "--fix", "state['w']=[x,y]", "--emit", path});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const absl::StatusOr<Module> module = ParseHloText(ReadText(path), path);
  ASSERT_TRUE(module.ok()) << module.status();
  for (const Instruction& instruction : module->entry_computation().instructions) {
    EXPECT_THAT(instruction.sharding, Not(IsEmpty())) << instruction.name;
  }
  EXPECT_EQ(module->entry_computation().instructions[0].sharding, "{devices=[2,4]<=[8]}");
  EXPECT_THAT(ReadText(path), HasSubstr("num_partitions=8"));
}

TEST_F(PlanCommand, FixesAreObeyed) {
  const std::string fixes = folder_.Write("fixes.txt", "# rows\nx=[x,_]\n");
  const RunResult run =
      Plan({"--mesh", "x=2,y=4", "--fix", "state*=P(None, 'y')", "--fix-file", fixes, "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const meshwright::Plan plan = PlanOf(run.out);
  EXPECT_EQ(plan.program.parameters[0].spec, (PlanSpec{{}, {"y"}}));
  EXPECT_EQ(plan.program.parameters[1].spec, (PlanSpec{{"x"}, {}}));
  EXPECT_THAT(plan.options.fixes, testing::ElementsAre("x=[x,_]", "state*=P(None, 'y')"));
  ASSERT_EQ(plan.inputs.size(), 2u);
  EXPECT_EQ(plan.inputs[1].kind, "fixes");
}

TEST_F(PlanCommand, BadFixes) {
  ExpectFailure(Plan({"--mesh", "8", "--fix", "w"}), 2,
                "--fix #1: found \"w\", expected NAME=SPEC");
  ExpectFailure(Plan({"--mesh", "8", "--fix", "statte=[x]"}), 2, "--fix #1");
  ExpectFailure(Plan({"--mesh", "8", "--fix", "x=[q,_]"}), 2, "q");
  ExpectFailure(Plan({"--mesh", "8", "--fix", "x=[x,_,_]"}), 2, "--fix #1");
  ExpectFailure(Plan({"--fix-file", folder_.Path("none.txt")}), 2, "none.txt");
  ExpectFailure(Plan({"--fix-file", folder_.Write("bad.txt", "\noops\n")}), 2, "bad.txt:2: found");
}

TEST_F(PlanCommand, NothingFits) {
  const std::string path = folder_.Path("plan.json");
  const RunResult run =
      Plan({"--mesh", "2x4", "--memory", "64KiB", "-o", path, "--emit", folder_.Path("e.hlo")});
  ExpectFailure(run, 3, "nothing fits into 64.0 KiB a device; the smallest budget");
  EXPECT_THAT(run.err, HasSubstr("state['w'] f32[1024,512]"));
  EXPECT_THAT(run.err, HasSubstr("--pipeline auto may fit"));
  EXPECT_THAT(folder_.Names(), testing::ElementsAre("step.hlo"));
  // The budget that it names is one.
  const size_t at = run.err.find("--memory ");
  ASSERT_NE(at, std::string::npos);
  const std::string budget = run.err.substr(at + 9, run.err.find(')', at) - at - 9);
  EXPECT_EQ(Plan({"--mesh", "2x4", "--memory", budget}).exit_code, 0) << budget;
}

TEST_F(PlanCommand, UnlimitedMemory) {
  const RunResult run = Plan({"--mesh", "8", "--memory", "unlimited", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_FALSE(PlanOf(run.out).budget_bytes.has_value());
}

TEST_F(PlanCommand, EstimateCostsTheGivenSharding) {
  const RunResult run =
      RunMeshwright({"estimate", program_, "--cluster", "8xh100-sxm", "--mesh", "x=2,y=4", "--fix",
                     "state['w']=replicated", "--fix", "x=[(x,y),_]", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const meshwright::Plan plan = PlanOf(run.out);
  EXPECT_EQ(plan.program.parameters[1].spec, (PlanSpec{{"x", "y"}, {}}));
  // Data parallel: the gradient is summed over all devices.
  ASSERT_FALSE(plan.program.collectives.empty());
  EXPECT_EQ(plan.program.collectives[0].bytes_per_device, 1024 * 512 * 4);
}

TEST_F(PlanCommand, CostModels) {
  const RunResult alpha_beta = Plan({"--mesh", "2x4", "--cost-model", "alpha_beta", "--json"});
  ASSERT_EQ(alpha_beta.exit_code, 0) << alpha_beta.err;
  EXPECT_THAT(alpha_beta.out, HasSubstr("unitless"));
  ExpectFailure(Plan({"--mesh", "2x4", "--cost-model", "guess"}), 2,
                "unknown cost model \"guess\"; there are auto, calibrated, roofline, alpha_beta");
}

TEST_F(PlanCommand, ProgressGoesToStandardError) {
  const RunResult run = Plan({"--mesh", "8", "--progress", "--json"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  PlanOf(run.out);
  EXPECT_THAT(Plan({"--mesh", "8", "--json"}).err, IsEmpty());
}

TEST_F(PlanCommand, ProgramFromStandardInput) {
  const RunResult run =
      RunMeshwright({"plan", "-", "--cluster", "8xh100-sxm", "--mesh", "8", "--json"}, kStep);
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(PlanOf(run.out).inputs[0].path, "-");
}

TEST_F(PlanCommand, BadPrograms) {
  const auto plan = [](const std::string& path) {
    return RunMeshwright({"plan", path, "--cluster", "8xh100-sxm"});
  };
  ExpectFailure(plan(folder_.Path("none.hlo")), 2, "none.hlo: No such file or directory");
  ExpectFailure(plan(folder_.Path("")), 2, "this is a folder");
  ExpectFailure(plan(folder_.Write("empty.hlo", "")), 2, "empty.hlo");
  ExpectFailure(plan(folder_.Write("noise.hlo", "\x01\x02noise")), 2, "noise.hlo");
  ExpectFailure(plan(folder_.Write("cut.hlo", std::string(kStep).substr(0, 200))), 2, "cut.hlo:");
  ExpectFailure(plan("/dev/zero"), 2, "it is a device");
  ExpectFailure(plan(folder_.Write("brace.hlo", "{ ENTRY e {")), 2,
                "brace.hlo:1:1: expected 'HloModule' (HLO text) or 'module' (MLIR), found \"{\"");
  ExpectFailure(plan(folder_.Write("brace.json", "{'hidden_size': 8}")), 2,
                "--global-batch is required");  // as a model
  ExpectFailure(RunMeshwright({"plan", "-", "--cluster", "8xh100-sxm"}, "HloModule"), 2, "<stdin>");
}

TEST_F(PlanCommand, BadValues) {
  ExpectFailure(RunMeshwright({"plan", program_, "--cluster", "8xh100-smx"}), 2, "h100-sxm");
  ExpectFailure(Plan({"--mesh", "2x5"}), 2, "8");
  ExpectFailure(Plan({"--mesh", "x=2,x=4"}), 2, "x");
  ExpectFailure(Plan({"--memory", "lots"}), 2, "--memory: ");
  ExpectFailure(Plan({"--deadline", "soon"}), 2, "--deadline: ");
  ExpectFailure(Plan({"--deadline", "0s"}), 2, "--deadline: must be more than 0");
  ExpectFailure(Plan({"--seed", "-1"}), 2, "--seed: found \"-1\"; a whole number from 0 to");
}

TEST_F(PlanCommand, BadOutputs) {
  const std::string before = ReadText(program_);
  ExpectFailure(Plan({"-o", program_}), 2, "it is an input of this command");
  ExpectFailure(Plan({"--emit", folder_.Path("./step.hlo")}), 2, "it is an input of this command");
  ExpectFailure(Plan({"-o", folder_.Path("")}), 2, "it is a directory");
  ExpectFailure(Plan({"-o", folder_.Path("none/plan.json")}), 2, "does not exist");
  ExpectFailure(Plan({"-o", folder_.Path("a"), "--emit", folder_.Path("a")}), 2,
                "-o names the same file");
  ExpectFailure(Plan({"-o", "-"}), 2, "--json");
  ExpectFailure(Plan({"-o", ""}), 2, "--output: the name is empty");
  ExpectFailure(Plan({"--emit", ""}), 2, "--emit: the name is empty");
  std::filesystem::create_symlink(program_, folder_.Path("link"));
  ExpectFailure(Plan({"-o", folder_.Path("link")}), 2, "it is an input of this command");
  EXPECT_EQ(ReadText(program_), before);
  EXPECT_THAT(folder_.Names(), testing::ElementsAre("link", "step.hlo"));
}

// Of root too, who could write it.
TEST_F(PlanCommand, AReadOnlyFileIsNotReplaced) {
  const std::string path = folder_.Write("kept.json", "kept");
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  ExpectFailure(Plan({"--mesh", "8", "-o", path}), 2,
                "-o: cannot write " + path + ": it is read-only");
  EXPECT_EQ(ReadText(path), "kept");
}

// What else a command wrote or took says what it is.
TEST_F(PlanCommand, AClusterIsNoOtherFile) {
  const auto plan = [&](const std::string& cluster) {
    return RunMeshwright({"plan", program_, "--cluster", cluster});
  };
  ExpectFailure(plan(program_), 2,
                program_ +
                    ": this is a program, not the description of a cluster; `meshwright plan` "
                    "makes plans of programs; a cluster is written as \"8xh100-sxm\", or");
  ExpectFailure(plan(folder_.Write("p.json", "{\"schema\": 1, \"tool_version\": 2}")), 2,
                "this is a plan, not the description of a cluster; ");
  ExpectFailure(plan(folder_.Write("notes.md", "a: b: c")), 2,
                "not valid YAML: illegal map value; a cluster needs at least \"device: NAME\"");
}

TEST_F(PlanCommand, FullDeviceIsAnError) {
  ExpectFailure(Plan({"--mesh", "8", "-o", "/dev/full"}), 2, "cannot write /dev/full");
}

// What becomes of `verify` is decided by the Python that runs it; tests/python has the rest.
class VerifyCommand : public testing::Test {
 protected:
  // A worker that prints what it was given and ends with `exit_code`.
  RunResult Verify(const std::string& script, std::vector<std::string> arguments) {
    const std::string python = folder_.Write("python", script);
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    setenv("MESHWRIGHT_PYTHON", python.c_str(), 1);
    arguments.insert(arguments.begin(), "verify");
    const RunResult run = RunMeshwright(arguments);
    unsetenv("MESHWRIGHT_PYTHON");
    return run;
  }

  const ScratchFolder folder_;
};

TEST_F(VerifyCommand, HandsItsOptionsAndTheExitCodeOn) {
  const RunResult run = Verify(
      "#!/bin/sh\n[ \"$1\" != -S ] || exec echo python\n"
      "shift 2\necho \"$@\"\nexit 4\n",
      {"plan.json", "--program", "step.hlo", "--devices", "host:4", "--repeats", "0", "--seed", "9",
       "--json"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_EQ(run.out,
            "--program=step.hlo --devices=host:4 --repeats=0 --seed=9 --json -- plan.json\n");
}

TEST_F(VerifyCommand, BadUsage) {
  ExpectFailure(Verify("#!/bin/sh\n", {"plan.json"}), 2, "--program is required");
  ExpectFailure(Verify("#!/bin/sh\n", {"plan.json", "--program", "p", "--repeats", "-1"}), 2,
                "--repeats");
  ExpectFailure(Verify("#!/bin/sh\n", {"plan.json", "--program", folder_.Path("")}), 2,
                "--program: " + folder_.Path("") + ": this is a folder, not a program");
  setenv("MESHWRIGHT_PYTHON", "/no/python", 1);
  const RunResult run = RunMeshwright({"verify", "plan.json", "--program", "p"});
  unsetenv("MESHWRIGHT_PYTHON");
  ExpectFailure(run, 2, "cannot run /no/python: No such file or directory");
}

TEST_F(VerifyCommand, AProgramThatIsNoPythonIsRefused) {
  for (const char* script : {"#!/bin/sh\n", "#!/bin/sh\necho \"$@\"\n", "#!/bin/sh\nyes\n"}) {
    const RunResult run = Verify(script, {"plan.json", "--program", "step.hlo"});
    ExpectFailure(run, 2, folder_.Path("python") + " does not run Python code; verify needs");
    EXPECT_EQ(run.out, "");
  }
}

// The programs that come with the tests, whole.
TEST(PlanPrograms, TrainingSteps) {
  const std::string data = MESHWRIGHT_TEST_DATA "/hlo";
  for (const char* name : {"mlp_4096x4.train.hlo.txt.gz", "tiny_gpt.train.hlo.txt.gz"}) {
    SCOPED_TRACE(name);
    const ScratchFolder folder;
    const std::string emitted = folder.Path("out.hlo");
    const RunResult run = RunMeshwright({"plan", data + "/" + name, "--cluster", "8xh100-sxm",
                                         "--mesh", "2x4", "--json", "--emit", emitted});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    const Plan plan = PlanOf(run.out);
    EXPECT_GT(plan.memory_by_category[static_cast<size_t>(MemoryCategory::kParameters)], 0);
    const absl::StatusOr<Module> module = ParseHloText(ReadText(emitted), emitted);
    ASSERT_TRUE(module.ok()) << module.status();
    for (const Instruction& instruction : module->entry_computation().instructions) {
      EXPECT_THAT(instruction.sharding, Not(IsEmpty())) << instruction.name;
    }
  }
}

}  // namespace
}  // namespace meshwright
