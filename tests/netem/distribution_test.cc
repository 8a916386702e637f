#include "netem/distribution.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "base/error.h"
#include "tests/trace/temporary_folder.h"

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

// The share of values above so many deviations.
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
  // Ours is the same distribution: the same share in every half deviation.
  for (double from = -3; from < 3; from += 0.5)
    EXPECT_NEAR(above(theirs, from), above(distribution_table(DelayDistribution::kNormal), from),
                2e-3);
}

}  // namespace
}  // namespace thinpipe
