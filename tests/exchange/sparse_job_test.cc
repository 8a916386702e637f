// Compressors and sparse all-reduces together: what is not in the aggregate is in a memory.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compressors/registry.h"
#include "tests/exchange/sparse_inputs.h"
#include "tests/exchange/thread_transport.h"
#include "workloads/exchange/patterns.h"

namespace thinpipe {
namespace {

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

Books run_job(Transport& transport_of_all, std::unique_ptr<Transport> transport,
              const std::string& pattern_text, const std::string& compressor_text) {
  const int rank = transport_of_all.rank(), ranks = transport_of_all.size();
  const auto pattern = make_pattern(parse_spec(pattern_text), std::move(transport), 0);
  CompressorSettings settings;
  settings.rank = rank;
  const auto compressor = make_compressor(parse_spec(compressor_text),
                                          {"layer", {kJobElements}, kJobElements}, settings);
  std::vector<std::byte> payload(compressor->max_encoded_size());
  std::vector<std::uint32_t> positions(compressor->max_pairs());
  std::vector<float> values(compressor->max_pairs());
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
        compressor->decode_pairs(std::span(payload).first(report.encoded_bytes), positions, values);
    const SparseView own{std::span(positions).first(count), std::span(values).first(count)};
    const SparseSum sum = pattern->sparse_all_reduce(own, report.target_elements, kJobElements,
                                                     1.0F / static_cast<float>(ranks));
    books.aggregates.push_back(dense(sum.sum, kJobElements));
    for (std::size_t i = 0; i < kJobElements; ++i)
      books.out[i] += static_cast<double>(books.aggregates.back()[i]);
    compressor->give_back(sum.returned.indices, sum.returned.values);
  }
  books.left.assign(compressor->residual().begin(), compressor->residual().end());
  return books;
}

TEST(SparseJob, LosesNothingOverManySteps) {
  for (const char* pattern : {"gtopk", "oktopk:thresholds=8,regions=16"})
    for (const char* compressor : {"topk:ratio=0.05", "sidco:ratio=0.05,values=fp16"})
      for (const int ranks : {1, 3, 4}) {
        SCOPED_TRACE(::testing::Message() << pattern << " " << compressor << " " << ranks);
        std::vector<Books> books(static_cast<std::size_t>(ranks));
        Mailboxes boxes;
        std::vector<std::thread> threads;
        for (int rank = 0; rank < ranks; ++rank)
          threads.emplace_back([&, rank] {
            auto transport = std::make_unique<ThreadTransport>(boxes, rank, ranks);
            Transport& same = *transport;
            books[static_cast<std::size_t>(rank)] =
                run_job(same, std::move(transport), pattern, compressor);
          });
        for (std::thread& thread : threads) thread.join();
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
  // Three ranks: at (0, 1) k = 1 drops what rank 0 has of element 5; rank 2 brings it to the root.
  const std::vector<SparseInput> inputs = {{{5}, {1}}, {{9}, {2}}, {{5}, {4}}};
  for (const auto& [spec, back] : std::vector<std::pair<std::string, float>>{
           {"gtopk", 3.0F}, {"gtopk:putback=sender", 2.0F}}) {
    std::vector<float> returned(3);
    Mailboxes boxes;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank)
      threads.emplace_back([&, rank, text = spec] {
        const auto r = static_cast<std::size_t>(rank);
        const auto pattern =
            make_pattern(parse_spec(text), std::make_unique<ThreadTransport>(boxes, rank, 3), 0);
        const SparseSum sum = pattern->sparse_all_reduce(inputs[r].view(), 1, 10, 1);
        ASSERT_EQ(sum.sum.size(), 1U);
        EXPECT_EQ(sum.sum.indices[0], 5U);
        EXPECT_EQ(sum.sum.values[0], 4);
        for (const float value : sum.returned.values) returned[r] += value;
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(returned[0] + returned[1] + returned[2], back) << spec;
  }
}

TEST(SparsePatterns, AgreeOnTheMeanOfWhatRanksBring) {
  for (const char* spec : {"gtopk", "oktopk"})
    for (const auto& [counts, mean] : std::vector<std::pair<std::vector<std::size_t>, std::size_t>>{
             {{7}, 7}, {{0, 0, 0}, 0}, {{0, 0, 1}, 1}, {{3, 8, 4, 6}, 6}}) {
      const auto ranks = static_cast<int>(counts.size());
      Mailboxes boxes;
      std::vector<std::thread> threads;
      for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank, own = counts[static_cast<std::size_t>(rank)]] {
          const auto pattern = make_pattern(
              parse_spec(spec), std::make_unique<ThreadTransport>(boxes, rank, ranks), 0);
          EXPECT_EQ(pattern->mean_count(own, 8), mean);
        });
      for (std::thread& thread : threads) thread.join();
    }
  Mailboxes boxes;
  const auto alone =
      make_pattern(parse_spec("gtopk"), std::make_unique<ThreadTransport>(boxes, 0, 1), 0);
  EXPECT_THROW(alone->mean_count(9, 8), InputError);
}

TEST(SparsePatterns, ReduceDenseArraysInARingBesideAndGatherNothing) {
  for (const char* spec : {"gtopk", "oktopk"}) {
    Mailboxes boxes;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 3; ++rank)
      threads.emplace_back([&, rank] {
        const auto pattern =
            make_pattern(parse_spec(spec), std::make_unique<ThreadTransport>(boxes, rank, 3), 0);
        const std::vector<float> own(100, static_cast<float>(rank));
        std::vector<float> sum(100);
        pattern->all_reduce(own, sum, 1);
        EXPECT_EQ(sum, std::vector<float>(100, 3.0F));
        EXPECT_THROW(pattern->all_gather({}), InputError);
      });
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(SparsePatterns, SayWhatTheirSumsAreHeldAgainst) {
  Mailboxes boxes;
  const std::vector<std::vector<float>> arrays = {{1, -3, 2, 0}, {1, 0, 2, 0.5F}};
  std::vector<float> out(4);
  const auto qgz =
      make_pattern(parse_spec("qgz:group=2"), std::make_unique<ThreadTransport>(boxes, 0, 2), 0);
  qgz->expected_all_reduce(ElementType::kFloat32, spans(arrays), 0.5F, out);
  EXPECT_NEAR(out[1], -1.5, 0.01);  // the greatest of its block is exact but for the last code
  EXPECT_NEAR(out[3], 0.25, 0.3);
  const auto ring =
      make_pattern(parse_spec("ring"), std::make_unique<ThreadTransport>(boxes, 0, 2), 0);
  ring->expected_all_reduce(ElementType::kFloat32, spans(arrays), 0.5F, out);
  EXPECT_EQ(out, (std::vector<float>{1, -1.5F, 2, 0.25F}));
  const auto gtopk =
      make_pattern(parse_spec("gtopk"), std::make_unique<ThreadTransport>(boxes, 0, 2), 0);
  gtopk->expected_sparse(spans(arrays), 2, 0.5F, out);
  EXPECT_EQ(out, (std::vector<float>{0, -1.5F, 2, 0}));
  EXPECT_THROW(ring->expected_sparse({}, 1, 1, {}), InputError);
}

}  // namespace
}  // namespace thinpipe
