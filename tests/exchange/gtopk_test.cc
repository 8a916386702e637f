#include "workloads/exchange/gtopk.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "compressors/compressor.h"
#include "tests/exchange/sparse_inputs.h"
#include "tests/exchange/thread_transport.h"

namespace thinpipe {
namespace {

struct Ended {
  std::vector<float> sum, returned;
  std::size_t pairs = 0;
  std::uint64_t bytes = 0, messages = 0;
};

std::vector<Ended> run_all(const std::vector<SparseInput>& inputs, std::size_t k,
                           std::size_t dimension, float factor,
                           PutBack put_back = PutBack::kDropper) {
  std::vector<Ended> ended(inputs.size());
  on_all_ranks(static_cast<int>(inputs.size()), [&](ThreadTransport& transport) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    GTopK gtopk(put_back);
    gtopk.run(transport, inputs[rank].view(), k, dimension, factor);
    const TransportCounters before = transport.counters();
    // The same object serves many steps.
    const SparseSum result = gtopk.run(transport, inputs[rank].view(), k, dimension, factor);
    ended[rank] = {.sum = dense(result.sum, dimension),
                   .returned = dense(result.returned, dimension),
                   .pairs = result.sum.size(),
                   .bytes = transport.counters().bytes - before.bytes,
                   .messages = transport.counters().messages - before.messages};
  });
  return ended;
}

std::vector<SparseInput> sparse_inputs_of(int ranks, std::size_t dimension, std::size_t count,
                                          bool ties) {
  std::vector<SparseInput> inputs;
  for (int rank = 0; rank < ranks; ++rank)
    inputs.push_back(sparse_input(dimension, count, static_cast<std::uint64_t>(rank) + 1, ties));
  return inputs;
}

TEST(GTopK, EndsWithWhatATreeOfMergesGives) {
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9})
    for (const bool ties : {false, true})
      for (const std::size_t k : {1, 300, 6000}) {
        SCOPED_TRACE(::testing::Message() << ranks << " ranks, k " << k << ", ties " << ties);
        // More than k, fewer, and some more than a segment of pairs.
        const auto inputs = sparse_inputs_of(ranks, kDimension, 400 + k / 2 * 2, ties);
        const float factor = 1.0F / static_cast<float>(ranks);
        const auto ended = run_all(inputs, k, kDimension, factor);
        std::vector<std::vector<float>> vectors;
        for (const SparseInput& input : inputs) vectors.push_back(dense(input.view(), kDimension));
        std::vector<float> expected(kDimension);
        GTopK::expected(spans(vectors), k, factor, expected);
        for (const Ended& one : ended) {
          EXPECT_EQ(one.sum, expected);
          EXPECT_LE(one.pairs, k);
        }
      }
}

TEST(GTopK, LosesNothing) {
  for (const int ranks : {2, 3, 4, 7, 8}) {
    const auto inputs = sparse_inputs_of(ranks, kDimension, 500, false);
    const auto ended = run_all(inputs, 200, kDimension, 1.0F);
    std::vector<std::vector<float>> vectors;
    for (const SparseInput& input : inputs) vectors.push_back(dense(input.view(), kDimension));
    for (std::size_t i = 0; i < kDimension; ++i) {
      double in = 0, out = static_cast<double>(ended[0].sum[i]), magnitudes = 0;
      for (const auto& vector : vectors) {
        in += static_cast<double>(vector[i]);
        magnitudes += std::fabs(static_cast<double>(vector[i]));
      }
      for (const Ended& one : ended) out += static_cast<double>(one.returned[i]);
      ASSERT_NEAR(in, out, 1e-6 * magnitudes) << i;
    }
  }
}

TEST(GTopK, OrEveryRankTakesItsOwnBackAsInThePaper) {
  const auto inputs = sparse_inputs_of(4, kDimension, 500, false);
  const auto ended = run_all(inputs, 200, kDimension, 0.25F, PutBack::kSender);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const std::vector<float> own = dense(inputs[rank].view(), kDimension);
    for (std::size_t i = 0; i < kDimension; ++i)
      ASSERT_EQ(ended[rank].returned[i], ended[0].sum[i] == 0 ? own[i] : 0) << i;
  }
}

TEST(GTopK, SendsAtMostKPairsUpAndDown) {
  for (const int ranks : {2, 3, 4, 6, 8}) {
    const std::size_t k = 100, message = 8 + 8 * k;
    const auto ended =
        run_all(sparse_inputs_of(ranks, kDimension, 1000, false), k, kDimension, 1.0F);
    for (int rank = 0; rank < ranks; ++rank) {
      // Up once, but for rank 0; down to every rank below in the tree.
      std::uint64_t messages = rank == 0 ? 0 : 1;
      for (int step = 1; step < ranks && (rank & step) == 0; step *= 2)
        messages += rank + step < ranks ? 1 : 0;
      EXPECT_EQ(ended[static_cast<std::size_t>(rank)].messages, messages);
      EXPECT_EQ(ended[static_cast<std::size_t>(rank)].bytes, messages * message);
    }
  }
}

TEST(GTopK, TakesVectorsWithoutElements) {
  const auto ended = run_all({{}, {{7}, {2}}, {}}, 5, 10, 0.5F);
  for (const Ended& one : ended) {
    EXPECT_EQ(one.pairs, 1U);
    EXPECT_EQ(one.sum[7], 1);
  }
  for (const Ended& one : run_all({{}, {}}, 5, 0, 1.0F)) EXPECT_EQ(one.pairs, 0U);
  const auto none = run_all({{{3}, {1}}, {{3}, {2}}}, 0, 10, 1.0F);
  EXPECT_EQ(none[0].pairs, 0U);
  EXPECT_EQ(none[0].returned[3] + none[1].returned[3], 3);
}

TEST(GTopK, RefusesWhatDoesNotFit) {
  const auto receive = [](const SparsePairs& pairs, std::size_t cut) {
    Mailboxes boxes;
    ThreadTransport liar(boxes, 1, 2), honest(boxes, 0, 2);
    const std::uint64_t length = pairs.size() * sizeof(SparsePair) - cut;
    std::vector<std::byte> message(kStreamLengthBytes + length);
    std::memcpy(message.data(), &length, kStreamLengthBytes);
    std::memcpy(message.data() + kStreamLengthBytes, pairs.data(), length);
    liar.send(0, 0, 0, message);
    GTopK(PutBack::kDropper).run(honest, {}, 2, 10, 1.0F);
  };
  receive({{0, 1}, {9, 2}}, 0);
  EXPECT_THROW(receive({{0, 1}, {9, 2}}, 1), PayloadError);
  EXPECT_THROW(receive({{0, 1}, {10, 2}}, 0), PayloadError);
  EXPECT_THROW(receive({{2, 1}, {1, 2}}, 0), PayloadError);
  EXPECT_THROW(receive({{1, 1}, {2, 2}, {3, 3}}, 0), PayloadError);  // more than k
}

}  // namespace
}  // namespace thinpipe
