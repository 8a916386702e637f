// PowerSGD's aggregates against the algorithm of the paper, and what they leave behind.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/powersgd_job.h"

namespace thinpipe {
namespace {

using testing::encode;
using testing::powersgd::distance;
using testing::powersgd::gradients_of;
using testing::powersgd::Job;
using testing::powersgd::kColumns;
using testing::powersgd::kElements;
using testing::powersgd::kRows;
using testing::powersgd::make;
using testing::powersgd::Matrices;
using testing::powersgd::norm;
using testing::powersgd::state_of;

/// Alg. 1 and 2 in double, matrices as arrays of rows; a worker's error is what its gradient and
/// the aggregate differ by, as in the authors' published code.
class Reference {
 public:
  Reference(std::size_t workers, std::size_t rank, std::vector<double> q)
      : rank_(rank), q_(std::move(q)), errors_(workers, std::vector<double>(kElements)) {}

  std::vector<double> step(const Matrices& gradients) {
    const auto workers = static_cast<double>(gradients.size());
    for (std::size_t w = 0; w < gradients.size(); ++w) {
      for (std::size_t i = 0; i < kElements; ++i) errors_[w][i] += gradients[w][i];
    }
    std::vector<double> p(kRows * rank_);  // element (i, k) at k * kRows + i
    for (const auto& m : errors_) {
      for (std::size_t k = 0; k < rank_; ++k) {
        for (std::size_t i = 0; i < kRows; ++i) {
          for (std::size_t j = 0; j < kColumns; ++j) {
            p[k * kRows + i] += m[i * kColumns + j] * q_[k * kColumns + j] / workers;
          }
        }
      }
    }
    gram_schmidt(p);
    std::fill(q_.begin(), q_.end(), 0.0);
    for (const auto& m : errors_) {
      for (std::size_t k = 0; k < rank_; ++k) {
        for (std::size_t j = 0; j < kColumns; ++j) {
          for (std::size_t i = 0; i < kRows; ++i) {
            q_[k * kColumns + j] += m[i * kColumns + j] * p[k * kRows + i] / workers;
          }
        }
      }
    }
    std::vector<double> aggregate(kElements);
    for (std::size_t i = 0; i < kRows; ++i) {
      for (std::size_t j = 0; j < kColumns; ++j) {
        for (std::size_t k = 0; k < rank_; ++k) {
          aggregate[i * kColumns + j] += p[k * kRows + i] * q_[k * kColumns + j];
        }
      }
    }
    for (auto& error : errors_) {
      for (std::size_t i = 0; i < kElements; ++i) error[i] -= aggregate[i];
    }
    return aggregate;
  }

 private:
  void gram_schmidt(std::vector<double>& p) const {
    for (std::size_t k = 0; k < rank_; ++k) {
      for (std::size_t other = 0; other < k; ++other) {
        double share = 0;
        for (std::size_t i = 0; i < kRows; ++i) share += p[k * kRows + i] * p[other * kRows + i];
        for (std::size_t i = 0; i < kRows; ++i) p[k * kRows + i] -= share * p[other * kRows + i];
      }
      double squares = 0;
      for (std::size_t i = 0; i < kRows; ++i) squares += p[k * kRows + i] * p[k * kRows + i];
      for (std::size_t i = 0; i < kRows; ++i) p[k * kRows + i] /= std::sqrt(squares);
    }
  }

  std::size_t rank_;
  std::vector<double> q_;
  std::vector<std::vector<double>> errors_;
};

TEST(PowerSgdPaper, AreTheAlgorithmOfThePaper) {
  // The reference subtracts the aggregate from every worker's gradient, the compressor its own
  // part: the aggregates are the same, because only the mean of the errors enters them.
  constexpr std::size_t kRank = 3;
  Job job("powersgd:rank=3", 3);
  const auto state = state_of(job.worker(0));
  std::vector<float> q(kRank * kColumns);
  std::memcpy(q.data(), state.data() + state.size() - q.size() * sizeof(float),
              q.size() * sizeof(float));
  Reference reference(3, kRank, std::vector<double>(q.begin(), q.end()));
  for (std::uint64_t step = 0; step < 10; ++step) {
    const auto gradients = gradients_of(3, step);
    const auto aggregate = job.step(gradients, step);
    const auto expected = reference.step(gradients);
    const std::vector<float> rounded(expected.begin(), expected.end());
    ASSERT_GT(norm(rounded), 0);
    // Rounding to float, carried on and made greater by errors and factors from step to step.
    ASSERT_LT(distance(aggregate, rounded), 1e-4 * norm(rounded)) << step;
  }
}

TEST(PowerSgdPaper, AreExactWhereTheMeanHasTheirRank) {
  // Two workers' matrices are of full rank, their mean is of rank 2.
  const auto a = testing::bell(kRows * 2, 1);
  const auto b = testing::bell(kColumns * 2, 2);
  const auto noise = testing::bell(kElements, 3);
  std::vector<float> mean(kElements);
  Matrices gradients(2, std::vector<float>(kElements));
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t j = 0; j < kColumns; ++j) {
      const std::size_t at = i * kColumns + j;
      mean[at] = a[2 * i] * b[2 * j] + a[2 * i + 1] * b[2 * j + 1];
      gradients[0][at] = mean[at] + noise[at];
      gradients[1][at] = mean[at] - noise[at];
    }
  }
  Job job("powersgd:memory=none,rank=2", 2);
  for (std::uint64_t step = 0; step < 4; ++step) {
    EXPECT_LT(distance(job.step(gradients, step), mean), 1e-4 * norm(mean)) << step;
  }
  // Every worker's own factors cannot do that.
  std::vector<float> gathered(kElements, 0.0F);
  for (int rank = 0; rank < 2; ++rank) {
    const auto one = make("powersgd:memory=none,rank=2,exchange=allgather", rank);
    const auto& gradient = gradients[static_cast<std::size_t>(rank)];
    one->decode_add(encode(*one, gradient).payload, 0.5F, gathered);
  }
  EXPECT_GT(distance(gathered, mean), 0.1 * norm(mean));
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
    // The means of Q and of what it decodes to are rounded too.
    ASSERT_NEAR(left[i], residuals, 1000 * 0x1p-24 * scale[i]);
  }
}

}  // namespace
}  // namespace thinpipe
