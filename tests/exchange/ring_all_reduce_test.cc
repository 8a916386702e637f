#include "workloads/exchange/ring_all_reduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/exchange/thread_transport.h"

namespace thinpipe {
namespace {

// Every rank's input is seeded by its rank, so that every rank can compute the reference itself.
std::vector<float> input_of(int rank, std::size_t elements) {
  std::mt19937 generator(static_cast<unsigned>(rank) * 7919 + 1);
  std::normal_distribution<float> normal;
  std::vector<float> values(elements);
  for (float& value : values) value = normal(generator);
  return values;
}

std::vector<double> reference_mean(int ranks, std::size_t elements) {
  std::vector<double> mean(elements);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<float> input = input_of(rank, elements);
    for (std::size_t i = 0; i < elements; ++i) mean[i] += static_cast<double>(input[i]) / ranks;
  }
  return mean;
}

class RingAllReduceTest : public testing::TestWithParam<std::tuple<int, std::size_t>> {};

TEST_P(RingAllReduceTest, GivesTheMeanAndTheSameBitsEverywhere) {
  const auto [ranks, elements] = GetParam();
  const std::vector<double> expected = reference_mean(ranks, elements);
  std::vector<std::vector<float>> results(static_cast<std::size_t>(ranks));
  on_all_ranks(ranks, [&, ranks = ranks, elements = elements](ThreadTransport& transport) {
    const std::vector<float> own = input_of(transport.rank(), elements);
    std::vector<float> data(elements);
    RingAllReduce ring;
    ring.run(transport, own, data, 1.0F / static_cast<float>(ranks));
    EXPECT_EQ(transport.counters().bytes,
              RingAllReduce::bytes_sent(elements, ranks, transport.rank()));
    results[static_cast<std::size_t>(transport.rank())] = data;
  });
  for (const std::vector<float>& result : results) {
    EXPECT_EQ(result, results[0]);
    for (std::size_t i = 0; i < elements; ++i)
      // n additions and one product, each within half an ulp of at most |8| here.
      ASSERT_NEAR(result[i], expected[i], 1e-5) << "element " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, RingAllReduceTest,
    testing::Combine(testing::Values(1, 2, 3, 4, 8),
                     // none, fewer than ranks, uneven, one segment and one more, many segments
                     testing::Values<std::size_t>(0, 1, 3, 5, 1000, 8192 * 4 + 1, 300001)));

TEST(RingAllReduceBytes, AreTwiceNMinusOneOverNOfTheArray) {
  // 8 elements, 4 ranks: chunks of 2 floats, 2 * 3 steps of 8 bytes.
  EXPECT_EQ(RingAllReduce::bytes_sent(8, 4, 0), 48U);
  // 5 elements, 2 ranks: chunks of 3 and 2; rank 0 sends 3 then 2.
  EXPECT_EQ(RingAllReduce::bytes_sent(5, 2, 0), 20U);
}

}  // namespace
}  // namespace thinpipe
