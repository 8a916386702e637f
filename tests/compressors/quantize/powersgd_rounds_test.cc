// PowerSGD's rounds, one all-reduce of P and one of Q, as an interface.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "compressors/registry.h"
#include "tests/compressors/support/allocations.h"
#include "tests/compressors/support/bits.h"
#include "tests/compressors/support/powersgd_job.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::bits;
using testing::decode;
using testing::encode;
using testing::powersgd::gradients_of;
using testing::powersgd::Job;
using testing::powersgd::kColumns;
using testing::powersgd::kElements;
using testing::powersgd::kRows;
using testing::powersgd::make;
using testing::powersgd::norm;
using testing::powersgd::state_of;

TEST(PowerSgdRounds, OneWorkersRoundsAreItsEncode) {
  // Bit for bit; and the factors that are gathered are those of encode() too.
  for (const std::string& options :
       std::vector<std::string>{"rank=2", "memory=none,warm=false", "memory=ef21,rank=3"}) {
    SCOPED_TRACE(options);
    Job job("powersgd:" + options, 1);
    const auto alone = make("powersgd:" + options);
    const auto gathered = make("powersgd:exchange=allgather," + options);
    for (std::uint64_t step = 0; step < 5; ++step) {
      const auto gradients = gradients_of(1, step);
      const auto aggregate = job.step(gradients, step);
      const auto encoded = encode(*alone, gradients[0], step);
      EXPECT_EQ(bits(aggregate), bits(decode(*alone, encoded.payload)));
      EXPECT_EQ(bits(aggregate), bits(job.own(0)));
      EXPECT_EQ(state_of(job.worker(0)), state_of(*alone));
      EXPECT_EQ(encode(*gathered, gradients[0], step).payload, encoded.payload);
    }
  }
}

TEST(PowerSgdRounds, ARestoredJobGoesOnAlike) {
  for (const char* spec : {"powersgd", "powersgd:memory=ef21,rank=2"}) {
    Job original(spec, 2);
    Job restored(spec, 2);
    for (std::uint64_t step = 0; step < 3; ++step) original.step(gradients_of(2, step), step);
    restored.step(gradients_of(2, 50), 0);  // whatever it did before is replaced
    for (std::size_t w = 0; w < 2; ++w) {
      restored.worker(w).load_state(state_of(original.worker(w)));
    }
    for (std::uint64_t step = 3; step < 6; ++step) {
      const auto gradients = gradients_of(2, step);
      EXPECT_EQ(bits(restored.step(gradients, step)), bits(original.step(gradients, step)));
    }
  }
}

TEST(PowerSgdRounds, SameBitsOnEveryTarget) {
  std::vector<std::vector<std::uint32_t>> results;
  testing::for_each_target([&] {
    Job job("powersgd", 3);
    for (std::uint64_t step = 0; step < 2; ++step) job.step(gradients_of(3, step), step);
    results.push_back(bits(job.step(gradients_of(3, 2), 2)));
  });
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

TEST(PowerSgdRounds, BadNumbersSpoilNothingForLong) {
  for (float bad : {std::nanf(""), std::numeric_limits<float>::infinity(), 3e38F}) {
    for (std::size_t bad_workers : {1UL, 2UL}) {
      Job job("powersgd:memory=none", 2);
      auto gradients = gradients_of(2, 0);
      for (std::size_t w = 0; w < bad_workers; ++w) gradients[w][17] = gradients[w][18] = bad;
      for (float value : job.step(gradients, 0)) ASSERT_TRUE(std::isfinite(value));
      std::vector<float> aggregate;
      // The first of these may still start from a huge Q.
      for (std::uint64_t step = 1; step < 4; ++step) {
        aggregate = job.step(gradients_of(2, step), step);
        for (float value : aggregate) ASSERT_TRUE(std::isfinite(value));
      }
      EXPECT_GT(norm(aggregate), 0);
    }
  }
}

TEST(PowerSgdRounds, RefuseWhatDoesNotFit) {
  EXPECT_EQ(make("powersgd")->rounds(), 2);
  EXPECT_EQ(make("powersgd:exchange=allgather")->rounds(), 1);
  const std::vector<float> gradient(kElements, 1.0F);
  const GradientInput input{.values = gradient, .squares = {}};
  const auto vector = make_compressor(
      parse_spec("powersgd"), {.name = "b", .shape = {kElements}, .elements = kElements}, {});
  std::vector<std::byte> payload(vector->max_encoded_size());
  const auto none = make("none");
  for (Compressor* one : {none.get(), vector.get()}) {
    EXPECT_EQ(one->rounds(), 1);
    EXPECT_THROW(one->first_round(input, payload), std::logic_error);
    EXPECT_THROW(one->next_round(gradient, payload), std::logic_error);
    EXPECT_THROW(one->own_payload(payload), std::logic_error);
  }
  const auto compressor = make("powersgd:rank=1");
  const std::size_t most = compressor->max_encoded_size();
  const std::vector<float> p(kRows, 1.0F);
  EXPECT_THROW(compressor->next_round(p, payload), std::logic_error);
  EXPECT_THROW(compressor->first_round(input, std::span(payload).first(most - 1)), InputError);
  EXPECT_EQ(compressor->first_round(input, payload).encoded_bytes, kRows * 4);
  EXPECT_THROW(compressor->next_round(std::span(p).first(kRows - 1), payload), InputError);
  EXPECT_THROW(compressor->next_round(p, std::span(payload).first(most - 1)), InputError);
  EXPECT_EQ(compressor->next_round(p, payload), kColumns * 4);
  EXPECT_EQ(compressor->next_round(std::vector<float>(kColumns, 1.0F), payload), most);
  EXPECT_THROW(compressor->next_round(p, payload), std::logic_error);
}

TEST(PowerSgdRounds, NothingIsAllocatedAfterTheFirstStep) {
  if (!testing::counts_allocations()) GTEST_SKIP() << "the sanitizer's operator new is in use";
  for (const char* spec : {"powersgd", "powersgd:memory=ef21"}) {
    const auto compressor = make(spec);
    const auto gradients = gradients_of(1, 0);
    std::vector<std::byte> payload(compressor->max_encoded_size());
    std::vector<float> mean(payload.size() / sizeof(float), 1.0F);
    std::size_t before = 0;
    for (std::uint64_t step = 0; step < 3; ++step) {
      if (step == 1) before = testing::allocations();
      std::size_t bytes =
          compressor->first_round({.values = gradients[0], .squares = {}, .step = step}, payload)
              .encoded_bytes;
      for (int round = 0; round < 2; ++round) {
        bytes = compressor->next_round(std::span(mean).first(bytes / sizeof(float)), payload);
      }
    }
    EXPECT_EQ(testing::allocations() - before, 0U) << spec;
  }
}

}  // namespace
}  // namespace thinpipe
