#include "workloads/collectives/sparse_collectives.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "compressors/compressor.h"
#include "compressors/registry.h"
#include "tests/collectives/collective_inputs.h"
#include "tests/collectives/thread_transport.h"
#include "workloads/collectives/collectives.h"

namespace thinpipe {
namespace {

struct Ended {
  std::vector<float> sum, returned;
  std::size_t pairs = 0;
  std::uint64_t bytes = 0, messages = 0;
};

std::vector<Ended> run_all(const std::vector<SparseInput>& inputs, std::size_t k,
                           std::size_t dimension, float factor, const std::string& spec = "gtopk") {
  std::vector<Ended> ended(inputs.size());
  on_all_ranks(spec, static_cast<int>(inputs.size()), [&](Collective& collective, int number) {
    const auto rank = static_cast<std::size_t>(number);
    auto& gtopk = operation<SparseAllReduce>(collective);
    gtopk.sparse_all_reduce(inputs[rank].view(), k, dimension, factor);
    const TransportCounters before = collective.counters();
    // The same object serves many steps.
    const SparseSum result = gtopk.sparse_all_reduce(inputs[rank].view(), k, dimension, factor);
    const TransportCounters sent = collective.counters() - before;
    ended[rank] = {.sum = dense(result.sum, dimension),
                   .returned = dense(result.returned, dimension),
                   .pairs = result.sum.size(),
                   .bytes = sent.bytes,
                   .messages = sent.messages};
  });
  return ended;
}

std::vector<std::vector<float>> dense_of(const std::vector<SparseInput>& inputs) {
  std::vector<std::vector<float>> vectors;
  for (const SparseInput& input : inputs) vectors.push_back(dense(input.view(), kDimension));
  return vectors;
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
        std::vector<float> expected(kDimension);
        Mailboxes none;
        operation<SparseAllReduce>(*over_threads("gtopk", none))
            .expected_sparse(spans(dense_of(inputs)), k, factor, expected);
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
    const auto vectors = dense_of(inputs);
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
  const auto ended = run_all(inputs, 200, kDimension, 0.25F, "gtopk:putback=sender");
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

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

TEST(GTopK, RefusesWhatDoesNotFit) {
  const auto receive = [](const SparsePairs& pairs, std::size_t cut) {
    auto content = bytes_of(pairs);
    content.resize(content.size() - cut);
    Mailboxes boxes;
    ThreadTransport(boxes, 1, 2).send(0, 0, 0, framed(content));
    operation<SparseAllReduce>(*over_threads("gtopk", boxes, 0, 2)).sparse_all_reduce({}, 2, 10, 1);
  };
  receive({{0, 1}, {9, 2}}, 0);
  EXPECT_THROW(receive({{0, 1}, {9, 2}}, 1), PayloadError);
  EXPECT_THROW(receive({{0, 1}, {10, 2}}, 0), PayloadError);
  EXPECT_THROW(receive({{2, 1}, {1, 2}}, 0), PayloadError);
  EXPECT_THROW(receive({{1, 1}, {2, 2}, {3, 3}}, 0), PayloadError);  // more than k
}

struct Case {
  int ranks;
  bool ties;
  double skew;  // how much denser the beginning is
  OkTopKOptions options = {};
};

// Steps, checked against the reference.
void run_and_check(const Case& one, int steps, std::size_t count, std::size_t k) {
  SCOPED_TRACE(::testing::Message() << one.ranks << " ranks, ties " << one.ties << ", skew "
                                    << one.skew << ", count " << count << ", k " << k);
  const auto ranks = static_cast<std::size_t>(one.ranks);
  std::vector<std::vector<std::vector<float>>> sums(ranks), returned(ranks), expected(ranks);
  const auto input = [&](std::size_t rank, int step) {
    return sparse_input(kDimension, count, rank * 100 + static_cast<std::size_t>(step), one.ties,
                        one.skew);
  };
  std::vector<std::vector<float>> full;  // sums without any selection
  for (int step = 0; step < steps; ++step) {
    full.emplace_back(kDimension);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto vector = dense(input(rank, step).view(), kDimension);
      for (std::size_t i = 0; i < kDimension; ++i) full.back()[i] += vector[i];
    }
  }
  const float factor = 1.0F / static_cast<float>(one.ranks);
  on_all_ranks(one.ranks, [&](ThreadTransport& transport) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    OkTopK oktopk(std::make_unique<ThreadTransport>(transport), one.options);
    for (int step = 0; step < steps; ++step) {
      const SparseInput own = input(rank, step);
      const SparseSum result = oktopk.sparse_all_reduce(own.view(), k, kDimension, factor);
      sums[rank].push_back(dense(result.sum, kDimension));
      returned[rank].push_back(dense(result.returned, kDimension));
      std::vector<std::vector<float>> vectors;
      for (std::size_t other = 0; other < ranks; ++other)
        vectors.push_back(dense(input(other, step).view(), kDimension));
      expected[rank].emplace_back(kDimension);
      oktopk.expected_sparse(spans(vectors), k, factor, expected[rank].back());
    }
  });
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (std::size_t step = 0; step < sums[0].size(); ++step) {
      EXPECT_EQ(sums[rank][step], sums[0][step]) << rank << " " << step;
      EXPECT_EQ(sums[rank][step], expected[rank][step]) << rank << " " << step;
      // Selected elements are in the sum. All other elements are returned to the rank that they
      // came from. The sum of a selected element may be 0.
      const auto own = dense(input(rank, static_cast<int>(step)).view(), kDimension);
      for (std::size_t i = 0; i < kDimension; ++i) {
        const bool kept = sums[0][step][i] != 0, cancelled = full[step][i] == 0;
        ASSERT_TRUE(returned[rank][step][i] == (kept ? 0 : own[i]) ||
                    (cancelled && returned[rank][step][i] == 0))
            << i;
      }
    }
}

TEST(OkTopK, EndsWithWhatReachesTheGlobalThreshold) {
  for (const int ranks : {1, 2, 3, 4, 7, 8})
    for (const bool ties : {false, true})
      run_and_check({.ranks = ranks, .ties = ties, .skew = 1, .options = {.thresholds = 3}}, 5, 600,
                    500);
}

TEST(OkTopK, TakesUnevenVectorsAndFewElements) {
  // All elements at the beginning of the vector, and regions from an even first step.
  run_and_check({.ranks = 8, .ties = false, .skew = 50}, 3, 600, 500);
  // Fewer than k in all, and none.
  run_and_check({.ranks = 4, .ties = false, .skew = 1}, 2, 20, 500);
  run_and_check({.ranks = 4, .ties = false, .skew = 1}, 2, 0, 500);
  // Balanced in every step.
  run_and_check({.ranks = 5, .ties = false, .skew = 9, .options = {.regions = 2, .imbalance = 1}},
                4, 600, 300);
  // More than a segment to every other rank, one at a time.
  run_and_check({.ranks = 3, .ties = false, .skew = 1, .options = {.at_once = 1}}, 2, 20000, 20000);
}

TEST(OkTopK, SplitsTheIndicesWhereTheElementsAre) {
  // All elements are in the first tenth, the first 2000 indices. Even regions of 2500 indices would
  // leave all the work to one rank.
  on_all_ranks(8, [&](ThreadTransport& transport) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    OkTopK oktopk(std::make_unique<ThreadTransport>(transport), {});
    const SparseInput own = sparse_input(kDimension, 1000, rank + 1, false, 10);
    oktopk.sparse_all_reduce(own.view(), 1000, kDimension, 1.0F);
    const auto regions = oktopk.regions();
    ASSERT_EQ(regions.size(), 9U);
    EXPECT_EQ(regions[0], 0U);
    EXPECT_EQ(regions[8], kDimension);
    for (std::size_t i = 1; i < 8; ++i) {
      // Each of the 8 ranks splits its 1000 indices in [0, 2000) into 8 equal parts. A region's
      // boundary is the mean of the 8 ranks' boundaries, near 250 i. A rank's boundary is a
      // quantile of 1000 uniform draws, with a standard deviation of at most 2000 sqrt(1/4 / 1000)
      // = 32. The mean of eight has a standard deviation of at most 11, so the limit of 60 is more
      // than 5 standard deviations.
      EXPECT_NEAR(static_cast<double>(regions[i]), static_cast<double>(i) * 250, 60);
    }
  });
}

TEST(OkTopK, FindsRegionsAndThresholdsInTheirTurn) {
  const auto bytes_of_calls = [](const OkTopKOptions& options) {
    std::vector<std::uint64_t> bytes;
    on_all_ranks(2, [&](ThreadTransport& transport) {
      OkTopK oktopk(std::make_unique<ThreadTransport>(transport), options);
      const SparseInput own = sparse_input(kDimension, 500, 1);
      for (int call = 0; call < 8; ++call) {
        const std::uint64_t before = oktopk.counters().bytes;
        oktopk.sparse_all_reduce(own.view(), 100, kDimension, 1.0F);
        if (transport.rank() == 0) bytes.push_back(oktopk.counters().bytes - before);
      }
    });
    return bytes;
  };
  const auto bytes = bytes_of_calls({.regions = 4, .thresholds = 2});
  // The vectors are the same in every call. A call that finds regions also sends a boundary (4
  // bytes). A call that finds a threshold also sends a count (4 bytes) and at most 101 magnitudes.
  EXPECT_EQ(bytes[0], bytes[4]);
  EXPECT_EQ(bytes[2], bytes[6]);
  EXPECT_EQ(bytes[1], bytes[3]);
  EXPECT_EQ(bytes[1], bytes[7]);
  EXPECT_EQ(bytes[0] - bytes[2], 4U);
  EXPECT_EQ(bytes[2] - bytes[1], 4U + 4U * 101U);
}

// Returns how many elements are selected in each call, whose elements are multiplied by a factor.
std::vector<std::size_t> selected_in_calls(const OkTopKOptions& options,
                                           const std::vector<float>& factors) {
  std::vector<std::size_t> kept;
  on_all_ranks(2, [&](ThreadTransport& transport) {
    OkTopK oktopk(std::make_unique<ThreadTransport>(transport), options);
    for (const float factor : factors) {
      SparseInput own = sparse_input(kDimension, 5000, 3);
      for (float& value : own.values) value *= factor;
      const auto result = oktopk.sparse_all_reduce(own.view(), 1000, kDimension, 1.0F);
      if (transport.rank() == 0) kept.push_back(result.sum.size());
    }
  });
  return kept;
}

TEST(OkTopK, AdaptsTheThresholdWhereItIsAsked) {
  // The elements double after the first step: too many reach the old threshold, and ever fewer.
  const auto kept = selected_in_calls({.adapt = true}, {1, 2, 2, 2, 2, 2});
  EXPECT_GE(kept[0], 1000U);
  EXPECT_LE(kept[0], 1010U);
  EXPECT_GT(kept[1], 2000U);
  for (std::size_t i = 2; i < kept.size(); ++i) EXPECT_LT(kept[i], kept[i - 1]);
}

TEST(OkTopK, FindsANewThresholdWhereTheOldOneHasDrifted) {
  const auto kept = selected_in_calls({.drift = 2}, {1, 4, 1, 1});
  // Too many in the second call, so the third finds its own; which the fourth can use.
  EXPECT_GT(kept[1], 2000U);
  for (const std::size_t call : {0, 2, 3}) {
    EXPECT_GE(kept[call], 1000U);
    EXPECT_LE(kept[call], 1010U);
  }
}

/// Rank 1 of two sends these messages, whatever rank 0 sends.
void lie(const std::vector<std::vector<std::byte>>& messages) {
  Mailboxes boxes;
  ThreadTransport liar(boxes, 1, 2);
  for (const auto& message : messages) liar.send(0, 0, 0, message);
  const SparseInput own{{1, 3, 5, 7}, {1, 2, 3, 4}};
  operation<SparseAllReduce>(*over_threads("oktopk", boxes, 0, 2))
      .sparse_all_reduce(own.view(), 2, 10, 1.0F);
}

TEST(OkTopK, RefusesWhatDoesNotFit) {
  using Words = std::vector<std::uint32_t>;
  // Rank 0 would begin region 1 at 5, the other at 7: it begins at 6.
  const auto boundary = bytes_of(Words{7});
  const auto none = framed({});
  const auto count = bytes_of(Words{0});
  // In rank 0's region the magnitudes are 1, 2 and 3, so k = 2 sets the threshold to 2. Its values
  // 2 and 3 reach the threshold; no value of rank 1 does.
  lie({boundary, none, count, count});
  EXPECT_THROW(lie({bytes_of(Words{11})}), PayloadError);
  EXPECT_THROW(lie({bytes_of(std::vector<std::uint8_t>{7})}), PayloadError);
  // Index 6 is in region 1.
  EXPECT_THROW(lie({boundary, framed(bytes_of(SparsePairs{{6, 1}}))}), PayloadError);
  EXPECT_THROW(lie({boundary, framed(bytes_of(SparsePairs(7)))}), PayloadError);
  EXPECT_THROW(lie({boundary, none, bytes_of(Words{5})}), PayloadError);  // region 1 has 4
  EXPECT_THROW(lie({boundary, none, count, bytes_of(Words{5})}), PayloadError);
  lie({boundary, none, count, bytes_of(Words{1}), bytes_of(SparsePairs{{9, 9}})});
  EXPECT_THROW(lie({boundary, none, count, bytes_of(Words{1}), bytes_of(SparsePairs{{10, 9}})}),
               PayloadError);
}

// Compressors and sparse all-reduces together: values that are not in the aggregate are in a
// memory.

constexpr std::size_t kJobElements = 4000;
constexpr std::uint64_t kJobSteps = 40;

std::vector<float> gradient_of(int rank, std::uint64_t step) {
  std::mt19937 generator(static_cast<unsigned>(rank) * 1000 + static_cast<unsigned>(step));
  std::normal_distribution<float> normal;
  std::vector<float> values(kJobElements);
  // Heavier at the beginning, and the more so the later: thresholds and regions grow stale.
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = normal(generator) * (1.0F + static_cast<float>(step) * (i < 400 ? 0.2F : 0.02F));
  return values;
}

struct Books {
  std::vector<double> in = std::vector<double>(kJobElements), out = in, magnitudes = in;
  std::vector<std::vector<float>> aggregates;
  std::vector<float> left;
};

Books run_job(Collective& collective, int rank, int ranks, const std::string& compressor_text) {
  const auto compressor = make_compressor(parse_spec(compressor_text),
                                          {"layer", {kJobElements}, kJobElements}, {.rank = rank});
  std::vector<std::byte> payload(compressor->max_encoded_size());
  auto& pairs = dynamic_cast<SparsePayload&>(*compressor);
  std::vector<std::uint32_t> positions(pairs.max_pairs());
  std::vector<float> values(pairs.max_pairs());
  Books books;
  for (std::uint64_t step = 0; step < kJobSteps; ++step) {
    const std::vector<float> gradient = gradient_of(rank, step);
    for (std::size_t i = 0; i < kJobElements; ++i) {
      books.in[i] += static_cast<double>(gradient[i]);
      books.magnitudes[i] += std::fabs(static_cast<double>(gradient[i]));
    }
    const EncodeReport report =
        compressor->encode({.values = gradient, .squares = {}, .step = step}, payload);
    const std::size_t count =
        pairs.decode_pairs(std::span(payload).first(report.encoded_bytes), positions, values);
    const SparseView own{std::span(positions).first(count), std::span(values).first(count)};
    const SparseSum sum = operation<SparseAllReduce>(collective)
                              .sparse_all_reduce(own, report.target_elements, kJobElements,
                                                 1.0F / static_cast<float>(ranks));
    books.aggregates.push_back(dense(sum.sum, kJobElements));
    for (std::size_t i = 0; i < kJobElements; ++i)
      books.out[i] += static_cast<double>(books.aggregates.back()[i]);
    pairs.give_back(sum.returned.indices, sum.returned.values);
  }
  books.left.assign(compressor->residual().begin(), compressor->residual().end());
  return books;
}

TEST(SparseJob, LosesNothingOverManySteps) {
  for (const char* collective : {"gtopk", "oktopk:thresholds=8,regions=16"})
    for (const char* compressor : {"topk:ratio=0.05", "sidco:ratio=0.05,values=fp16"})
      for (const int ranks : {1, 3, 4}) {
        SCOPED_TRACE(::testing::Message() << collective << " " << compressor << " " << ranks);
        std::vector<Books> books(static_cast<std::size_t>(ranks));
        on_all_ranks(collective, ranks, [&](Collective& own, int rank) {
          books[static_cast<std::size_t>(rank)] = run_job(own, rank, ranks, compressor);
        });
        double kept = 0;
        for (std::size_t i = 0; i < kJobElements; ++i) {
          double in = 0, out = 0, magnitudes = 0;
          for (const Books& one : books) {
            in += one.in[i];
            out += one.out[i] + static_cast<double>(one.left[i]);  // every rank took the mean
            magnitudes += one.magnitudes[i];
          }
          ASSERT_NEAR(in, out, 1e-5 * magnitudes) << i;
          kept += std::fabs(books[0].out[i]);
        }
        EXPECT_GT(kept, 0);
        for (const Books& one : books) EXPECT_EQ(one.aggregates, books[0].aggregates);
      }
}

TEST(SparseJob, AsPublishedGTopKLosesWhatWasDroppedOnTheWay) {
  // Three ranks with k = 1. The merge of ranks 0 and 1 drops rank 0's value of element 5. Then rank
  // 2 brings its own value of element 5 to the root.
  const std::vector<SparseInput> inputs = {{{5}, {1}}, {{9}, {2}}, {{5}, {4}}};
  for (const auto& [spec, back] : std::vector<std::pair<std::string, float>>{
           {"gtopk", 3.0F}, {"gtopk:putback=sender", 2.0F}}) {
    std::vector<float> returned(3);
    on_all_ranks(spec, 3, [&](Collective& collective, int rank) {
      const auto r = static_cast<std::size_t>(rank);
      const SparseSum sum =
          operation<SparseAllReduce>(collective).sparse_all_reduce(inputs[r].view(), 1, 10, 1);
      ASSERT_EQ(sum.sum.size(), 1U);
      EXPECT_EQ(sum.sum.indices[0], 5U);
      EXPECT_EQ(sum.sum.values[0], 4);
      for (const float value : sum.returned.values) returned[r] += value;
    });
    EXPECT_EQ(returned[0] + returned[1] + returned[2], back) << spec;
  }
}

TEST(SparseCollectives, AgreeOnTheMeanOfWhatRanksBring) {
  for (const char* spec : {"gtopk", "oktopk"})
    for (const auto& [counts, mean] : std::vector<std::pair<std::vector<std::size_t>, std::size_t>>{
             {{7}, 7}, {{0, 0, 0}, 0}, {{0, 0, 1}, 1}, {{3, 8, 4, 6}, 6}})
      on_all_ranks(spec, static_cast<int>(counts.size()),
                   [&own = counts, wanted = mean](Collective& collective, int rank) {
                     EXPECT_EQ(operation<SparseAllReduce>(collective)
                                   .mean_count(own[static_cast<std::size_t>(rank)], 8),
                               wanted);
                   });
  Mailboxes boxes;
  const auto alone = over_threads("gtopk", boxes);
  EXPECT_THROW(operation<SparseAllReduce>(*alone).mean_count(9, 8), InputError);
}

TEST(SparseCollectives, ReduceDenseArraysInARingBesideAndGatherNothing) {
  for (const char* spec : {"gtopk", "oktopk"})
    on_all_ranks(spec, 3, [](Collective& collective, int rank) {
      const std::vector<float> own(100, static_cast<float>(rank));
      std::vector<float> sum(100);
      operation<AllReduce>(collective).all_reduce(own, sum, 1);
      EXPECT_EQ(sum, std::vector<float>(100, 3.0F));
      EXPECT_THROW(operation<AllGather>(collective).all_gather({}), InputError);
    });
}

TEST(SparseCollectives, SayWhatTheirSumsAreHeldAgainst) {
  Mailboxes boxes;
  const std::vector<std::vector<float>> arrays = {{1, -3, 2, 0}, {1, 0, 2, 0.5F}};
  std::vector<float> out(4);
  const auto qgz = over_threads("qgz:group=2", boxes, 0, 2);
  operation<AllReduce>(*qgz).expected_all_reduce(ElementType::kFloat32, spans(arrays), 0.5F, out);
  EXPECT_NEAR(out[1], -1.5, 0.01);  // the greatest of its block is exact but for the last code
  EXPECT_NEAR(out[3], 0.25, 0.3);
  const auto ring = over_threads("ring", boxes, 0, 2);
  operation<AllReduce>(*ring).expected_all_reduce(ElementType::kFloat32, spans(arrays), 0.5F, out);
  EXPECT_EQ(out, (std::vector<float>{1, -1.5F, 2, 0.25F}));
  const auto gtopk = over_threads("gtopk", boxes, 0, 2);
  operation<SparseAllReduce>(*gtopk).expected_sparse(spans(arrays), 2, 0.5F, out);
  EXPECT_EQ(out, (std::vector<float>{0, -1.5F, 2, 0}));
  EXPECT_THROW(operation<SparseAllReduce>(*ring).expected_sparse({}, 1, 1, {}), InputError);
}

}  // namespace
}  // namespace thinpipe
