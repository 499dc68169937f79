#include "meshwright/profile/known_profiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/testing/scratch_folder.h"

namespace meshwright {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class KnownProfilesTest : public ::testing::Test {
 protected:
  KnownProfilesTest() {
    EXPECT_TRUE(ProfileDatabase::Open(path_, ProfileDatabase::Access::kWrite).ok());
    newer_.libraries = "jax 0.7.0";
    host_.device = "cpu";
  }

  void Store(const ProfileEnvironment& environment, char program, const std::string& mesh,
             MeasurementStatus status = MeasurementStatus::kMeasured) const {
    ProfileMeasurement measurement;
    measurement.status = status;
    if (status == MeasurementStatus::kMeasured) measurement.sample_seconds = {1e-3};
    auto database = ProfileDatabase::Open(path_, ProfileDatabase::Access::kWrite);
    ASSERT_TRUE(
        database->Store(environment, {std::string(64, program), mesh, "-"}, "", measurement).ok());
  }
  absl::StatusOr<KnownProfiles> Known(const std::string& programs,
                                      const std::vector<std::string>& meshes,
                                      int64_t environment = 0,
                                      const std::string& cluster = "4xh100-sxm") const {
    ProfilesWanted wanted;
    for (const char program : programs) wanted.programs.insert(std::string(64, program));
    wanted.meshes = meshes;
    wanted.environment = environment;
    return KnownProfiles::Read(path_, *ParseCluster(cluster), wanted);
  }
  std::string WhyNot(const absl::StatusOr<KnownProfiles>& known) const {
    EXPECT_FALSE(known.ok());
    return std::string(known.status().message());
  }

  const ScratchFolder folder_;
  const std::string path_ = folder_.Path("profiles.sqlite");
  const ProfileEnvironment device_ = {"NVIDIA H100 80GB HBM3", "cuda 12080", "jax 0.6.0",
                                      "h100-sxm", 1};
  ProfileEnvironment newer_ = device_, host_ = device_;
};

TEST_F(KnownProfilesTest, AreOfTheEnvironmentThatKnowsTheProgram) {
  EXPECT_THAT(Known("a", {"x=4"})->warnings(), Contains(HasSubstr("no measurements yet")));
  Store(device_, 'a', "x=4");
  Store(newer_, 'b', "x=4");
  Store(newer_, 'a', "x=2,y=2");
  EXPECT_EQ(Known("a", {"x=4"})->environment(), device_);
  EXPECT_THAT(Known("a", {"x=4"})->warnings(), IsEmpty());
  EXPECT_EQ(Known("b", {"x=4"})->environment(), newer_);
  EXPECT_EQ(Known("a", {"x=2,y=2"})->environment(), newer_);
  EXPECT_EQ(Known("a", {"x=4"})->Measured(std::string(64, 'a'), "x=4"), 1);
  EXPECT_EQ(Known("a", {"x=4"})->Measured(std::string(64, 'a'), "x=2,y=2"), 0);
  // Of other programs and meshes much may be known; of these nothing is.
  for (const auto& nothing : {Known("c", {"x=4"}), Known("a", {"x=8"})}) {
    EXPECT_FALSE(nothing->environment().has_value());
    EXPECT_THAT(nothing->warnings(), Contains(HasSubstr("holds no measurements of this program")));
    EXPECT_EQ(nothing->Measured(std::string(64, 'a'), "x=4"), 0);
  }
}

TEST_F(KnownProfilesTest, DoNotMixEnvironments) {
  Store(device_, 'a', "x=4");
  Store(newer_, 'a', "x=2,y=2");
  const auto both =
      AllOf(HasSubstr("2 environments, which do not mix"), HasSubstr("--db-environment"),
            HasSubstr("1, NVIDIA H100"), HasSubstr("2, NVIDIA H100"), HasSubstr("jax 0.7.0"));
  EXPECT_THAT(WhyNot(Known("a", {"x=4", "x=2,y=2"})), both);
  // What failed was seen there, too.
  Store(device_, 'b', "x=4", MeasurementStatus::kFailed);
  Store(newer_, 'b', "x=4");
  EXPECT_THAT(WhyNot(Known("b", {"x=4"})), both);
  EXPECT_EQ(Known("a", {"x=4", "x=2,y=2"}, 1)->environment(), device_);
  EXPECT_EQ(Known("a", {"x=4", "x=2,y=2"}, 2)->environment(), newer_);
  EXPECT_THAT(WhyNot(Known("a", {"x=4"}, 3)),
              AllOf(HasSubstr("--db-environment: found 3"), HasSubstr("2, NVIDIA H100")));
}

TEST_F(KnownProfilesTest, AreOfTheClustersDevices) {
  Store(device_, 'a', "x=4");
  for (const char* foreign : {"4xa100-80g", "2x8xh100-sxm"}) {
    EXPECT_THAT(WhyNot(Known("a", {"x=4"}, 0, foreign)),
                AllOf(HasSubstr("holds no measurements of"), HasSubstr("NVIDIA H100 80GB HBM3")));
    EXPECT_THAT(WhyNot(Known("a", {"x=4"}, 1, foreign)), HasSubstr("--db-environment: found 1"));
  }
}

TEST_F(KnownProfilesTest, HostsStandForDevicesOnlyWhereThereAreNone) {
  Store(host_, 'a', "x=4");
  EXPECT_EQ(Known("a", {"x=4"})->environment(), host_);
  EXPECT_THAT(Known("a", {"x=4"})->warnings(), Contains(HasSubstr("a host's processors")));
  Store(device_, 'b', "x=4");
  EXPECT_EQ(Known("a", {"x=4"})->environment(), host_);
  Store(device_, 'a', "x=4");
  EXPECT_EQ(Known("a", {"x=4"})->environment(), device_);
  EXPECT_THAT(Known("a", {"x=4"})->warnings(), Not(Contains(HasSubstr("a host's processors"))));
  EXPECT_EQ(Known("a", {"x=4"}, 1)->environment(), host_);
}

}  // namespace
}  // namespace meshwright
