#include "workloads/exchange/streams.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "compressors/compressor.h"
#include "tests/exchange/thread_transport.h"

namespace thinpipe {
namespace {

std::vector<std::byte> content(int from, int to, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(from * 31 + to * 17));
  return bytes;
}

std::vector<std::byte> framed(const std::vector<std::byte>& bytes) {
  const std::uint64_t length = bytes.size();
  std::vector<std::byte> message(kStreamLengthBytes);
  std::memcpy(message.data(), &length, kStreamLengthBytes);
  message.insert(message.end(), bytes.begin(), bytes.end());
  return message;
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
      // 1, 2, 4, ... blocks from its own on, in the last step no more than are missing.
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

}  // namespace
}  // namespace thinpipe
