#include "meshwright/profile/worker_process.h"

#include <gtest/gtest.h>

#include <string>

namespace meshwright {
namespace {

std::unique_ptr<WorkerProcess> Shell(const std::string& script) {
  auto worker = WorkerProcess::Start({"sh", "-c", script});
  EXPECT_TRUE(worker.ok());
  return *std::move(worker);
}

TEST(WorkerProcess, TakesAndGivesLines) {
  const auto worker = Shell("while read line; do echo \"got $line\"; done");
  std::string line;
  ASSERT_TRUE(worker->Send("one").ok());
  ASSERT_TRUE(worker->Send("two").ok());
  EXPECT_EQ(worker->Receive(10, &line), WorkerProcess::Got::kLine);
  EXPECT_EQ(line, "got one");
  EXPECT_EQ(worker->Receive(10, &line), WorkerProcess::Got::kLine);
  EXPECT_EQ(line, "got two");
  EXPECT_EQ(worker->Receive(0.05, &line), WorkerProcess::Got::kNothing);
}

TEST(WorkerProcess, SaysHowItEnded) {
  std::string line;
  const auto left = Shell("echo last; exit 3");
  EXPECT_EQ(left->Receive(10, &line), WorkerProcess::Got::kLine);
  EXPECT_EQ(left->Receive(10, &line), WorkerProcess::Got::kEnd);
  EXPECT_EQ(left->HowItEnded(), "ended with exit code 3");
  const auto killed = Shell("kill -9 $$");
  EXPECT_EQ(killed->Receive(10, &line), WorkerProcess::Got::kEnd);
  EXPECT_EQ(killed->HowItEnded(), "was ended by signal 9 (Killed)");
  EXPECT_FALSE(killed->Send("more").ok());
}

TEST(WorkerProcess, OfAProgramThatIsNotThereEnds) {
  const auto worker = WorkerProcess::Start({"/nowhere/worker"});
  ASSERT_TRUE(worker.ok());
  std::string line;
  EXPECT_EQ((*worker)->Receive(10, &line), WorkerProcess::Got::kEnd);
  EXPECT_EQ((*worker)->HowItEnded(), "ended with exit code 127");
}

TEST(WorkerProcess, GoesWithItsOwner) {
  // Would keep the test waiting for ten minutes.
  const auto worker = Shell("sleep 600");
}

}  // namespace
}  // namespace meshwright
