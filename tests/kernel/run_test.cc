// The command as a whole over links with a delay: ranks under Open MPI, and verification.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "tests/base/support.h"
#include "tests/kernel/measure.h"

namespace thinpipe {
namespace {

struct Finished {
  int code = 0;        ///< exit code; 128 + signal where one ended it
  std::string output;  ///< standard output
  std::string error;   ///< standard error
};

namespace fs = std::filesystem;
using nlohmann::json;

class Run : public ::testing::Test {
 protected:
  // Runs a program and waits for its end.
  Finished run_program(const std::vector<std::string>& words) const {
    const std::string output = folder_ / "stdout", error = folder_ / "stderr";
    const std::string line = shell_quoted(words) + " </dev/null >" + shell_quoted({output}) +
                             " 2>" + shell_quoted({error});
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_bytes(output),
            read_bytes(error)};
  }

  // By method; small gradients, so that delays rather than rates set the times.
  std::map<std::string, json> points_over(const std::string& link) {
    const std::string trace = folder_ / "trace", out = folder_ / "out";
    const Finished made = run_program({MAKE_TRACE_PROGRAM, trace, "2", "6", "300", "0.01"});
    EXPECT_EQ(made.code, 0) << made.error;
    const Finished ran = run_program({THINPIPE_PROGRAM, "run", "--trace", trace, "--out", out,
                                      "--ranks", "2", "--link", link, "--steps", "6", "--warmup",
                                      "2", "--baseline", "none", "-c", "topk:ratio=0.1"});
    EXPECT_EQ(ran.code, 0) << ran.output << ran.error;
    std::map<std::string, json> points;
    std::ifstream records(fs::path(out) / "records.jsonl");
    for (std::string line; std::getline(records, line);) {
      const json record = json::parse(line);
      if (record.at("record") == "point")
        points[record.at("axes").at("method").get<std::string>()] = record;
    }
    return points;
  }

  TemporaryFolder folder_;
};

std::vector<double> samples(const json& point, const char* metric) {
  return point.at("metrics").at(metric).at("samples").get<std::vector<double>>();
}

// Two ranks all-gather in one message in each direction, and all-reduce in two, one after the
// other: a rank needs the other's half before it can send the sum on. A message takes the one-way
// delay. The exchange is timed from the later rank's entry, which the other's message may precede.
TEST_F(Run, StepsTakeTheDelaysOfTheirMessages) {
  constexpr double kDelay = 20e-3, kApart = 2e-3;
  constexpr double kSlack = 10e-3;  // 0.6 ms on a quiet machine; half a message on a busy one
  const auto points = points_over("rate=50mbit,delay=20ms");
  ASSERT_EQ(points.size(), 2U);
  for (const auto& [method, messages] : {std::pair{"topk", 1}, {"none", 2}}) {
    const json& point = points.at(method);
    EXPECT_NE(point.at("status"), "failed") << point.at("reasons");
    EXPECT_EQ(point.at("validation").at("checked_steps"), 6);
    EXPECT_TRUE(point.at("validation").at("identical_ranks"));
    const double exchange = median(samples(point, "exchange_time"));
    note(std::string(method) + " exchange", exchange * 1e3, "ms");
    EXPECT_GE(exchange, messages * kDelay - kApart) << method;
    if (exchange >= messages * kDelay + kSlack && point.at("status") != "ok")
      GTEST_SKIP() << "machine too busy (" << point.at("reasons").dump() << ")";
    EXPECT_LT(exchange, messages * kDelay + kSlack) << method;
    const double step = median(samples(point, "step_time"));
    note(std::string(method) + " step", step * 1e3, "ms");
    EXPECT_GE(step, 10e-3 + messages * kDelay) << method;  // 10 ms of compute
  }
}

TEST_F(Run, VerifyMeasuresRateAndDelay) {
  Finished verified;
  constexpr int kMeasurements = 3;  // as valid() does
  int tries = 0;
  do {
    verified = run_program({THINPIPE_PROGRAM, "net", "verify", "--json", "--only", "goodput,rtt",
                            "--seconds", "0.5", "--link", "rate=10mbit,burst=32kb,delay=20ms"});
  } while (verified.code == kExitInconclusive && ++tries < kMeasurements);
  if (verified.code == kExitInconclusive) {
    const json disturbed = json::parse(verified.output).at(0).at("disturbed");
    GTEST_SKIP() << "machine too busy (" << disturbed.dump() << ")";
  }
  ASSERT_EQ(verified.code, kExitGood) << verified.output << verified.error;
  const json link = json::parse(verified.output).at(0);
  const auto goodput = link.at("goodput").at("there").at("goodput").get<double>();
  const auto round_trip = link.at("round_trip").at("idle").at("median").get<double>();
  note("goodput", goodput / 1e6, "Mbit/s");
  note("round trip", round_trip * 1e3, "ms");
  EXPECT_TRUE(link.at("holds"));
  EXPECT_NEAR(round_trip, 40e-3, 2e-3);
}

}  // namespace

}  // namespace thinpipe
