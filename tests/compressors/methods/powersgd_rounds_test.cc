// Tests PowerSGD's two rounds, an all-reduce of P and an all-reduce of Q: their interface, and
// their results against the paper's algorithm with its residuals.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "compressors/registry.h"
#include "tests/compressors/support/allocations.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/laws.h"
#include "tests/compressors/support/matrices.h"
#include "tests/compressors/support/methods.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::bits;
using testing::decode;
using testing::distance_of;
using testing::encode;
using testing::heavy;
using testing::Matrix;
using testing::norm_of;
using testing::product;
using testing::state_of;
using testing::transposed;

// Workers whose all-reduces are sums in memory.

constexpr std::size_t kRows = 30;
constexpr std::size_t kColumns = 40;
constexpr std::size_t kElements = kRows * kColumns;

using Matrices = std::vector<std::vector<float>>;  // one a worker

std::unique_ptr<Compressor> make_worker(const std::string& spec, int rank = 0) {
  return testing::make_of_shape(spec, {kRows, kColumns}, {.seed = 4, .rank = rank});
}

/// The workers of a job, whose all-reduce is a sum in double.
class Job {
 public:
  Job(const std::string& spec, int workers) {
    for (int rank = 0; rank < workers; ++rank) {
      workers_.push_back(make_worker(spec, rank));
      payloads_.emplace_back(workers_.back()->max_encoded_size());
    }
  }

  Compressor& worker(std::size_t rank) { return *workers_[rank]; }

  /// The aggregate, from a payload that is the same for all.
  std::vector<float> step(const Matrices& gradients, std::uint64_t step) {
    std::size_t bytes = 0;
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      bytes = several(w)
                  .first_round({.values = gradients[w], .squares = {}, .step = step}, payloads_[w])
                  .encoded_bytes;
    }
    for (int round = 0; round < several(0).rounds(); ++round) {
      mean_of(bytes / sizeof(float));
      for (std::size_t w = 0; w < workers_.size(); ++w) {
        bytes = several(w).next_round(mean_, payloads_[w]);
      }
    }
    for (const auto& payload : payloads_) {
      EXPECT_EQ(std::memcmp(payload.data(), payloads_[0].data(), bytes), 0);
    }
    return decode(*workers_[0], std::span(payloads_[0]).first(bytes));
  }

  std::vector<float> own(std::size_t rank) const {
    std::vector<std::byte> payload(workers_[rank]->max_encoded_size());
    return decode(*workers_[rank], std::span(payload).first(several(rank).own_payload(payload)));
  }

 private:
  MultiRound& several(std::size_t rank) const { return dynamic_cast<MultiRound&>(*workers_[rank]); }
  void mean_of(std::size_t count) {
    mean_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      double sum = 0;
      for (const auto& payload : payloads_) {
        float value = 0;
        std::memcpy(&value, payload.data() + i * sizeof value, sizeof value);
        sum += static_cast<double>(value);
      }
      mean_[i] = static_cast<float>(sum / static_cast<double>(payloads_.size()));
    }
  }

  std::vector<std::unique_ptr<Compressor>> workers_;
  std::vector<std::vector<std::byte>> payloads_;
  std::vector<float> mean_;
};

Matrices gradients_of(std::size_t workers, std::uint64_t step) {
  Matrices gradients;
  for (std::size_t w = 0; w < workers; ++w) {
    gradients.push_back(heavy(kElements, 10 * step + w));
  }
  return gradients;
}

TEST(PowerSgdRounds, OneWorkersRoundsAreItsEncode) {
  // Bit for bit; and the factors that are all-gathered are those of encode() too.
  for (const std::string& options :
       std::vector<std::string>{"rank=2", "memory=none,warm=false", "memory=ef21,rank=3"}) {
    SCOPED_TRACE(options);
    Job job("powersgd:" + options, 1);
    const auto alone = make_worker("powersgd:" + options);
    const auto gathered = make_worker("powersgd:exchange=allgather," + options);
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
    restored.step(gradients_of(2, 50), 0);  // its earlier state is replaced
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
  testing::same_on_every_target([] {
    Job job("powersgd", 3);
    for (std::uint64_t step = 0; step < 2; ++step) job.step(gradients_of(3, step), step);
    return bits(job.step(gradients_of(3, 2), 2));
  });
}

TEST(PowerSgdRounds, BadNumbersSpoilNothingForLong) {
  for (float bad : {testing::kNan, testing::kInfinity, 3e38F}) {
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
      EXPECT_GT(norm_of(aggregate), 0);
    }
  }
}

TEST(PowerSgdRounds, RefuseWhatDoesNotFit) {
  EXPECT_EQ(rounds_of(*make_worker("powersgd")), 2);
  const std::vector<float> gradient(kElements, 1.0F);
  const GradientInput input{.values = gradient, .squares = {}};
  const auto vector = testing::make_of_shape("powersgd", {kElements});
  std::vector<std::byte> payload(vector->max_encoded_size());
  const auto none = make_worker("none"), gathered = make_worker("powersgd:exchange=allgather");
  for (const Compressor* one : {none.get(), gathered.get(), vector.get()}) {
    EXPECT_EQ(rounds_of(*one), 1);
    EXPECT_EQ(dynamic_cast<const MultiRound*>(one), nullptr);
  }
  const auto made = make_worker("powersgd:rank=1");
  const std::size_t most = made->max_encoded_size();
  auto& compressor = dynamic_cast<MultiRound&>(*made);
  const std::vector<float> p(kRows, 1.0F);
  EXPECT_THROW(compressor.next_round(p, payload), std::logic_error);
  EXPECT_THROW(compressor.first_round(input, std::span(payload).first(most - 1)), InputError);
  EXPECT_EQ(compressor.first_round(input, payload).encoded_bytes, kRows * 4);
  EXPECT_THROW(compressor.next_round(std::span(p).first(kRows - 1), payload), InputError);
  EXPECT_THROW(compressor.next_round(p, std::span(payload).first(most - 1)), InputError);
  EXPECT_EQ(compressor.next_round(p, payload), kColumns * 4);
  EXPECT_EQ(compressor.next_round(std::vector<float>(kColumns, 1.0F), payload), most);
  EXPECT_THROW(compressor.next_round(p, payload), std::logic_error);
}

TEST(PowerSgdRounds, NothingIsAllocatedAfterTheFirstStep) {
  if (!testing::counts_allocations()) GTEST_SKIP() << "the sanitizer's operator new is in use";
  for (const char* spec : {"powersgd", "powersgd:memory=ef21"}) {
    const auto made = make_worker(spec);
    auto& compressor = dynamic_cast<MultiRound&>(*made);
    const auto gradients = gradients_of(1, 0);
    std::vector<std::byte> payload(made->max_encoded_size());
    std::vector<float> mean(payload.size() / sizeof(float), 1.0F);
    std::size_t before = 0;
    for (std::uint64_t step = 0; step < 3; ++step) {
      if (step == 1) before = testing::allocations();
      std::size_t bytes =
          compressor.first_round({.values = gradients[0], .squares = {}, .step = step}, payload)
              .encoded_bytes;
      for (int round = 0; round < 2; ++round) {
        bytes = compressor.next_round(std::span(mean).first(bytes / sizeof(float)), payload);
      }
    }
    EXPECT_EQ(testing::allocations() - before, 0U) << spec;
  }
}

/// Computes Alg. 1 and 2 in double precision. A worker's error is the difference between its
/// gradient and the aggregate, as in the authors' published code. The mean of the workers' products
/// with a factor is the product of their mean.
class Reference {
 public:
  /// @param q  the first factor, column by column
  Reference(std::size_t workers, Matrix q)
      : q_(std::move(q)), errors_(workers, Matrix(kRows, std::vector<double>(kColumns))) {}

  std::vector<float> step(const Matrices& gradients) {
    Matrix mean(kRows, std::vector<double>(kColumns));
    for (std::size_t w = 0; w < errors_.size(); ++w) {
      for (std::size_t i = 0; i < kElements; ++i) {
        double& error = errors_[w][i / kColumns][i % kColumns];
        error += static_cast<double>(gradients[w][i]);
        mean[i / kColumns][i % kColumns] += error / static_cast<double>(errors_.size());
      }
    }
    Matrix p = product(q_, transposed(mean));  // column by column
    gram_schmidt(p);
    q_ = product(p, mean);
    const Matrix exact = product(transposed(p), q_);
    std::vector<float> aggregate;
    for (std::size_t i = 0; i < kElements; ++i) {
      const double value = exact[i / kColumns][i % kColumns];
      for (Matrix& error : errors_) error[i / kColumns][i % kColumns] -= value;
      aggregate.push_back(static_cast<float>(value));
    }
    return aggregate;
  }

 private:
  static void gram_schmidt(Matrix& columns) {
    for (std::size_t k = 0; k < columns.size(); ++k) {
      std::vector<double>& own = columns[k];
      for (std::size_t other = 0; other < k; ++other) {
        const double share = inner(own, columns[other]);
        for (std::size_t i = 0; i < own.size(); ++i) own[i] -= share * columns[other][i];
      }
      const double norm = std::sqrt(inner(own, own));
      for (double& value : own) value /= norm;
    }
  }
  static double inner(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  }

  Matrix q_;
  std::vector<Matrix> errors_;
};

TEST(PowerSgdPaper, AreTheAlgorithmOfThePaper) {
  // The reference subtracts the aggregate from every worker's gradient; the compressor subtracts
  // its own contribution. Both give the same aggregates, because only the mean of the errors enters
  // an aggregate.
  constexpr std::size_t kRank = 3;
  Job job("powersgd:rank=3", 3);
  Matrix q;
  for (std::size_t left = kRank; left > 0; --left) {
    const auto column =
        testing::floats_of_state(job.worker(0), kColumns, (left - 1) * kColumns * sizeof(float));
    q.emplace_back(column.begin(), column.end());
  }
  Reference reference(3, q);
  for (std::uint64_t step = 0; step < 10; ++step) {
    const auto gradients = gradients_of(3, step);
    const auto aggregate = job.step(gradients, step);
    const auto expected = reference.step(gradients);
    ASSERT_GT(norm_of(expected), 0);
    // Rounding to float, carried on and made greater by errors and factors from step to step.
    ASSERT_LT(distance_of(aggregate, expected), 1e-4 * norm_of(expected)) << step;
  }
}

TEST(PowerSgdPaper, AreExactWhereTheMeanHasTheirRank) {
  // Two workers' matrices are of full rank, their mean is of rank 2.
  const auto mean = testing::low_rank_matrix(kRows, kColumns, 2);
  const auto noise = testing::bell(kElements, 3);
  Matrices gradients(2, mean);
  for (std::size_t i = 0; i < kElements; ++i) {
    gradients[0][i] += noise[i];
    gradients[1][i] -= noise[i];
  }
  Job job("powersgd:memory=none,rank=2", 2);
  for (std::uint64_t step = 0; step < 4; ++step) {
    EXPECT_LT(distance_of(job.step(gradients, step), mean), 1e-4 * norm_of(mean)) << step;
  }
  // Every worker's own factors cannot do that.
  std::vector<float> gathered(kElements, 0.0F);
  for (int rank = 0; rank < 2; ++rank) {
    const auto one = make_worker("powersgd:memory=none,rank=2,exchange=allgather", rank);
    const auto& gradient = gradients[static_cast<std::size_t>(rank)];
    one->decode_add(encode(*one, gradient).payload, 0.5F, gathered);
  }
  EXPECT_GT(distance_of(gathered, mean), 0.1 * norm_of(mean));
}

TEST(PowerSgdPaper, InputsAreDecodedOrStillInTheResiduals) {
  constexpr std::size_t kWorkers = 3;
  Job job("powersgd:rank=2", kWorkers);
  std::vector<double> left(kElements, 0.0);  // of the mean over workers
  std::vector<double> scale(kElements, 0.0);
  std::vector<std::vector<double>> own_left(kWorkers, std::vector<double>(kElements, 0.0));
  for (std::uint64_t step = 0; step < 100; ++step) {
    const auto gradients = gradients_of(kWorkers, step);
    const auto aggregate = job.step(gradients, step);
    for (std::size_t w = 0; w < kWorkers; ++w) {
      const auto own = job.own(w);
      for (std::size_t i = 0; i < kElements; ++i) {
        const auto g = static_cast<double>(gradients[w][i]);
        left[i] += g / kWorkers;
        own_left[w][i] += g - static_cast<double>(own[i]);
        scale[i] += std::fabs(g) + std::fabs(static_cast<double>(own[i]));
      }
    }
    for (std::size_t i = 0; i < kElements; ++i) left[i] -= static_cast<double>(aggregate[i]);
  }
  for (std::size_t i = 0; i < kElements; ++i) {
    double residuals = 0;
    for (std::size_t w = 0; w < kWorkers; ++w) {
      const auto residual = static_cast<double>(job.worker(w).residual()[i]);
      residuals += residual / kWorkers;
      ASSERT_NEAR(own_left[w][i], residual, 200 * 0x1p-24 * scale[i]);
    }
    // The means of Q and of the decoded values are rounded too.
    ASSERT_NEAR(left[i], residuals, 1000 * 0x1p-24 * scale[i]);
  }
}

}  // namespace
}  // namespace thinpipe
