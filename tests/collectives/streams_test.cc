// Messages in segments between all pairs of ranks, and units of several messages.

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "compressors/compressor.h"
#include "tests/collectives/collective_inputs.h"
#include "tests/collectives/thread_transport.h"
#include "workloads/collectives/push_pull_options.h"
#include "workloads/collectives/streams.h"
#include "workloads/collectives/unit_stream.h"

namespace thinpipe {
namespace {

std::vector<std::byte> content(int from, int to, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(from * 31 + to * 17));
  return bytes;
}

// Around the edges of a segment, none at all, and more than a window of segments.
std::size_t size_between(int from, int to) {
  const std::vector<std::size_t> sizes = {0, 1, 32760, 32761, 32768, 65536, 32768 * 20 + 5};
  return sizes[static_cast<std::size_t>(from * 3 + to) % sizes.size()];
}

TEST(Streams, EverybodySendsToEverybody) {
  for (const std::size_t at_once : {1, 2, 4})
    for (const int ranks : {1, 2, 3, 8})
      on_all_ranks(ranks, [&](ThreadTransport& transport) {
        const int rank = transport.rank(), n = transport.size();
        Streams streams(at_once);
        for (int repetition = 0; repetition < 2; ++repetition) {
          std::vector<std::vector<std::byte>> known(static_cast<std::size_t>(n)), unknown(known),
              out(2 * known.size());
          for (int i = 1; i < n; ++i) {
            const int to = (rank + i) % n, from = (rank + n - i) % n;
            const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
            out[2 * t] = framed(content(rank, to, size_between(rank, to)));
            out[2 * t + 1] = content(rank, to, size_between(to, rank));
            streams.send(to, out[2 * t]);
            streams.receive_framed(from, unknown[f], 1'000'000);
          }
          streams.run(transport);
          for (int i = 1; i < n; ++i) {
            const int to = (rank + i) % n, from = (rank + n - i) % n;
            const auto f = static_cast<std::size_t>(from), t = static_cast<std::size_t>(to);
            streams.send(to, out[2 * t + 1]);
            known[f].resize(size_between(rank, from));
            streams.receive(from, known[f]);
          }
          streams.run(transport);
          for (int i = 1; i < n; ++i) {
            const int from = (rank + n - i) % n;
            const auto f = static_cast<std::size_t>(from);
            const auto got = framed_content(unknown[f]);
            const auto expected = content(from, rank, size_between(from, rank));
            EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin(), expected.end()));
            EXPECT_EQ(known[f], content(from, rank, size_between(rank, from)));
          }
        }
      });
}

TEST(Streams, RefusesImpossibleLengths) {
  const auto receive = [](const std::vector<std::byte>& sent) {
    Mailboxes boxes;
    ThreadTransport liar(boxes, 1, 2), honest(boxes, 0, 2);
    liar.send(0, 0, 0, sent);
    Streams streams(1);
    std::vector<std::byte> room;
    streams.receive_framed(1, room, 100);
    streams.run(honest);
  };
  receive(framed(std::vector<std::byte>(100)));
  EXPECT_THROW(receive(framed(std::vector<std::byte>(101))), PayloadError);
  EXPECT_THROW(receive(std::vector<std::byte>(7)), PayloadError);  // no whole length
  std::vector<std::byte> cut = framed(std::vector<std::byte>(50));
  cut.pop_back();
  EXPECT_THROW(receive(cut), PayloadError);
}

TEST(Streams, RefusesAnotherLengthThanTheKnownOne) {
  Mailboxes boxes;
  ThreadTransport liar(boxes, 1, 2), honest(boxes, 0, 2);
  liar.send(0, 0, 0, std::vector<std::byte>(9));
  Streams streams(1);
  std::vector<std::byte> room(10);
  streams.receive(1, room);
  EXPECT_THROW(streams.run(honest), PayloadError);
}

TEST(BlockGather, BringsBlocksOfAnySizeToAll) {
  for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
    std::vector<std::size_t> sizes;
    std::vector<std::byte> all;
    for (int rank = 0; rank < ranks; ++rank) {
      sizes.push_back(size_between(rank, 1));
      const auto block = content(rank, 0, sizes.back());
      all.insert(all.end(), block.begin(), block.end());
    }
    on_all_ranks(ranks, [&](ThreadTransport& transport) {
      const auto rank = static_cast<std::size_t>(transport.rank());
      std::vector<std::byte> blocks(all.size());
      std::size_t before = 0;
      for (std::size_t i = 0; i < rank; ++i) before += sizes[i];
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(before), sizes[rank],
                  blocks.begin() + static_cast<std::ptrdiff_t>(before));
      BlockGather gather;
      gather.run(transport, sizes, blocks);
      EXPECT_EQ(blocks, all);
      // In each step a rank sends 1, 2, 4, ... blocks, from its own block on. In the last step it
      // sends no more blocks than are missing.
      const std::size_t n = sizes.size();
      std::size_t sent = 0;
      for (std::size_t have = 1; have < n; have *= 2)
        for (std::size_t i = 0; i < std::min(have, n - have); ++i) sent += sizes[(rank + i) % n];
      EXPECT_EQ(transport.counters().bytes, sent);
    });
  }
}

TEST(MeanCount, IsRoundedUpAndTheSameOnAllRanks) {
  on_all_ranks(3, [](ThreadTransport& transport) {
    MeanCount mean;
    EXPECT_EQ(mean.run(transport, transport.rank() == 0 ? 1 : 2, 10), 2U);  // of 5 / 3
    EXPECT_EQ(mean.run(transport, 4, 4), 4U);
  });
}

TEST(MeanCount, RefusesMoreThanThereAre) {
  on_all_ranks(1, [](ThreadTransport& transport) {
    EXPECT_THROW(MeanCount().run(transport, 5, 4), InputError);
  });
}

// Messages that a sender sends before any answer, and with the answers to some units.
TEST(UnitSender, StaysSoFarAheadOfWhatWasAnswered) {
  constexpr std::size_t kUnits = 8;
  Mailboxes boxes;
  ThreadTransport transport(boxes, 0, 2);
  UnitSender paced(transport, 1, 0, 100, 0, kUnits, 10000);
  UnitSender free(transport, 1, 100, 100, 1, kUnits);
  const std::vector<std::byte> payload(4000);
  for (std::uint32_t unit = 0; unit < kUnits; ++unit) {
    paced.add(unit, payload);
    free.add(unit, payload);
  }
  free.advance();
  EXPECT_EQ(transport.counters().messages, kUnits);
  const auto sent = [&] {
    const std::uint64_t before = transport.counters().messages;
    paced.advance();
    return transport.counters().messages - before;
  };
  // The sender sends the first unit, and the units that begin less than 10000 bytes after the first
  // unit's end: at 0, 4000 and 8000.
  EXPECT_EQ(sent(), 4U);
  EXPECT_EQ(sent(), 0U);
  paced.answered(1);  // not the first
  EXPECT_EQ(sent(), 0U);
  paced.answered(0);
  EXPECT_EQ(sent(), 2U);
  EXPECT_FALSE(paced.idle());
  for (const std::uint32_t unit : {2U, 3U, 4U, 5U}) paced.answered(unit);
  EXPECT_EQ(sent(), 2U);
  EXPECT_TRUE(paced.advance() || paced.idle());
}

TEST(UnitSender, IsAheadByOneUnitHoweverLong) {
  Mailboxes boxes;
  ThreadTransport transport(boxes, 0, 2);
  UnitSender paced(transport, 1, 0, 100, 0, 3, 1);
  const std::vector<std::byte> payload(100000);  // 4 segments
  for (std::uint32_t unit = 0; unit < 3; ++unit) paced.add(unit, payload);
  paced.advance();
  EXPECT_EQ(transport.counters().messages, 8U);
}

using Servers = std::vector<int>;

TEST(PartitionUnits, TheLargestGoesToWhoeverHasLeast) {
  // Units go to servers in the order of their size: 9 to server 0; 7 and 4 to server 1, which then
  // has 11; 3 to server 0 (12); 2 to server 1.
  EXPECT_EQ(partition_units(std::vector<std::size_t>{3, 9, 2, 7, 4}, 2, Partition::kBalanced),
            (Servers{0, 0, 1, 1, 1}));
}

TEST(PartitionUnits, AmongEqualsTheFirst) {
  EXPECT_EQ(partition_units(std::vector<std::size_t>{5, 5, 5, 0, 0}, 3, Partition::kBalanced),
            (Servers{0, 1, 2, 0, 0}));
}

TEST(PartitionUnits, RoundRobinDealsThemInOrder) {
  EXPECT_EQ(partition_units(std::vector<std::size_t>{3, 9, 2, 7, 4}, 2, Partition::kRoundRobin),
            (Servers{0, 1, 0, 1, 0}));
}

TEST(PartitionUnits, WithMoreServersThanUnitsSomeHaveNone) {
  for (const Partition partition : {Partition::kBalanced, Partition::kRoundRobin})
    EXPECT_EQ(partition_units(std::vector<std::size_t>{2, 1}, 4, partition), (Servers{0, 1}));
  EXPECT_TRUE(partition_units({}, 2, Partition::kBalanced).empty());
}

}  // namespace

}  // namespace thinpipe
