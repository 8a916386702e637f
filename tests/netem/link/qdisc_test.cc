// Tests that messages have the layouts of linux/pkt_sched.h (written by hand here), that every
// answer the kernel can give is handled, and that tables of delays and correlated draws are computed
// as netem does.
#include "netem/link/qdisc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>
#include <string>

#include "base/error.h"
#include "netem/link/attributes.h"
#include "tests/base/support.h"
#include "tests/netem/helpers.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

TEST(AttributeWriter, WritesHeaderValueAndPadding) {
  AttributeWriter writer;
  writer.put(3, std::uint32_t{0x01020304});
  writer.put_text(1, "tbf");
  writer.put_text(2, "htb1");
  // Length counts header and value (4 + 4, 4 + 4, 4 + 5) but no padding; all little-endian.
  EXPECT_EQ(hex(writer.bytes()), "08000300 04030201 08000100 74626600 09000200 68746231 00000000");
}

TEST(AttributeWriter, Nests) {
  AttributeWriter inner, outer;
  inner.put(7, std::uint32_t{1});
  outer.put_struct(std::uint32_t{5});
  outer.put_nested(2, inner);
  EXPECT_EQ(hex(outer.bytes()), "05000000 0c000200 08000700 01000000");
}

TEST(AttributeWriter, RefusesWhatALengthCannotSay) {
  AttributeWriter writer;
  EXPECT_NO_THROW(writer.put_bytes(1, std::vector<std::byte>(65531)));
  EXPECT_THROW(writer.put_bytes(1, std::vector<std::byte>(65532)), RunError);
}

TEST(AttributeReader, ReadsWhatWasWritten) {
  AttributeWriter inner, writer;
  inner.put(1, std::uint64_t{1} << 40);
  writer.put_text(5, "netem");
  writer.put_nested(6, inner);
  const AttributeReader reader(writer.bytes(), "test");
  EXPECT_EQ(reader.text(5), "netem");
  EXPECT_EQ(AttributeReader(reader.bytes(6), "inner").get<std::uint64_t>(1), 1ULL << 40);
  EXPECT_FALSE(reader.has(7));
  EXPECT_THROW((void)reader.bytes(7), RunError);
  EXPECT_THROW((void)reader.get<std::uint64_t>(5), RunError);  // 6 bytes
}

TEST(AttributeReader, TakesNestedAndByteOrderFlagsOffTheType) {
  EXPECT_EQ(AttributeReader(from_hex("08000280 2a000000"), "test").get<std::uint32_t>(2), 42U);
}

TEST(AttributeReader, RefusesLengthsThatLie) {
  for (const char* bytes : {"03000100", "00000100", "0c000100 01000000", "ffff0100",
                            "08000100 01000000 09000200 00000000"})
    EXPECT_THROW(AttributeReader(from_hex(bytes), "test"), RunError) << bytes;
  // Fewer bytes than a header at the end are padding.
  EXPECT_TRUE(AttributeReader(from_hex("05000100 2a000000 0000"), "test").has(1));
  EXPECT_TRUE(AttributeReader(from_hex("05000100 2a"), "test").has(1));
}

TEST(AttributeReader, SurvivesAnyBytes) {
  // Parses every prefix of a valid message, and the message with each byte set to a few values.
  // Each must give an error or a reading.
  AttributeWriter writer;
  writer.put(1, std::uint32_t{1});
  writer.put_text(2, "kind");
  writer.put(3, std::uint64_t{3});
  for (std::size_t size = 0; size <= writer.bytes().size(); ++size)
    for (std::size_t changed = 0; changed < size; ++changed)
      for (const int value : {0, 1, 3, 4, 5, 127, 255}) {
        std::vector<std::byte> bytes(writer.bytes().begin(),
                                     writer.bytes().begin() + static_cast<std::ptrdiff_t>(size));
        bytes[changed] = static_cast<std::byte>(value);
        try {
          const AttributeReader reader(bytes, "test");
          for (std::uint16_t type = 0; type < 8; ++type)
            EXPECT_LE(reader.has(type) ? reader.text(type).size() : 0, size);
        } catch (const RunError&) {
        }
      }
}

TEST(Qdisc, RateIsWholeBytes) {
  EXPECT_EQ(bytes_per_second(100e6), 12500000U);
  EXPECT_EQ(bytes_per_second(1001), 125U);  // 125.125
  EXPECT_EQ(bytes_per_second(100e9), 12500000000U);
}

TEST(Qdisc, TicksAreRoundedUpAndBounded) {
  EXPECT_EQ(transmit_ticks(12500, 12500000), 15625U);  // 1 ms of 64 ns
  EXPECT_EQ(transmit_ticks(1, 1e9), 1U);               // 1 ns
  EXPECT_EQ(transmit_ticks(1e9, 125), UINT32_MAX);     // 8e6 s
}

// tc_ratespec: cell_log, linklayer, overhead (2), cell_align (2), mpu (2), rate (4).
constexpr const char* kTbf100Mbit =
    "28000100 "                    // TCA_TBF_PARMS, 4 + 36
    "00010000 00000000 20bcbe00 "  // rate: Ethernet, no overhead, 12500000 bytes/s
    "00000000 00000000 00000000 "  // peak rate: none
    "68890900 093d0000 00000000 "  // limit 625000, buffer 15625 ticks, mtu
    "0c000400 20bcbe00 00000000 "  // TCA_TBF_RATE64
    "08000600 d4300000";           // TCA_TBF_BURST, 12500

TEST(Tbf, IsLaidOutAsTheKernelReadsIt) {
  const QdiscRequest request =
      tbf_request({.rate = 12500000, .burst = 12500, .limit = 625000, .overhead = 0});
  EXPECT_EQ(request.kind, "tbf");
  EXPECT_EQ(hex(request.options), kTbf100Mbit);
  EXPECT_EQ(settings_of(request.mismatches(from_hex(kTbf100Mbit))), "");
}

TEST(Tbf, CarriesRatesBeyond32BitsAndOverhead) {
  const QdiscRequest request =
      tbf_request({.rate = 12500000000, .burst = 12500000, .limit = 16000000, .overhead = 24});
  EXPECT_EQ(
      hex(request.options),
      "28000100 00011800 00000000 ffffffff "  // overhead 24; the highest rate in 32 bits
      "00000000 00000000 00000000 0024f400 093d0000 00000000 "  // limit, buffer 15625 ticks: 1 ms
      "0c000400 00dd0ee9 02000000 "                             // 12500000000
      "08000600 20bcbe00");
}

TEST(Tbf, NamesWhatTheKernelKeepsOtherwise) {
  const QdiscRequest request =
      tbf_request({.rate = 12500000, .burst = 12500, .limit = 625000, .overhead = 0});
  // Without TCA_TBF_RATE64 the 32-bit rate counts, as kernels report rates that fit.
  EXPECT_EQ(
      settings_of(request.mismatches(from_hex("28000100 00010000 00000000 20bcbe00 00000000 "
                                              "00000000 00000000 68890900 093d0000 00000000"))),
      "");
  const std::string wrong =
      settings_of(request.mismatches(from_hex("28000100 00010800 00000000 21bcbe00 00000000 "
                                              "00000000 00000000 69890900 0e3d0000 00000000")));
  EXPECT_EQ(wrong,
            "tbf rate in bytes/s (TCA_TBF_RATE64): 12500000 12500001\n"
            "tbf limit (TCA_TBF_PARMS): 625000 625001\n"
            "tbf overhead (TCA_TBF_PARMS): 0 8\n"
            "tbf burst in 64 ns of transmit time (TCA_TBF_BURST): 15625 15630\n");
}

TEST(Tbf, RefusesAnswersThatAreCutOff) {
  const QdiscRequest request = tbf_request({.rate = 1000, .burst = 2000, .limit = 5000});
  const std::vector<std::byte> answer = from_hex(kTbf100Mbit);
  EXPECT_THROW((void)request.mismatches({}), RunError);
  for (std::size_t size = 1; size < 40; ++size)
    EXPECT_THROW((void)request.mismatches(std::span(answer).first(size)), RunError) << size;
}

TEST(Fifo, IsALimit) {
  const QdiscRequest request = fifo_request(16000000);
  EXPECT_EQ(hex(request.options), "0024f400");
  EXPECT_EQ(settings_of(request.mismatches(from_hex("0024f400"))), "");
  EXPECT_EQ(settings_of(request.mismatches(from_hex("0124f400"))),
            "bfifo limit: 16000000 16000001\n");
}

TEST(Htb, IsLaidOutAsTheKernelReadsIt) {
  // TCA_HTB_INIT: version 3, rate2quantum 10, default class 1.
  EXPECT_EQ(hex(htb_request().options), "18000200 03000000 0a000000 01000000 00000000 00000000");
  const QdiscRequest request =
      htb_class_request({.rate = 12500000, .burst = 12500, .quantum = 15140, .overhead = 24});
  EXPECT_EQ(request.kind, "htb");
  EXPECT_EQ(hex(request.options),
            "30000100 "                     // TCA_HTB_PARMS, 4 + 44
            "00011800 00000000 20bcbe00 "   // rate
            "00011800 00000000 20bcbe00 "   // ceil
            "093d0000 093d0000 243b0000 "   // buffer, cbuffer: 15625 ticks; quantum
            "00000000 00000000 "            // level, prio
            "0c000600 20bcbe00 00000000 "   // TCA_HTB_RATE64
            "0c000700 20bcbe00 00000000");  // TCA_HTB_CEIL64
  EXPECT_EQ(settings_of(request.mismatches(request.options)), "");
  EXPECT_EQ(settings_of(htb_class_request(
                            {.rate = 12500001, .burst = 25000, .quantum = 1000, .overhead = 0})
                            .mismatches(request.options)),
            "htb rate in bytes/s (TCA_HTB_RATE64): 12500001 12500000\n"
            "htb ceil in bytes/s (TCA_HTB_CEIL64): 12500001 12500000\n"
            "htb burst in 64 ns (TCA_HTB_PARMS): 31250 15625\n"
            "htb cburst in 64 ns (TCA_HTB_PARMS): 31250 15625\n"
            "htb quantum (TCA_HTB_PARMS): 1000 15140\n"
            "htb overhead (TCA_HTB_PARMS): 0 24\n");
}

NetemSettings netem_settings(const char* link) {
  NetemSettings settings;
  settings.impairment = parse_link_spec(link).down.impairment;
  return settings;
}

TEST(Netem, SharesAre32BitsOf100Percent) {
  EXPECT_EQ(netem_share(0), 0U);
  EXPECT_EQ(netem_share(100), UINT32_MAX);
  EXPECT_EQ(netem_share(50), 2147483648U);  // 2147483647.5, rounded
  EXPECT_EQ(netem_share(0.1), 4294967U);
}

// A correlated chance is requested by a greater threshold: see correlated_threshold().
TEST(Netem, CorrelatedSharesAreHit) {
  EXPECT_EQ(netem_share(Chance{1, 0}), netem_share(1));
  EXPECT_EQ(netem_share(Chance{1, 25}), netem_share(100 * correlated_threshold(0.01, 0.25)));
  EXPECT_GT(netem_share(Chance{1, 25}), 5 * netem_share(1));
  EXPECT_EQ(netem_share(Chance{100, 50}), UINT32_MAX);
}

// All attributes are present even when nothing is requested, so that a change clears them.
TEST(Netem, SendsZerosToo) {
  NetemSettings settings;
  settings.limit = 10;
  EXPECT_EQ(hex(netem_request(settings).options),
            "00000000 0a000000 00000000 00000000 00000000 00000000 "  // tc_netem_qopt
            "10000100 00000000 00000000 00000000 "                    // TCA_NETEM_CORR
            "0c000300 00000000 00000000 "                             // TCA_NETEM_REORDER
            "0c000400 00000000 00000000 "                             // TCA_NETEM_CORRUPT
            "14000600 00000000 00000000 00000000 00000000 "           // TCA_NETEM_RATE
            "0c000800 00000000 00000000 "                             // TCA_NETEM_RATE64
            "08000700 00000000 "                                      // TCA_NETEM_ECN
            "0c000a00 00000000 00000000 "                             // TCA_NETEM_LATENCY64
            "0c000b00 00000000 00000000 "                             // TCA_NETEM_JITTER64
            "2c000c00 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 "
            "00000000 00000000");  // TCA_NETEM_SLOT
}

TEST(Netem, IsLaidOutAsTheKernelReadsIt) {
  NetemSettings settings = netem_settings(
      "delay=20ms,jitter=1ms,loss=ge:100%/50%/100%/0%,reorder=50%/50%,gap=5,duplicate=100%/"
      "50%,corrupt=50%");
  settings.limit = 1000;
  settings.rate = 5000000000;  // 40 Gbit/s: beyond 32 bits
  settings.overhead = 24;
  settings.table = {-8192, 0, 8191};
  settings.seed = 0x0102030405060708;
  const QdiscRequest request = netem_request(settings);
  EXPECT_EQ(request.kind, "netem");
  EXPECT_EQ(
      hex(request.options),
      "b4c40400 "                    // latency: 20 ms in ticks of 64 ns, 312500
      "e8030000 00000000 05000000 "  // limit, loss (in bursts instead), gap
      "ffffffff 093d0000 "           // duplicate, jitter: 15625 ticks
      "10000100 00000000 00000000 00000080 0c000300 00000080 00000080 0c000400 00000080 00000000 "
      "18000500 14000200 ffffffff 00000080 00000000 00000000 "  // p, r, h = 1 - 1-h, k1
      "14000600 ffffffff 18000000 00000000 00000000 0c000800 00f2052a 01000000 08000700 00000000 "
      "0c000a00 002d3101 00000000 "  // 20000000 ns
      "0c000b00 40420f00 00000000 2c000c00 00000000 00000000 00000000 00000000 00000000 00000000 "
      "00000000 00000000 00000000 00000000 0a000200 00e00000 ff1f0000 "  // TCA_NETEM_DELAY_DIST,
                                                                         // padded
      "0c000e00 08070605 04030201");
  EXPECT_EQ(settings_of(request.mismatches(request.options)), "");
}

TEST(Netem, NamesWhatTheKernelKeepsOtherwise) {
  const QdiscRequest kept = netem_request(netem_settings("delay=20ms"));
  const auto differences = [&](const char* link) {
    return settings_of(netem_request(netem_settings(link)).mismatches(kept.options));
  };
  EXPECT_EQ(differences("delay=20ms"), "");
  EXPECT_EQ(differences("delay=21ms"),
            "netem delay in ns (TCA_NETEM_LATENCY64): 21000000 20000000\n");
  EXPECT_EQ(differences("delay=20ms,jitter=1ns"), "netem jitter in ns (TCA_NETEM_JITTER64): 1 0\n");
  EXPECT_EQ(differences("delay=20ms,loss=50%/50%"),
            "netem loss in 1/2^32: 2147483648 0\n"
            "netem loss correlation (TCA_NETEM_CORR): 2147483648 0\n");
  EXPECT_EQ(differences("delay=20ms,loss=ge:1%"), "netem loss in bursts (TCA_NETEM_LOSS): 1 0\n");
  EXPECT_EQ(differences("delay=20ms,reorder=100%,gap=3"),
            "netem gap: 3 0\nnetem reorder (TCA_NETEM_REORDER): 4294967295 0\n");
  EXPECT_EQ(differences("delay=20ms,duplicate=100%,corrupt=100%"),
            "netem duplicate in 1/2^32: 4294967295 0\n"
            "netem corrupt (TCA_NETEM_CORRUPT): 4294967295 0\n");
  NetemSettings rated = netem_settings("delay=20ms");
  rated.rate = 1000;
  EXPECT_EQ(settings_of(netem_request(rated).mismatches(kept.options)),
            "netem rate in bytes/s (TCA_NETEM_RATE64): 1000 0\n");
}

TEST(Netem, SaysThatOldKernelsKnowNoSeed) {
  NetemSettings settings;
  const QdiscRequest unseeded = netem_request(settings);
  settings.seed = 7;
  EXPECT_EQ(settings_of(netem_request(settings).mismatches(unseeded.options)),
            "netem seed (TCA_NETEM_PRNG_SEED): 7 none (needs Linux 6.6 or later)\n");
  NetemSettings other = settings;
  other.seed = 8;
  EXPECT_EQ(settings_of(netem_request(settings).mismatches(netem_request(other).options)),
            "netem seed (TCA_NETEM_PRNG_SEED): 7 8\n");
}

TEST(Netem, RefusesAnswersThatAreCutOff) {
  const QdiscRequest request = netem_request({});
  const std::span<const std::byte> answer = request.options;
  for (std::size_t size = 0; size + 1 < answer.size() - 44; ++size)  // the slot is not read
    EXPECT_THROW((void)request.mismatches(answer.first(size)), RunError) << size;
}

double mean(const std::vector<std::int16_t>& table) {
  const double sum = std::accumulate(table.begin(), table.end(), 0.0);
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
  const auto error_of = [&](const std::string& text) {
    return input_error([&] { read_distribution(write(text)); });
  };
  EXPECT_THAT(error_of("1 2\n3 x4\n"), HasSubstr(file_ + ", line 2: 'x4'"));
  EXPECT_THAT(error_of("32768"), HasSubstr("from -32768 to 32767"));
  EXPECT_THAT(error_of("1.5"), HasSubstr("'1.5'"));
  EXPECT_THAT(error_of("# nothing\n"), HasSubstr("no values"));
  std::string many;
  for (std::size_t i = 0; i < kDistributionMost; ++i) many += "1\n";
  EXPECT_EQ(error_of(many), "");
  EXPECT_THAT(error_of(many + "1\n"), HasSubstr("line 16385: more than 16384"));
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

// Returns the fraction of draws at or below a threshold, by bisection.
double share_below(double threshold, double correlation) {
  constexpr int kHalvings = 24;
  double low = 0, high = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (correlated_threshold(middle, correlation) < threshold ? low : high) = middle;
  }
  return high;
}

// With c = 1/2, x = u_0 / 2 + u_1 / 4 + ...: for x <= t both u_0 <= 2t and the rest must fit. In
// the tail the recursion F(t) = c / (1 - c) * integral of F from 0 to t / c is valid: F(t) =
// int_0^2t F. The integral is by Simpson's rule, whose error with 12 parts is below 1e-6.
TEST(CorrelatedDraws, TheShareObeysItsRecursion) {
  for (const double threshold : {0.02, 0.1, 0.3}) {
    double sum = 0;
    constexpr int kParts = 12;
    const double width = 2 * threshold / kParts;
    for (int i = 0; i <= kParts; ++i) {
      const int weight = i == 0 || i == kParts ? 1 : i % 2 == 1 ? 4 : 2;
      sum += weight * share_below(i * width, 0.5);
    }
    EXPECT_NEAR(share_below(threshold, 0.5), width / 3 * sum, 1e-5) << threshold;
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
  EXPECT_LT(correlated_threshold(2.3e-6, 0.25), 0.01);
  EXPECT_GT(correlated_threshold(2.5e-6, 0.25), 0.01);
}

}  // namespace
}  // namespace thinpipe
