#include "harness/doctor/software.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace thinpipe
