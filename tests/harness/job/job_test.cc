// Programs of a user on emulated hosts: the steps that they report, and their output.
#include "harness/job/job.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "harness/job/program_network.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

class StepLines : public ::testing::Test {
 protected:
  void write(int rank, const std::string& text) {
    std::ofstream(folder_ / std::to_string(rank)) << text;
  }
  std::vector<double> samples(const JobSteps& job, const std::string& metric) {
    const auto found = job.metrics.find(metric);
    return found == job.metrics.end() ? std::vector<double>() : found->second.samples;
  }

  TemporaryFolder folder_;
};

TEST_F(StepLines, TimesAreTheSlowestRanksAndOthersAreMeans) {
  write(0, R"({"compressor": "topk:ratio=0.1", "collective": "allgather"}
{"step_time": 9, "payload_bytes": 1}
{"step_time": 1, "payload_bytes": 100}
{"step_time": 4, "payload_bytes": 100, "quality": 0.5}
)");
  write(1, R"({"step_time": 9, "payload_bytes": 1}
{"step_time": 2, "payload_bytes": 300}
{"step_time": 3, "payload_bytes": 200}
{"step_time": 3, "payload_bytes": 200}
)");
  const JobSteps job = read_steps(folder_.path(), 3, /*warmup=*/1);  // rank 2 reported nothing
  EXPECT_TRUE(job.errors.empty());
  EXPECT_EQ(job.compressor, "topk:ratio=0.1");
  EXPECT_EQ(job.collective, "allgather");
  EXPECT_EQ(samples(job, "step_time"), (std::vector<double>{2, 4}));
  EXPECT_EQ(samples(job, "payload_bytes"), (std::vector<double>{200, 150}));
  const std::vector<double> quality = samples(job, "quality");
  ASSERT_EQ(quality.size(), 2U);
  EXPECT_TRUE(std::isnan(quality[0]));
  EXPECT_EQ(quality[1], 0.5);
}

TEST_F(StepLines, NothingReportedIsNoError) {
  const JobSteps job = read_steps(folder_.path(), 2, 0);
  EXPECT_TRUE(job.errors.empty());
  EXPECT_TRUE(job.metrics.empty());
  EXPECT_EQ(job.compressor, "none");
  write(0, "");
  EXPECT_TRUE(read_steps(folder_.path(), 2, 0).metrics.empty());
  write(0, "{\"step_time\": 1}\n");
  EXPECT_TRUE(read_steps(folder_.path(), 1, /*warmup=*/1).metrics.empty());
}

TEST_F(StepLines, AnUnfinishedLastLineIsLeftOut) {
  write(0, "{\"step_time\": 1}\n{\"step_time\": 2");
  const JobSteps job = read_steps(folder_.path(), 1, 0);
  EXPECT_TRUE(job.errors.empty());
  EXPECT_EQ(samples(job, "step_time"), std::vector<double>{1});
}

TEST_F(StepLines, WhatNoRankShouldWriteIsNamed) {
  for (const auto& [line, expected] :
       {std::pair{"0.25", "$THINPIPE_STEPS/0 line 2: expected a JSON object"},
        {"nonsense", "line 2: expected a JSON object"},
        {R"({"step_time": -1})", "step_time: expected a number of at least 0"},
        {R"({"step_time": "1"})", "step_time: expected a number of at least 0"},
        {R"({"step_time": 1e999})", "line 2: "},
        {R"({"speed": 1})", "speed: unknown; expected one of step_time, "},
        {R"({"compressor": 1})", "compressor: expected a string"}}) {
    write(0, std::string("{\"step_time\": 1}\n") + line + "\n{\"step_time\": 3}\n");
    const JobSteps job = read_steps(folder_.path(), 1, 0);
    ASSERT_EQ(job.errors.size(), 1U) << line;
    EXPECT_NE(job.errors[0].find(expected), std::string::npos) << job.errors[0];
    EXPECT_EQ(samples(job, "step_time"), std::vector<double>{1});
  }
  write(0, std::string(70'000, 'x'));
  EXPECT_EQ(read_steps(folder_.path(), 1, 0).errors.size(), 1U);
  std::filesystem::remove(folder_ / "0");
  std::filesystem::create_directory(folder_ / "0");
  EXPECT_EQ(read_steps(folder_.path(), 1, 0).errors.size(), 1U);
}

TEST(Ranks, TagsOfMpirunBecomeRanks) {
  EXPECT_EQ(with_rank_in_front("[1,0]<stdout>:step 20\n"), "[0] step 20\n");
  EXPECT_EQ(with_rank_in_front("[1,12]<stderr>:a>:b\n"), "[12] a>:b\n");
  EXPECT_EQ(with_rank_in_front("[1,3]<stdout>:\n"), "[3] \n");
}

TEST(Ranks, OtherLinesOfMpirunStay) {
  for (const char* line : {"mpirun noticed that process rank 1 exited\n", "\n", "", "[1,0]\n",
                           "a, b]<std>:\n", "[host0:12] ]<std,>:\n"})
    EXPECT_EQ(with_rank_in_front(line), line);
}

}  // namespace
}  // namespace thinpipe
