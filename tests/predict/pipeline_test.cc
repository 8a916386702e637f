#include "workloads/predict/pipeline.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <vector>

namespace thinpipe {
namespace {

const std::vector<BucketWork> kTwo = {{.ready = 4, .compress = 1, .exchange = 5, .decode = 2},
                                      {.ready = 8, .compress = 1, .exchange = 3, .decode = 2}};

// 10 of compute, 2 of encoding, 8 on the network, 4 of decoding, one after the other.
TEST(Pipeline, SerialAddsUp) {
  const PipelineTime time = schedule_step(kTwo, 10, PipelineKind::kSerial);
  EXPECT_EQ(time.total, 24);
  EXPECT_EQ(time.exposed, 8);
  EXPECT_EQ(time.link_idle, 16);
}

// Two buckets are encoded at 4-5 and, because the backward pass stood still for 1, at 9-10. They
// are on the network at 5-10 and 10-13. The backward pass ends at 12. They are decoded at 12-14 and
// 14-16: decoding never waited.
TEST(Pipeline, InlineHoldsUpTheBackwardPass) {
  const PipelineTime time = schedule_step(kTwo, 10, PipelineKind::kInline);
  EXPECT_EQ(time.compute, 12);
  EXPECT_EQ(time.total, 16);
  EXPECT_EQ(time.exposed, 0);
  EXPECT_EQ(time.link_idle, 8);
}

// Two buckets are encoded at 4-5 and 8-9, and are on the network at 5-10 and 10-13. The first
// arrives at 10, when the backward pass ends, and is decoded at 10-12. The second arrives at 13 and
// is decoded until 15.
TEST(Pipeline, BesideWaitsForTheNetworkOnly) {
  const PipelineTime time = schedule_step(kTwo, 10, PipelineKind::kBeside);
  EXPECT_EQ(time.compute, 10);
  EXPECT_EQ(time.total, 15);
  EXPECT_EQ(time.exposed, 1);
}

// Encoded at 4-5 and 8-9. The first is on the network at 5-10, the last 4 of which are its answer's
// way. The second follows at 9, not at 10, and arrives at 12.
TEST(Pipeline, AnExchangeBeginsWhileTheAnswersOfTheLastTravel) {
  std::vector<BucketWork> buckets = kTwo;
  buckets[0].latency = 4;
  const PipelineTime time = schedule_step(buckets, 10, PipelineKind::kBeside);
  EXPECT_EQ(time.total, 14);
  EXPECT_EQ(time.exposed, 0);
  EXPECT_EQ(time.exchange, 7);  // from 5 to 12, and not 5 + 3
  EXPECT_EQ(time.link_idle, 7);
}

TEST(Pipeline, WithoutBucketsItIsTheComputeTime) {
  for (const PipelineKind kind :
       {PipelineKind::kSerial, PipelineKind::kInline, PipelineKind::kBeside})
    EXPECT_EQ(schedule_step({}, 3, kind).total, 3);
}

// The clock of a hundred thousand ticks: at each, every idle stage looks for work.
double tick_by_tick(const std::vector<BucketWork>& buckets, double compute, bool beside,
                    double tick) {
  const std::size_t n = buckets.size();
  std::size_t encoded = 0, exchanged = 0, decoded = 0;
  double codec_left = 0, network_left = 0, held_up = 0, now = 0;
  enum { kIdle, kEncoding, kDecoding } codec = kIdle;
  bool sending = false;
  for (;; now += tick) {
    if (codec != kIdle && (codec_left -= tick) < tick / 2) {
      if (codec == kEncoding) ++encoded;
      if (codec == kDecoding) ++decoded;
      codec = kIdle;
    }
    if (sending && (network_left -= tick) < tick / 2) {
      ++exchanged;
      sending = false;
    }
    for (bool again = true; again;) {
      again = false;
      if (codec == kIdle) {
        const bool ended = now >= compute + held_up - tick / 2;
        if (encoded < n && now >= buckets[encoded].ready + held_up - tick / 2) {
          codec = kEncoding;
          codec_left = buckets[encoded].compress;
          if (!beside) held_up += codec_left;
          if (codec_left < tick / 2) ++encoded, codec = kIdle, again = true;
        } else if (decoded < exchanged && (beside || (encoded == n && ended))) {
          codec = kDecoding;
          codec_left = buckets[decoded].decode;
          if (codec_left < tick / 2) ++decoded, codec = kIdle, again = true;
        }
      }
      if (!sending && exchanged < encoded) {
        sending = true;
        network_left = buckets[exchanged].exchange;
        if (network_left < tick / 2) ++exchanged, sending = false, again = true;
      }
    }
    if (decoded == n && codec == kIdle && now >= compute + held_up - tick / 2) return now;
  }
}

TEST(Pipeline, AgreesWithATickByTickSimulation) {
  std::mt19937 generator(7);
  const auto whole = [&](unsigned most) { return static_cast<double>(generator() % (most + 1)); };
  for (int i = 0; i < 500; ++i) {
    std::vector<BucketWork> buckets(1 + generator() % 6);
    double ready = 0;
    for (BucketWork& bucket : buckets) bucket = {ready += whole(9), whole(6), whole(12), whole(6)};
    const double compute = ready + whole(5);
    for (const bool beside : {false, true})
      EXPECT_EQ(
          schedule_step(buckets, compute, beside ? PipelineKind::kBeside : PipelineKind::kInline)
              .total,
          tick_by_tick(buckets, compute, beside, 1))
          << "case " << i << (beside ? ", beside" : ", inline");
  }
}

}  // namespace
}  // namespace thinpipe
