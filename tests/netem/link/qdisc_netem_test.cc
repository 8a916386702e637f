#include "netem/link/qdisc_netem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <string>

#include "base/error.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

double mean(const std::vector<std::int16_t>& table) {
  double sum = 0;
  for (const std::int16_t value : table) sum += value;
  return sum / static_cast<double>(table.size()) / kDistributionScale;
}

double deviation(const std::vector<std::int16_t>& table) {
  double sum = 0;
  for (const std::int16_t value : table)
    sum += std::pow(static_cast<double>(value) / kDistributionScale - mean(table), 2);
  return std::sqrt(sum / static_cast<double>(table.size()));
}

// The fraction of values above so many deviations.
double above(const std::vector<std::int16_t>& table, double deviations) {
  return static_cast<double>(std::count_if(
             table.begin(), table.end(),
             [&](std::int16_t value) { return value > deviations * kDistributionScale; })) /
         static_cast<double>(table.size());
}

TEST(DelayDistribution, HasMean0AndDeviation1) {
  for (const DelayDistribution shape :
       {DelayDistribution::kNormal, DelayDistribution::kPareto, DelayDistribution::kParetoNormal}) {
    const auto table = distribution_table(shape);
    EXPECT_LE(table.size(), kDistributionMost);
    EXPECT_NEAR(mean(table), 0, 1e-4);
    EXPECT_NEAR(deviation(table), 1, 1e-3);
  }
}

TEST(DelayDistribution, HasItsShape) {
  const auto uniform = distribution_table(DelayDistribution::kUniform);
  EXPECT_NEAR(deviation(uniform), 1 / std::sqrt(3.0), 1e-3);
  EXPECT_NEAR(above(uniform, 0.5), 0.25, 1e-3);
  EXPECT_EQ(above(uniform, 1), 0);
  const auto normal = distribution_table(DelayDistribution::kNormal);
  EXPECT_NEAR(above(normal, 1), 0.1587, 1e-3);  // of the normal distribution's table
  EXPECT_NEAR(above(normal, 2), 0.0228, 1e-3);
  const auto pareto = distribution_table(DelayDistribution::kPareto);
  EXPECT_EQ(*std::max_element(pareto.begin(), pareto.end()), 32767);  // cut at 4
  EXPECT_GT(*std::min_element(pareto.begin(), pareto.end()), -8192);  // it has a least value
  EXPECT_LT(above(pareto, 0), 0.4);                                   // most are below the mean
}

class DistributionFile : public ::testing::Test {
 protected:
  std::string write(const std::string& text) {
    std::ofstream(file_) << text;
    return file_;
  }
  TemporaryFolder folder_;
  std::string file_ = folder_ / "table";
};

TEST_F(DistributionFile, IsReadAsTcHasIt) {
  EXPECT_EQ(read_distribution(write("# normal\n -32768 0\n 1 # one\n\n 32767\n")),
            (std::vector<std::int16_t>{-32768, 0, 1, 32767}));
}

TEST_F(DistributionFile, ErrorsNameFileAndLine) {
  const auto error_of = [&](const std::string& text) -> std::string {
    try {
      read_distribution(write(text));
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(error_of("1 2\n3 x4\n").find(file_ + ", line 2: 'x4'"), std::string::npos);
  EXPECT_NE(error_of("32768").find("from -32768 to 32767"), std::string::npos);
  EXPECT_NE(error_of("1.5").find("'1.5'"), std::string::npos);
  EXPECT_NE(error_of("# nothing\n").find("no values"), std::string::npos);
  std::string many;
  for (std::size_t i = 0; i < kDistributionMost; ++i) many += "1\n";
  EXPECT_EQ(error_of(many), "");
  EXPECT_NE(error_of(many + "1\n").find("line 16385: more than 16384"), std::string::npos);
  EXPECT_THROW(read_distribution("/no/such/file.dist"), InputError);
  EXPECT_THROW(read_distribution("/dev/zero"), InputError);
}

TEST(DelayDistribution, ReadsTcsOwn) {
  const char* file = "/usr/lib/x86_64-linux-gnu/tc/normal.dist";
  if (!std::ifstream(file)) GTEST_SKIP() << "tc's tables are not at " << file;
  const auto theirs = read_distribution(file);
  EXPECT_NEAR(deviation(theirs), 1, 0.01);
  // Ours is the same distribution: the same fraction in every half deviation.
  for (double from = -3; from < 3; from += 0.5)
    EXPECT_NEAR(above(theirs, from), above(distribution_table(DelayDistribution::kNormal), from),
                2e-3);
}

// The kernel's own arithmetic, in its 32 bits (get_crandom, sch_netem.c).
class KernelDraws {
 public:
  explicit KernelDraws(double correlation)
      : rho_(static_cast<std::uint64_t>(correlation * UINT32_MAX) + 1) {}
  std::uint32_t next() {
    const std::uint64_t value = random_() & UINT32_MAX;
    last_ = static_cast<std::uint32_t>((value * ((1ULL << 32) - rho_) + last_ * rho_) >> 32);
    return last_;
  }

 private:
  std::mt19937_64 random_{7};
  std::uint64_t rho_;
  std::uint64_t last_ = 1U << 31;
};

TEST(CorrelatedDraws, ThresholdsLoseTheirShareByTheKernelsArithmetic) {
  constexpr int kDraws = 2'000'000;
  for (const double correlation : {0.02, 0.25, 0.5, 0.9})
    for (const double share : {0.001, 0.01, 0.2, 0.7}) {
      const double threshold = correlated_threshold(share, correlation);
      const auto limit = static_cast<std::uint32_t>(threshold * UINT32_MAX);
      KernelDraws draws(correlation);
      double lost = 0;
      for (int i = 0; i < kDraws; ++i) lost += draws.next() <= limit ? 1 : 0;
      // Five standard deviations, wider by the memory of an autoregressive series.
      const double band =
          5 * std::sqrt(kDraws * share * (1 - share) * (1 + correlation) / (1 - correlation));
      EXPECT_NEAR(lost, kDraws * share, band) << share << " correlated by " << correlation;
    }
}

// With c = 1/2, x = u_0 / 2 + u_1 / 4 + ...: for x <= t both u_0 <= 2t and the rest must fit. In
// the tail the recursion F(t) = c / (1 - c) * integral of F from 0 to t / c is valid: F(t) =
// int_0^2t F.
TEST(CorrelatedDraws, TheShareObeysItsRecursion) {
  for (const double threshold : {0.02, 0.1, 0.3}) {
    double integral = 0;
    constexpr int kParts = 200;
    const double width = 2 * threshold / kParts;
    for (int i = 0; i < kParts; ++i) integral += width * correlated_share((i + 0.5) * width, 0.5);
    EXPECT_NEAR(correlated_share(threshold, 0.5), integral, 1e-5) << threshold;
  }
}

TEST(CorrelatedDraws, EdgesAreThemselves) {
  EXPECT_EQ(correlated_threshold(0, 0.5), 0);
  EXPECT_EQ(correlated_threshold(1, 0.5), 1);
  EXPECT_EQ(correlated_threshold(0.3, 0), 0.3);
  EXPECT_NEAR(correlated_threshold(0.5, 0.5), 0.5, 1e-9);  // draws are symmetric around 1/2
  EXPECT_THROW(correlated_threshold(0.1, 1), InputError);
}

// The figure in the header.
TEST(CorrelatedDraws, NetemAloneLosesFarLess) {
  EXPECT_NEAR(correlated_share(0.01, 0.25), 2.4e-6, 0.1e-6);
}

}  // namespace

}  // namespace thinpipe
