#include "harness/doctor/software.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace thinpipe {
namespace {

using State = Finding::State;

TEST(DoctorSoftware, FirstLine) {
  EXPECT_EQ(first_line("/bin/echo", "one\ntwo"), "one");
  EXPECT_EQ(first_line("/bin/false", ""), std::nullopt);
  EXPECT_EQ(first_line("/no/such/program", ""), std::nullopt);
}

TEST(DoctorSoftware, WholeOutput) {
  EXPECT_EQ(output_of("/bin/echo", {"one\ntwo", "three"}), "one\ntwo three\n");
  EXPECT_EQ(output_of("/bin/false", {}), std::nullopt);
  EXPECT_EQ(output_of("/no/such/program", {}), std::nullopt);
}

TEST(DoctorSoftware, MpiVersions) {
  EXPECT_EQ(mpi_finding("mpirun (Open MPI) 4.1.4").state, State::kGood);
  EXPECT_EQ(mpi_finding("mpirun (Open MPI) 5.0.1").state, State::kNote);
  EXPECT_EQ(mpi_finding("HYDRA build details:").state, State::kFatal);
  EXPECT_EQ(mpi_finding(std::nullopt).state, State::kFatal);
}

TEST(DoctorGraphics, AGpuIsToldWithItsDriver) {
  const GpuStatus gpu{.available = true, .detail = "NVIDIA H100, 79 GiB"};
  EXPECT_EQ(gpu_finding(gpu, true, "580.1").found, "NVIDIA H100, 79 GiB; driver 580.1");
  EXPECT_EQ(gpu_finding(gpu, true, "").state, State::kGood);
}

TEST(DoctorGraphics, NoGpuHasAReasonAndARemedy) {
  const Finding none = gpu_finding({.available = false, .detail = "no device"}, true, "");
  EXPECT_EQ(none.state, State::kAbsent);
  EXPECT_EQ(none.found, "no device");
  const Finding built = gpu_finding({.available = false, .detail = "no toolkit"}, false, "");
  EXPECT_NE(built.remedy, none.remedy);
}

TEST(DoctorGraphics, MpiIsAskedWhetherItKnowsCuda) {
  const std::string line = "mca:opal:base:param:opal_built_with_cuda_support:value:";
  EXPECT_EQ(gpu_mpi_finding(line + "true\n", true).state, State::kGood);
  EXPECT_EQ(gpu_mpi_finding(line + "false\n", true).state, State::kAbsent);
  EXPECT_FALSE(gpu_mpi_finding(line + "false\n", true).remedy.empty());
  EXPECT_TRUE(gpu_mpi_finding(line + "false\n", false).remedy.empty());
  EXPECT_EQ(gpu_mpi_finding(std::nullopt, false).state, State::kAbsent);
}

}  // namespace
}  // namespace thinpipe
