// Every collective's all-reduce and all-gather.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/collectives/collective_inputs.h"
#include "tests/collectives/thread_transport.h"
#include "workloads/collectives/collective.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/flows.h"
#include "workloads/collectives/plans.h"
#include "workloads/collectives/segments.h"

namespace thinpipe {
namespace {

using Arrays = std::vector<std::vector<float>>;

// Every rank's input is seeded by its rank.
std::vector<float> input_of(int rank, std::size_t elements) {
  std::mt19937 generator(static_cast<unsigned>(rank) * 7919 + 1);
  std::normal_distribution<float> normal;
  std::vector<float> values(elements);
  for (float& value : values) value = normal(generator);
  return values;
}

Arrays inputs_of(int ranks, std::size_t elements) {
  Arrays inputs;
  for (int rank = 0; rank < ranks; ++rank) inputs.push_back(input_of(rank, elements));
  return inputs;
}

std::vector<double> mean_of(const Arrays& inputs) {
  std::vector<double> mean(inputs[0].size());
  for (const std::vector<float>& input : inputs)
    for (std::size_t i = 0; i < input.size(); ++i)
      mean[i] += static_cast<double>(input[i]) / static_cast<double>(inputs.size());
  return mean;
}

// Every rank's result after `calls` calls in a row.
Arrays all_reduced(const std::string& collective, const Arrays& inputs, int calls = 1) {
  const int ranks = static_cast<int>(inputs.size());
  Arrays results(inputs.size(), std::vector<float>(inputs[0].size(), -1));
  on_all_ranks(collective, ranks, [&](Collective& own, int number) {
    const auto rank = static_cast<std::size_t>(number);
    for (int call = 0; call < calls; ++call)
      operation<AllReduce>(own).all_reduce(inputs[rank], results[rank],
                                           1.0F / static_cast<float>(ranks));
  });
  return results;
}

AllReducePlanner planner_of(const std::string& collective) {
  const Spec spec = parse_spec(collective);
  return [plan = find_collective(spec.name).reduce->plan, parameters = collective_parameters(spec)](
             int ranks, int rank) { return plan(parameters, ranks, rank); };
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.empty() ? b.empty()
                   : a.size() == b.size() &&
                         std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

class AllReduceTest : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(AllReduceTest, GivesTheMeanAndTheSameBitsEverywhere) {
  const auto& [collective, ranks] = GetParam();
  // None, fewer than ranks, uneven, one segment and one more, many segments.
  for (const std::size_t elements : {0, 1, 3, 5, 1000, 8192 * 4 + 1, 300001}) {
    const Arrays inputs = inputs_of(ranks, elements);
    const std::vector<double> expected = mean_of(inputs);
    for (const std::vector<float>& result : all_reduced(collective, inputs)) {
      ASSERT_EQ(result.size(), expected.size());
      for (std::size_t i = 0; i < elements; ++i)
        // n additions and one product, each within half an ulp of at most |8| here.
        ASSERT_NEAR(result[i], expected[i], 1e-5) << "element " << i << " of " << elements;
    }
    const Arrays results = all_reduced(collective, inputs, 2);
    for (const std::vector<float>& result : results) EXPECT_TRUE(same_bits(result, results[0]));
    EXPECT_TRUE(same_bits(results[0], all_reduced(collective, inputs)[0])) << "differs by call";
  }
}

TEST_P(AllReduceTest, WhatIsNotFiniteComesThroughAsInAPlainSum) {
  const auto& [collective, ranks] = GetParam();
  constexpr std::size_t kElements = 20000;
  constexpr float kInf = std::numeric_limits<float>::infinity();
  Arrays inputs = inputs_of(ranks, kElements);
  // The inputs have NaNs with different bits from different ranks, and infinities of one sign and
  // of both. These values are at the front, in the middle and at the end of the array.
  std::vector<std::size_t> places = {0, 9999, kElements - 6};
  for (const std::size_t at : places)
    for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
      std::vector<float>& input = inputs[rank];
      input[at] = std::nanf(std::to_string(rank + 1).c_str());
      if (rank == inputs.size() / 2) input[at + 1] = std::nanf("77");
      input[at + 2] = kInf;
      if (rank == 0) input[at + 3] = -kInf;
      if (rank + 1 == inputs.size()) input[at + 4] = kInf;
      input[at + 5] = rank == 0 ? kInf : -kInf;
    }
  const std::vector<double> expected = mean_of(inputs);
  const Arrays results = all_reduced(collective, inputs);
  for (const std::vector<float>& result : results) {
    EXPECT_TRUE(same_bits(result, results[0]));
    for (std::size_t i = 0; i < kElements; ++i) {
      ASSERT_EQ(std::isnan(result[i]), std::isnan(expected[i])) << "element " << i;
      if (std::isinf(expected[i])) {
        ASSERT_EQ(result[i], static_cast<float>(expected[i])) << "element " << i;
      } else if (std::isfinite(expected[i])) {
        ASSERT_NEAR(result[i], expected[i], 1e-5) << "element " << i;
      }
    }
  }
}

// 16-bit elements as floats, and back.
std::vector<std::uint16_t> halves_of(const std::vector<float>& values, ElementType type) {
  std::vector<std::uint16_t> halves;
  for (const float value : values) halves.push_back(to_half_or_infinity(value, half_format(type)));
  return halves;
}

std::vector<float> floats_of(const std::vector<std::uint16_t>& halves, ElementType type) {
  std::vector<float> values;
  for (const std::uint16_t half : halves) values.push_back(from_any_half(half, half_format(type)));
  return values;
}

// Every rank's result, and the expected one: the plan carried out by one rank.
struct HalfSumsOfRanks {
  Arrays results, expected;
};

HalfSumsOfRanks half_sums(const std::string& collective, const Arrays& inputs, ElementType type,
                          float factor) {
  const int ranks = static_cast<int>(inputs.size());
  HalfSumsOfRanks sums{Arrays(inputs.size()), Arrays(inputs.size())};
  std::vector<std::vector<std::uint16_t>> halves;
  Arrays exact;
  for (const std::vector<float>& input : inputs) {
    halves.push_back(halves_of(input, type));
    exact.push_back(floats_of(halves.back(), type));
  }
  on_all_ranks(collective, ranks, [&](Collective& own, int number) {
    const auto rank = static_cast<std::size_t>(number);
    auto& all_reduce = operation<AllReduce>(own);
    EXPECT_TRUE(all_reduce.lossy(type));
    EXPECT_TRUE(all_reduce.knows_order());
    std::vector<std::uint16_t> result(halves[rank].size());
    all_reduce.all_reduce(type, std::as_bytes(std::span(halves[rank])),
                          std::as_writable_bytes(std::span(result)), factor);
    sums.results[rank] = floats_of(result, type);
    sums.expected[rank].resize(result.size());
    all_reduce.expected_all_reduce(type, spans(exact), factor, sums.expected[rank]);
  });
  return sums;
}

TEST_P(AllReduceTest, Of16BitElementsAddsInItsOwnOrderToTheBit) {
  const auto& [collective, ranks] = GetParam();
  for (const ElementType type : {ElementType::kFloat16, ElementType::kBfloat16})
    for (const float factor : {1.0F, 1 / static_cast<float>(ranks)})
      for (const std::size_t elements : {0, 1, 3, 5, 1000, 16384 * 4 + 1, 100001}) {
        SCOPED_TRACE(::testing::Message() << to_string(type) << ", " << elements << " elements");
        const Arrays inputs = inputs_of(ranks, elements);
        const HalfSumsOfRanks sums = half_sums(collective, inputs, type, factor);
        const std::vector<double> mean = mean_of(inputs);
        const double unit = type == ElementType::kFloat16 ? 0x1p-11 : 0x1p-8;
        for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
          ASSERT_TRUE(same_bits(sums.results[rank], sums.expected[rank]));
          ASSERT_TRUE(same_bits(sums.results[rank], sums.results[0]));
        }
        for (std::size_t i = 0; i < elements; ++i) {
          // Every input is rounded once and every sum, of at most the sum of magnitudes, n times.
          double magnitudes = 0;
          for (const std::vector<float>& input : inputs)
            magnitudes += std::fabs(static_cast<double>(input[i]));
          ASSERT_NEAR(static_cast<double>(sums.results[0][i]),
                      mean[i] * ranks * static_cast<double>(factor),
                      1.01 * (ranks + 1) * unit * magnitudes * static_cast<double>(factor) + 1e-6);
        }
      }
}

TEST_P(AllReduceTest, Of16BitElementsOverflowsToInfinityAndKeepsNan) {
  const auto& [collective, ranks] = GetParam();
  for (const ElementType type : {ElementType::kFloat16, ElementType::kBfloat16}) {
    const float most = type == ElementType::kFloat16 ? 65504.0F : 0x1.fep127F;
    Arrays inputs;
    for (int rank = 0; rank < ranks; ++rank)
      inputs.push_back({most, -most, rank == 0 ? most : -1, std::nanf("3"),
                        std::numeric_limits<float>::infinity(), rank == 0 ? 0x1p-24F : 0.0F,
                        -0.0F});
    const HalfSumsOfRanks sums = half_sums(collective, inputs, type, 1);
    for (const std::vector<float>& result : sums.results) {
      EXPECT_EQ(std::isinf(result[0]), ranks > 1);
      EXPECT_EQ(std::isinf(result[1]), ranks > 1);
      EXPECT_TRUE(std::isfinite(result[2]));
      EXPECT_TRUE(std::isnan(result[3]));
      EXPECT_TRUE(std::isinf(result[4]));
      EXPECT_EQ(result[5], 0x1p-24F);  // fp16's least number
      EXPECT_TRUE(same_bits(result, sums.results[0]));
    }
  }
}

class PlanTest : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

// The plan carried out by one rank, of floats: the network's own additions, one by one.
TEST_P(PlanTest, SaysHowFloatsAreAdded) {
  const auto& [collective, ranks] = GetParam();
  const AllReducePlanner planner = planner_of(collective);
  for (const std::size_t elements : {1, 5, 100001}) {
    const Arrays inputs = inputs_of(ranks, elements);
    std::vector<float> expected(elements);
    const float factor = 1 / static_cast<float>(ranks);
    sum_by_plan(planner, ElementType::kFloat32, spans(inputs), factor, expected);
    EXPECT_TRUE(same_bits(all_reduced(collective, inputs)[0], expected)) << elements;
  }
}

// Several times as much as a rank sends ahead, so that all ranks wait for others.
TEST(AllReduce, OfLongArraysEnds) {
  constexpr std::size_t kElements = 1500007;
  for (const int ranks : {3, 6, 8})
    for (const std::string& collective : transport_collectives()) {
      Arrays inputs;
      for (int rank = 0; rank < ranks; ++rank) {
        inputs.emplace_back(kElements, static_cast<float>(rank));
        inputs.back()[kElements - 1] = 1;
      }
      for (const std::vector<float>& result : all_reduced(collective, inputs)) {
        ASSERT_EQ(std::count(result.begin(), result.end() - 1, result[0]), kElements - 1);
        ASSERT_NEAR(result[0], static_cast<float>(ranks - 1) / 2, 1e-6);
        ASSERT_NEAR(result.back(), 1, 1e-6);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Collectives, AllReduceTest,
                         ::testing::Combine(::testing::ValuesIn(transport_collectives()),
                                            ::testing::Values(1, 2, 3, 4, 5, 7, 8)),
                         plan_collective_name);

INSTANTIATE_TEST_SUITE_P(Collectives, PlanTest,
                         ::testing::Combine(::testing::ValuesIn(plan_collectives()),
                                            ::testing::Values(1, 2, 3, 4, 5, 7, 8)),
                         plan_collective_name);

// Tests of every collective's all-gather: of messages of different sizes, and of messages that
// arrive in the send buffer while they are being sent.

constexpr std::size_t kCapacity = 700001;

// Each rank's bytes are its own.
std::vector<std::byte> message_of(int rank, std::size_t size) {
  std::vector<std::byte> message(size);
  for (std::size_t i = 0; i < size; ++i)
    message[i] =
        static_cast<std::byte>(((i * 2654435761U) >> 8) + static_cast<std::size_t>(rank) * 31);
  return message;
}

// Message lengths around the edges of a segment, whose first 8 bytes are the length, and the length
// 0.
const std::vector<std::size_t> kLengths = {0,     1,     32760, 32761,    32759,
                                           32768, 65528, 65529, kCapacity};

class AllGatherTest : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(AllGatherTest, EveryRankGetsEveryMessage) {
  const auto& [collective, ranks] = GetParam();
  const auto gather_all = [count = ranks](Collective& own, int self) {
    // The same object serves many steps with ever other lengths.
    for (std::size_t step = 0; step < kLengths.size(); ++step) {
      const auto length = [&](int rank) {
        return kLengths[(step + static_cast<std::size_t>(rank)) % kLengths.size()];
      };
      const auto& messages = operation<AllGather>(own).all_gather(message_of(self, length(self)));
      ASSERT_EQ(messages.size(), static_cast<std::size_t>(count));
      for (int rank = 0; rank < count; ++rank) {
        const auto& got = messages[static_cast<std::size_t>(rank)];
        const auto expected = message_of(rank, length(rank));
        ASSERT_TRUE(std::equal(got.begin(), got.end(), expected.begin(), expected.end()))
            << "rank " << self << " step " << step << " message of " << rank;
      }
    }
  };
  on_all_ranks(collective, ranks, gather_all, kCapacity);
}

INSTANTIATE_TEST_SUITE_P(Collectives, AllGatherTest,
                         ::testing::Combine(::testing::ValuesIn(transport_collectives()),
                                            ::testing::Values(1, 2, 3, 4, 5, 7, 8)),
                         plan_collective_name);

TEST(AllGather, RefusesAnImpossibleLength) {
  const auto gather = [](const std::vector<std::byte>& lie) {
    Mailboxes boxes;
    ThreadTransport(boxes, 1, 2).send(0, 0, 0, lie);
    operation<AllGather>(*over_threads("ring", boxes, 0, 2, 100)).all_gather({});
  };
  for (const std::size_t size : {16, 4})
    EXPECT_THROW(gather(std::vector(size, std::byte{0xff})), InputError);
  // A segment past the end of a message of 2 bytes.
  std::vector<std::byte> longer(20);
  longer[0] = std::byte{2};
  EXPECT_THROW(gather(longer), InputError);
}

TEST(AllGather, RefusesAnOwnMessageOverItsCapacity) {
  Mailboxes boxes;
  const auto collective = over_threads("tree", boxes, 0, 1, 10);
  EXPECT_THROW(operation<AllGather>(*collective).all_gather(std::vector<std::byte>(11)),
               InputError);
}

// A message that arrives in steps; bytes that have not arrived have other values.
class SlowMessage : public StagedGather {
 public:
  SlowMessage(std::vector<std::byte> whole, std::size_t step)
      : whole_(std::move(whole)), here_(whole_.size(), std::byte{0xff}), step_(step) {}

  std::span<const std::byte> own() const override { return here_; }
  std::size_t ready() override {
    ++asked_;
    if (asked_ % 3 != 0) return ready_;
    const std::size_t next = std::min(whole_.size(), ready_ + step_);
    std::copy(whole_.begin() + static_cast<std::ptrdiff_t>(ready_),
              whole_.begin() + static_cast<std::ptrdiff_t>(next),
              here_.begin() + static_cast<std::ptrdiff_t>(ready_));
    return ready_ = next;
  }
  void arrived(int rank, std::span<const std::byte> message) override {
    EXPECT_TRUE(arrived_.emplace(rank, std::vector(message.begin(), message.end())).second);
  }

  const std::map<int, std::vector<std::byte>>& all() const { return arrived_; }
  bool is_here() const { return ready_ == whole_.size(); }

 private:
  std::vector<std::byte> whole_, here_;
  std::size_t step_, ready_ = 0, asked_ = 0;
  std::map<int, std::vector<std::byte>> arrived_;
};

// With each collective, a message that becomes available late arrives like one that is available at
// once. Every rank is notified exactly once of every other rank's message.
TEST(StagedGather, ArrivesWholeWhereverItComesFrom) {
  for (const char* collective : {"ring", "recursive-doubling", "tree", "hierarchical:group=2"})
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, kSegmentBytes - 8, kSegmentBytes, 3 * kSegmentBytes + 5})
      for (const std::size_t step : {std::size_t{1000}, kSegmentBytes, std::size_t{1} << 20}) {
        SCOPED_TRACE(std::string(collective) + ", " + std::to_string(size) + " bytes by " +
                     std::to_string(step));
        constexpr int kRanks = 4;
        std::mutex one_at_a_time;  // of expectations
        const auto gather_twice = [&](Collective& made, int rank) {
          for (int round = 0; round < 2; ++round) {
            SlowMessage own(message_of(rank, size), step);
            const auto& messages = operation<AllGather>(made).gather_staged(own);
            const std::lock_guard lock(one_at_a_time);
            EXPECT_TRUE(own.is_here());
            for (int other = 0; other < kRanks; ++other) {
              const auto expected = message_of(other, size);
              const auto found = messages[static_cast<std::size_t>(other)];
              EXPECT_TRUE(std::vector(found.begin(), found.end()) == expected);
              if (other == rank) continue;
              ASSERT_EQ(own.all().count(other), 1U);
              EXPECT_TRUE(own.all().at(other) == expected);
            }
          }
        };
        on_all_ranks(collective, kRanks, gather_twice, size);
      }
}

// Sends the beginning of a message whose end has not come.
TEST(StagedGather, TheFrontLeavesBeforeTheEndIsHere) {
  constexpr std::size_t kSize = 4 * kSegmentBytes;
  Mailboxes boxes;
  // Its end comes when its front has arrived at the other rank.
  class Waiting : public StagedGather {
   public:
    explicit Waiting(Mailboxes& all) : boxes_(all) {}
    std::span<const std::byte> own() const override { return whole_; }
    std::size_t ready() override {
      const std::lock_guard lock(boxes_.mutex);
      left_ = left_ || !boxes_.messages[{0, 1, 0}].empty();
      return left_ ? kSize : 2 * kSegmentBytes;
    }
    void arrived(int, std::span<const std::byte>) override {}
    bool left() const { return left_; }

   private:
    Mailboxes& boxes_;
    std::vector<std::byte> whole_ = message_of(0, kSize);
    bool left_ = false;
  };
  ThreadTransport first(boxes, 0, 2);
  AllGatherFlow flow({{.out = true, .peer = 1, .messages = {0}}}, first, kSize);
  Waiting own(boxes);
  flow.run(first, own);
  EXPECT_TRUE(own.left());
}

}  // namespace

}  // namespace thinpipe
