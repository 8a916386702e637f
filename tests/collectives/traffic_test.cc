#include "workloads/collectives/traffic.h"

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "tests/collectives/collective_inputs.h"
#include "tests/collectives/thread_transport.h"
#include "workloads/collectives/collectives.h"

namespace thinpipe {

void PrintTo(const Traffic& traffic, std::ostream* out) {
  *out << "sent " << traffic.sent.messages << " messages of " << traffic.sent.bytes
       << " B, received " << traffic.received.messages << " of " << traffic.received.bytes;
}

namespace {

// Traffic that a transport has counted so far.
Traffic traffic_of(const ThreadTransport& transport) {
  const TransportCounters sent = transport.counters(), received = transport.received();
  return {.sent = {sent.messages, sent.bytes}, .received = {received.messages, received.bytes}};
}

// Runs body(collective, transport), whose transport counts, for every rank in a thread of its own.
template <typename Body>
void on_counted_ranks(const std::string& collective, int ranks, std::size_t capacity, Body body) {
  Mailboxes boxes;
  on_all_ranks(boxes, ranks, [&](std::unique_ptr<ThreadTransport> transport) {
    const ThreadTransport& counters = *transport;
    const auto own = make_collective(parse_spec(collective), std::move(transport), capacity);
    body(*own, counters);
  });
}

// Traffic that the transports of all ranks counted while each did `call(collective, rank)`.
template <typename Call>
std::vector<Traffic> counted(const std::string& collective, int ranks, std::size_t capacity,
                             Call call) {
  std::vector<Traffic> traffic(static_cast<std::size_t>(ranks));
  on_counted_ranks(collective, ranks, capacity,
                   [&](Collective& own, const ThreadTransport& transport) {
                     call(own, transport.rank());
                     traffic[static_cast<std::size_t>(transport.rank())] = traffic_of(transport);
                   });
  return traffic;
}

// The closed form of an all-reduce, by rank.
std::vector<Traffic> reduce_traffic(const std::string& collective, const SummedArray& array,
                                    int ranks) {
  std::vector<Traffic> traffic;
  for (int rank = 0; rank < ranks; ++rank)
    traffic.push_back(all_reduce_traffic(parse_spec(collective), array, ranks, rank));
  return traffic;
}

class TrafficTest : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(TrafficTest, OfAnAllReduceIsWhatTransportsCount) {
  const auto& [collective, ranks] = GetParam();
  for (const ElementType type : {ElementType::kFloat32, ElementType::kBfloat16})
    for (const std::size_t elements : {0, 1, 3, 5, 1000, 8192 * 4 + 1, 300001}) {
      const std::vector<std::byte> own(elements * size_of(type));
      const auto traffic = counted(collective, ranks, 0, [&](Collective& exchange, int) {
        std::vector<std::byte> result(own.size());
        operation<AllReduce>(exchange).all_reduce(type, own, result, 1);
      });
      SCOPED_TRACE(::testing::Message() << elements << " elements of " << to_string(type));
      EXPECT_EQ(traffic, reduce_traffic(collective, {elements, type}, ranks));
    }
}

TEST_P(TrafficTest, OfAnAllGatherIsWhatTransportsCount) {
  const auto& [collective, ranks] = GetParam();
  const std::vector<std::size_t> lengths = {0, 1, 32760, 32761, 70000, 200001, 5};
  for (std::size_t shift = 0; shift < lengths.size(); ++shift) {
    std::vector<std::size_t> sizes;
    for (int rank = 0; rank < ranks; ++rank)
      sizes.push_back(lengths[(shift + static_cast<std::size_t>(rank)) % lengths.size()]);
    const auto traffic = counted(collective, ranks, 200001, [&](Collective& exchange, int rank) {
      operation<AllGather>(exchange).all_gather(
          std::vector<std::byte>(sizes[static_cast<std::size_t>(rank)]));
    });
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(traffic[static_cast<std::size_t>(rank)],
                all_gather_traffic(parse_spec(collective), sizes, rank))
          << "rank " << rank << ", from length " << shift << " on";
  }
}

INSTANTIATE_TEST_SUITE_P(Collectives, TrafficTest,
                         ::testing::Combine(::testing::ValuesIn(transport_collectives()),
                                            ::testing::Values(1, 2, 3, 4, 5, 7, 8)),
                         plan_collective_name);

TEST(Traffic, OfQgzAndOfTheRingBesideSparseSums) {
  for (const auto& [collective, ranks] :
       std::vector<std::pair<std::string, int>>{{"qgz:group=1", 3},
                                                {"qgz:group=2,block=32", 6},
                                                {"qgz:group=4,gather=fp32", 4},
                                                {"qgz:gather=int4", 8},
                                                {"gtopk", 3},
                                                {"oktopk", 4}})
    for (const std::size_t elements : {0, 5, 1000, 300001}) {
      const std::vector<float> own(elements, 1);
      const auto traffic = counted(collective, ranks, 0, [&](Collective& exchange, int) {
        std::vector<float> result(elements);
        operation<AllReduce>(exchange).all_reduce(own, result, 1);
      });
      SCOPED_TRACE(::testing::Message() << collective << ", " << elements << " elements");
      EXPECT_EQ(traffic, reduce_traffic(collective, elements, ranks));
    }
}

std::uint64_t sent(const std::string& collective, std::size_t elements, int ranks, int rank) {
  return all_reduce_traffic(parse_spec(collective), elements, ranks, rank).sent.bytes;
}

// As docs/collectives.md has them, of 840 floats, which every number of parts divides.
TEST(Traffic, OfEvenParts) {
  constexpr std::uint64_t kBytes = 840 * 4;
  EXPECT_EQ(sent("ring", 840, 4, 1), kBytes * 2 * 3 / 4);
  EXPECT_EQ(sent("gloo", 840, 4, 1), kBytes * 2 * 3 / 4);
  EXPECT_EQ(sent("halving-doubling", 840, 8, 5), kBytes * 2 * 7 / 8);
  EXPECT_EQ(sent("hierarchical:group=2", 840, 6, 5), kBytes * 2 * 5 / 6);
  EXPECT_EQ(sent("recursive-doubling", 840, 8, 5), kBytes * 3);
  // With six ranks, 0 and 2 are folded into 1 and 3.
  EXPECT_EQ(sent("recursive-doubling", 840, 6, 0), kBytes);
  EXPECT_EQ(sent("recursive-doubling", 840, 6, 1), kBytes * 3);
  EXPECT_EQ(sent("recursive-doubling", 840, 6, 4), kBytes * 2);
  EXPECT_EQ(sent("halving-doubling", 840, 6, 3), kBytes * (2 * 3 / 4.0 + 1));
  EXPECT_EQ(sent("tree", 840, 8, 0), kBytes * 3);
  EXPECT_EQ(sent("tree", 840, 8, 4), kBytes * 3);
  EXPECT_EQ(sent("tree", 840, 8, 7), kBytes);
}

TEST(Traffic, OfUnevenParts) {
  // 5 elements, 2 ranks: parts of 3 and 2; rank 0 sends 3 then 2.
  EXPECT_EQ(sent("ring", 5, 2, 0), 20U);
  // Three parts of 2, 2, 1: rank 0 sends the first, third, second and first.
  EXPECT_EQ(sent("ring", 5, 3, 0), 28U);
  // Two chunks of two segments, of 2 and 2, and of 1 and 0: rank 0 sends the second chunk, then the
  // first.
  EXPECT_EQ(sent("gloo", 5, 2, 0), 20U);
}

TEST(Traffic, StepsFollowEachOther) {
  const auto reduce = [](const char* collective, int ranks) {
    return all_reduce_steps(parse_spec(collective), ranks);
  };
  const auto gather = [](const char* collective, int ranks) {
    return all_gather_steps(parse_spec(collective), ranks);
  };
  EXPECT_EQ(reduce("ring", 8), 14);
  EXPECT_EQ(reduce("recursive-doubling", 8), 3);
  EXPECT_EQ(reduce("recursive-doubling", 7), 4);
  EXPECT_EQ(reduce("halving-doubling", 8), 6);
  EXPECT_EQ(reduce("tree", 8), 6);
  EXPECT_EQ(reduce("tree", 7), 4);
  EXPECT_EQ(reduce("hierarchical", 8), 8);
  EXPECT_EQ(reduce("qgz:group=2", 8), 1 + 1 + 3);
  EXPECT_EQ(reduce("qgz:group=8", 8), 1 + 3);
  EXPECT_EQ(reduce("gloo", 8), 14);
  EXPECT_EQ(gather("ring", 8), 7);
  EXPECT_EQ(gather("recursive-doubling", 5), 3);
  EXPECT_EQ(gather("tree", 8), 6);
  EXPECT_EQ(gather("hierarchical:group=2", 8), 4);
  EXPECT_EQ(gather("gloo", 8), 7 + 1);
  for (const std::string& collective : transport_collectives()) {
    EXPECT_EQ(reduce(collective.c_str(), 1), 0) << collective;
    EXPECT_EQ(gather(collective.c_str(), 1), 0) << collective;
  }
}

TEST(Traffic, WhatHasNoClosedFormIsRefused) {
  const std::vector<std::size_t> sizes(2);
  EXPECT_THROW(all_reduce_traffic(parse_spec("openmpi"), 1, 2, 0), InputError);
  EXPECT_THROW(all_reduce_traffic(parse_spec("qgz"), {1, ElementType::kFloat16}, 2, 0), InputError);
  EXPECT_THROW(all_gather_traffic(parse_spec("openmpi"), sizes, 0), InputError);
  EXPECT_THROW(all_reduce_steps(parse_spec("openmpi"), 2), InputError);
  EXPECT_THROW(all_reduce_traffic(parse_spec("hierarchical:group=0"), 1, 2, 0), InputError);
}

/// Exactly so many elements, placed by `skew` (sparse_input()), magnitudes all different.
SparseInput exactly(std::size_t count, std::uint64_t seed, double skew) {
  SparseInput input = sparse_input(kDimension, count * 2, seed, false, skew);
  EXPECT_GE(input.indices.size(), count);
  input.indices.resize(count);
  input.values.resize(count);
  return input;
}

struct Counted {
  std::vector<Traffic> traffic;
  std::size_t selected = 0;
};

/// Traffic that transports counted in the last of `calls` calls.
Counted count_sparse(const std::string& collective, int ranks, std::size_t own, std::size_t k,
                     double skew, int calls) {
  Counted counted;
  counted.traffic.resize(static_cast<std::size_t>(ranks));
  const auto call_all = [&](Collective& exchange, const ThreadTransport& transport) {
    const int rank = transport.rank();
    Traffic before;
    for (int call = 0; call < calls; ++call) {
      before = traffic_of(transport);
      const SparseInput input = exactly(own, static_cast<std::uint64_t>(rank) + 1, skew);
      const SparseSum sum =
          operation<SparseAllReduce>(exchange).sparse_all_reduce(input.view(), k, kDimension, 1);
      if (rank == 0) counted.selected = sum.sum.size();
    }
    const Traffic after = traffic_of(transport);
    counted.traffic[static_cast<std::size_t>(rank)] = {
        .sent = after.sent - before.sent, .received = after.received - before.received};
  };
  on_counted_ranks(collective, ranks, 0, call_all);
  return counted;
}

// Traffic of `words` 32-bit words from every rank.
Traffic words_of_all(std::size_t words, int ranks, int rank) {
  const std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks),
                                       words * sizeof(std::uint32_t));
  return block_gather_traffic(sizes, rank);
}

TEST(SparseTraffic, OfAgreeingOnAMeanIsWhatIsSent) {
  for (const int ranks : {1, 2, 3, 5, 8}) {
    const auto counts = counted("oktopk", ranks, 0, [](Collective& collective, int) {
      EXPECT_EQ(operation<SparseAllReduce>(collective).mean_count(5, 10), 5U);
    });
    for (int rank = 0; rank < ranks; ++rank) {
      const Traffic traffic = words_of_all(1, ranks, rank);
      EXPECT_EQ(traffic.sent.bytes, 4U * static_cast<unsigned>(ranks - 1));
      EXPECT_EQ(traffic, counts[static_cast<std::size_t>(rank)]);
    }
  }
}

void expect_within(const Volume& counted, const Volume& least, const Volume& most) {
  EXPECT_GE(counted.bytes, least.bytes);
  EXPECT_LE(counted.bytes, most.bytes);
  EXPECT_GE(counted.messages, least.messages);
  EXPECT_LE(counted.messages, most.messages);
}

TEST(SparseTraffic, LiesBetweenItsBounds) {
  for (const char* collective : {"gtopk", "oktopk", "oktopk:balance=1", "oktopk:balance=100"})
    for (const int ranks : {1, 2, 3, 4, 6, 8})
      for (const double skew : {1.0, 20.0})
        for (const auto& [own, k] :
             std::vector<std::pair<std::size_t, std::size_t>>{{300, 300}, {50, 300}, {400, 100}}) {
          SCOPED_TRACE(::testing::Message() << collective << " " << ranks << " ranks, skew " << skew
                                            << ", own " << own << ", k " << k);
          // The second call finds neither regions nor a threshold anew.
          const Counted counted = count_sparse(collective, ranks, own, k, skew, 2);
          for (int rank = 0; rank < ranks; ++rank) {
            const auto bounds = sparse_all_reduce_traffic(
                parse_spec(collective), {.own = own, .k = k, .selected = counted.selected}, ranks,
                rank);
            const Traffic& one = counted.traffic[static_cast<std::size_t>(rank)];
            expect_within(one.sent, bounds.least.sent, bounds.most.sent);
            expect_within(one.received, bounds.least.received, bounds.most.received);
          }
        }
}

TEST(SparseTraffic, OfGTopKIsExactWhereAllRanksBringK) {
  for (const int ranks : {2, 3, 5, 8}) {
    const Counted counted = count_sparse("gtopk", ranks, 200, 200, 1, 1);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto bounds = sparse_all_reduce_traffic(
          parse_spec("gtopk"), {.own = 200, .k = 200, .selected = 200}, ranks, rank);
      EXPECT_EQ(bounds.least, bounds.most);
      EXPECT_EQ(counted.traffic[static_cast<std::size_t>(rank)], bounds.even);
    }
  }
}

TEST(SparseTraffic, OfOkTopKIsAboutEvenWhereElementsAre) {
  for (const int ranks : {2, 3, 8}) {
    const Counted counted = count_sparse("oktopk", ranks, 2000, 2000, 1, 2);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto even = sparse_all_reduce_traffic(
                            parse_spec("oktopk"),
                            {.own = 2000, .k = 2000, .selected = counted.selected}, ranks, rank)
                            .even;
      const Traffic& one = counted.traffic[static_cast<std::size_t>(rank)];
      // A part has 250 elements, some 15 more or less.
      EXPECT_NEAR(static_cast<double>(one.sent.bytes), static_cast<double>(even.sent.bytes),
                  0.15 * static_cast<double>(even.sent.bytes));
      EXPECT_NEAR(static_cast<double>(one.received.bytes), static_cast<double>(even.received.bytes),
                  0.15 * static_cast<double>(even.received.bytes));
    }
  }
}

TEST(SparseTraffic, OfFindingRegionsAndThresholdsComesOnTop) {
  // Both calls exchange the same vectors. Only the first call finds regions and a threshold. All
  // ranks have more than k + 1 sums.
  const Counted first = count_sparse("oktopk", 4, 2000, 100, 1, 1);
  const Counted second = count_sparse("oktopk", 4, 2000, 100, 1, 2);
  // To find regions, each rank sends the beginnings of the 3 regions after the first. To find a
  // threshold, each rank sends the number of its sums, then the k + 1 greatest.
  for (int rank = 0; rank < 4; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    EXPECT_EQ(first.traffic[r].sent - second.traffic[r].sent, words_of_all(3, 4, rank).sent +
                                                                  words_of_all(1, 4, rank).sent +
                                                                  words_of_all(101, 4, rank).sent);
  }
}

TEST(SparseTraffic, StepsFollowEachOther) {
  const auto steps = [](const char* collective, int ranks) {
    return sparse_all_reduce_steps(parse_spec(collective), ranks);
  };
  EXPECT_EQ(steps("gtopk", 8), 6);
  EXPECT_EQ(steps("gtopk", 5), 6);
  EXPECT_EQ(steps("oktopk", 8), 2 + 6);
  EXPECT_EQ(steps("oktopk:bucket=1", 8), 7 + 6);
  EXPECT_EQ(steps("oktopk", 1), 0);
  EXPECT_THROW(steps("ring", 4), InputError);
  EXPECT_THROW(sparse_all_reduce_traffic(parse_spec("qgz"), {}, 4, 0), InputError);
}

}  // namespace
}  // namespace thinpipe
