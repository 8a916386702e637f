// The writer of traces, and the sample traces that other tests use.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <cmath>
#include <limits>

#include "tests/base/support.h"
#include "tests/trace/sample_trace.h"
#include "workloads/trace/trace.h"
#include "workloads/trace/trace_writer.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

TraceDescription description(std::size_t ranks) {
  TraceDescription what;
  what.model = "toy";
  what.origin = "imported";
  what.tensors = {{"a", {2}, 0, 0}, {"b", {}, 0, 0}};
  what.ranks = ranks;
  return what;
}

const std::vector<float> kA = {1.5F, -2.5F};
const std::vector<float> kB = {0x1.fffffep-3F};
const std::vector<std::span<const float>> kGradients = {kA, kB};

TraceStepTimes times() { return {0.25, 0.5, {0.5, 0.125}, 2.0}; }

TEST(TraceWriter, RoundTripsValuesTimesAndOrder) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary / "deep/trace";
  TraceWriter writer(folder, description(2));
  const std::vector<float> other = {3, 4};
  for (const std::uint64_t step : {7U, 9U}) {
    writer.add(step, 0, times(), kGradients);
    writer.add(step, 1, times(), std::vector<std::span<const float>>{other, kB});
  }
  writer.finish();

  const Trace trace(folder);
  EXPECT_EQ(trace.training_step(0), 7U);
  EXPECT_EQ(trace.training_step(1), 9U);
  EXPECT_THAT(trace.gradient(0, 1, 0), ::testing::ElementsAre(1.5F, -2.5F));
  EXPECT_THAT(trace.gradient(1, 1, 0), ::testing::ElementsAre(3.F, 4.F));
  EXPECT_THAT(trace.gradient(1, 0, 1), ::testing::ElementsAre(0x1.fffffep-3F));
  EXPECT_EQ(trace.times(1, 1).forward, 0.25);
  EXPECT_EQ(trace.times(1, 1).compute(), 0.75);
  EXPECT_EQ(trace.times(1, 1).ready[1], 0.125);
  // "b" was ready first, so it is number 0 although it stands second.
  EXPECT_EQ(trace.tensors()[0].ready_order, 1U);
  EXPECT_EQ(trace.tensors()[1].ready_order, 0U);
  EXPECT_FALSE(trace.metadata().contains("values"));
  EXPECT_NO_THROW(trace.verify());
}

TEST(TraceWriter, SquaresAreServedBesideGradients) {
  const TemporaryFolder temporary;
  TraceDescription what = description(1);
  what.squares = true;
  TraceWriter writer(temporary / "t", what);
  const std::vector<float> qa = {9, 16};
  const std::vector<float> qb = {25};
  writer.add(0, 0, times(), kGradients, std::vector<std::span<const float>>{qa, qb});
  writer.finish();
  const Trace trace(temporary / "t");
  EXPECT_THAT(trace.squares(0, 0, 0), ::testing::ElementsAre(9.F, 16.F));
  EXPECT_THAT(trace.squares(0, 0, 1), ::testing::ElementsAre(25.F));
  EXPECT_THAT(trace.gradient(0, 0, 0), ::testing::ElementsAre(1.5F, -2.5F));
}

TEST(TraceWriter, UpdatesAreNamedInTheManifest) {
  const TemporaryFolder temporary;
  TraceDescription what = description(1);
  what.updates = true;
  TraceWriter writer(temporary / "t", what);
  writer.add(0, 0, times(), kGradients);
  writer.finish();
  EXPECT_EQ(Trace(temporary / "t").metadata().at("values"), "updates");
}

TEST(TraceWriter, ALossThatIsNotFiniteComesBackAsNan) {
  const TemporaryFolder temporary;
  TraceWriter writer(temporary / "t", description(1));
  TraceStepTimes diverged = times();
  diverged.loss = std::numeric_limits<double>::infinity();
  writer.add(0, 0, diverged, kGradients);
  writer.finish();
  EXPECT_TRUE(std::isnan(Trace(temporary / "t").times(0, 0).loss));
}

TEST(TraceWriter, UnfinishedTraceDisappearsAndLeavesOthersFilesAlone) {
  const TemporaryFolder temporary;
  {
    TraceWriter writer(temporary / "t", description(1));
    writer.add(0, 0, times(), kGradients);
    EXPECT_TRUE(fs::exists(temporary / "t/rank-000/step-00000000.safetensors"));
    EXPECT_THAT(input_error([&] { Trace trace(temporary / "t"); }), HasSubstr("unfinished"));
  }
  EXPECT_FALSE(fs::exists(temporary / "t"));
  {
    TraceWriter writer(temporary / "t", description(1));
    write_bytes(temporary / "t/notes.txt", "mine");
    writer.add(0, 0, times(), kGradients);
  }
  EXPECT_TRUE(fs::exists(temporary / "t/notes.txt"));
  EXPECT_FALSE(fs::exists(temporary / "t/rank-000"));
}

TEST(TraceWriter, NeverOverwrites) {
  const TemporaryFolder temporary;
  write_bytes(temporary / "file", "x");
  EXPECT_THAT(input_error([&] { TraceWriter writer(temporary.path(), description(1)); }),
              HasSubstr("not empty"));
  EXPECT_THAT(input_error([&] { TraceWriter writer(temporary / "file", description(1)); }),
              HasSubstr("file"));
  EXPECT_EQ(read_bytes(temporary / "file"), "x");
}

TEST(TraceWriter, FullDiskIsAClearErrorAndLeavesNothing) {
  const TemporaryFolder temporary;
  TraceDescription what = description(1);
  what.tensors = {{"large", {100'000}, 0, 0}};
  const std::vector<float> values(100'000, 1.F);
  const std::vector<std::span<const float>> gradients = {values};
  TraceStepTimes one = times();
  one.ready = {0.5};
  // A limit on file size stands for the full disk: write() fails half-way in both.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit small{65'536, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  {
    TraceWriter writer(temporary / "t", what);
    try {
      writer.add(0, 0, one, gradients);
    } catch (const SystemError& error) {
      message = error.what();
    }
  }
  setrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, old_handler);
  EXPECT_THAT(message, HasSubstr("step-00000000.safetensors: File too large"));
  EXPECT_FALSE(fs::exists(temporary / "t"));
}

// A reader would refuse the whole trace (kMaxPassSeconds).
TEST(TraceWriter, APassOfNoPossibleLengthIsRefused) {
  const TemporaryFolder temporary;
  TraceWriter writer(temporary / "trace", description(1));
  for (const double seconds : {1e7, -1.0, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()}) {
    TraceStepTimes wrong = times();
    wrong.backward = seconds;
    EXPECT_THAT(input_error([&] { writer.add(0, 0, wrong, kGradients); }),
                HasSubstr("expected 0 to 1000000 s"));
  }
}

TEST(TraceWriter, WrongUseIsRefused) {
  const TemporaryFolder temporary;
  TraceDescription twice = description(1);
  twice.tensors[1].name = "a";
  EXPECT_THROW(TraceWriter(temporary / "t", twice), InputError);
  TraceDescription nobody = description(0);
  EXPECT_THROW(TraceWriter(temporary / "t", nobody), InputError);

  TraceWriter writer(temporary / "t", description(2));
  EXPECT_THROW(writer.finish(), InputError);                        // no step
  EXPECT_THROW(writer.add(0, 1, times(), kGradients), InputError);  // rank 0 comes first
  EXPECT_THROW(writer.add(0, 0, times(), {kGradients.data(), 1}), InputError);
  writer.add(0, 0, times(), kGradients);
  EXPECT_THROW(writer.finish(), InputError);                        // rank 1 is missing
  EXPECT_THROW(writer.add(1, 1, times(), kGradients), InputError);  // of another step
  writer.add(0, 1, times(), kGradients);
  EXPECT_THROW(writer.add(0, 0, times(), kGradients), InputError);  // the same step again
  writer.finish();
  EXPECT_EQ(Trace(temporary / "t").steps(), 1U);
}

TEST(SampleTrace, IsReproducible) {
  const TemporaryFolder temporary;
  write_sample_trace(temporary / "a", {.seed = 9});
  write_sample_trace(temporary / "b", {.seed = 9});
  write_sample_trace(temporary / "c", {.seed = 10});
  EXPECT_EQ(Trace(temporary / "a").identity(), Trace(temporary / "b").identity());
  EXPECT_NE(Trace(temporary / "a").identity(), Trace(temporary / "c").identity());
}

TEST(SampleTrace, DrawsALaplaceDistribution) {
  const TemporaryFolder temporary;
  constexpr double kScale = 0.5;
  write_sample_trace(temporary / "t",
                     {.shapes = {{200'000}}, .ranks = 1, .steps = 1, .scale = kScale});
  const Trace trace(temporary / "t");
  double sum = 0;
  double absolute = 0;
  double square = 0;
  const auto values = trace.gradient(0, 0, 0);
  for (const double value : values) {
    sum += value;
    absolute += std::fabs(value);
    square += value * value;
  }
  const auto count = static_cast<double>(values.size());
  // Laplace(0, b): mean 0, mean |x| = b, mean x^2 = 2 b^2. The bands are five standard errors:
  // sqrt(2) b, b and sqrt(24 - 4) b^2 over sqrt(200000).
  EXPECT_NEAR(sum / count, 0, 5 * std::sqrt(2 / count) * kScale);
  EXPECT_NEAR(absolute / count, kScale, 5 * kScale / std::sqrt(count));
  EXPECT_NEAR(square / count, 2 * kScale * kScale, 5 * std::sqrt(20 / count) * kScale * kScale);
}

TEST(SampleTrace, TimesAddUpAndRunBackwards) {
  const TemporaryFolder temporary;
  write_sample_trace(temporary / "t", {.shapes = {{2}, {2}, {2}, {2}}, .compute_seconds = 0.6});
  const Trace trace(temporary / "t");
  const TraceStepTimes& times = trace.times(0, 0);
  EXPECT_DOUBLE_EQ(times.compute(), 0.6);
  // Backward takes 0.4 s for four tensors: 0.1 s each, the last tensor first.
  EXPECT_DOUBLE_EQ(times.ready[3], 0.1);
  EXPECT_DOUBLE_EQ(times.ready[0], 0.4);
  EXPECT_EQ(trace.tensors()[3].ready_order, 0U);
  EXPECT_EQ(trace.metadata()["origin"], "synthetic");
}

}  // namespace

}  // namespace thinpipe
