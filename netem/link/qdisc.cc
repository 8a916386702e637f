#include "netem/link/qdisc.h"

#include <linux/pkt_sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <sstream>

#include <fmt/format.h>

#include "base/error.h"
#include "base/input_file.h"
#include "base/text.h"
#include "netem/link/attributes.h"

namespace thinpipe {
namespace {

std::vector<Mismatch> compare(const TbfSettings& asked, std::span<const std::byte> options) {
  const AttributeReader attributes(options, "tbf");
  const auto got = attributes.get<tc_tbf_qopt>(TCA_TBF_PARMS);
  Comparison comparison;
  comparison.expect<std::uint64_t>("tbf rate in bytes/s (TCA_TBF_RATE64)", asked.rate,
                                   attributes.get_or<std::uint64_t>(TCA_TBF_RATE64, got.rate.rate));
  comparison.expect<std::uint64_t>("tbf limit (TCA_TBF_PARMS)", asked.limit, got.limit);
  comparison.expect<std::uint64_t>("tbf overhead (TCA_TBF_PARMS)", asked.overhead,
                                   got.rate.overhead);
  const double ticks =
      transmit_ticks(asked.burst + asked.overhead, static_cast<double>(asked.rate));
  if (std::fabs(got.buffer - ticks) > 2 + ticks * 1e-6)
    comparison.expect<std::uint64_t>("tbf burst in 64 ns of transmit time (TCA_TBF_BURST)",
                                     static_cast<std::uint64_t>(ticks), got.buffer);
  return std::move(comparison).found();
}

constexpr std::uint32_t kProtocolVersion = 3;
constexpr std::uint16_t kHtbClass = 1;        // minor number of the one class
constexpr std::uint32_t kRateToQuantum = 10;  // unused, since the class sets its own quantum

tc_ratespec rate_spec(std::uint64_t rate, std::uint32_t overhead) {
  tc_ratespec spec = {};
  spec.rate = static_cast<std::uint32_t>(std::min<std::uint64_t>(rate, UINT32_MAX));
  spec.overhead = static_cast<unsigned short>(overhead);
  spec.linklayer = TC_LINKLAYER_ETHERNET;  // avoids the need for a rate table
  return spec;
}

std::vector<Mismatch> compare_root(std::span<const std::byte> options) {
  const auto got = AttributeReader(options, "htb").get<tc_htb_glob>(TCA_HTB_INIT);
  Comparison comparison;
  comparison.expect<std::uint64_t>("htb default class (TCA_HTB_INIT)", kHtbClass, got.defcls);
  return std::move(comparison).found();
}

std::vector<Mismatch> compare_class(const HtbClassSettings& asked, const tc_htb_opt& sent,
                                    std::span<const std::byte> options) {
  const AttributeReader attributes(options, "htb class");
  const auto got = attributes.get<tc_htb_opt>(TCA_HTB_PARMS);
  Comparison comparison;
  const auto expect = [&](const char* setting, std::uint64_t wanted, std::uint64_t found) {
    comparison.expect(setting, wanted, found);
  };
  expect("htb rate in bytes/s (TCA_HTB_RATE64)", asked.rate,
         attributes.get_or<std::uint64_t>(TCA_HTB_RATE64, got.rate.rate));
  expect("htb ceil in bytes/s (TCA_HTB_CEIL64)", asked.rate,
         attributes.get_or<std::uint64_t>(TCA_HTB_CEIL64, got.ceil.rate));
  expect("htb burst in 64 ns (TCA_HTB_PARMS)", sent.buffer, got.buffer);
  expect("htb cburst in 64 ns (TCA_HTB_PARMS)", sent.cbuffer, got.cbuffer);
  expect("htb quantum (TCA_HTB_PARMS)", asked.quantum, got.quantum);
  expect("htb overhead (TCA_HTB_PARMS)", asked.overhead, got.rate.overhead);
  return std::move(comparison).found();
}

}  // namespace

std::uint32_t transmit_ticks(double bytes, double rate) {
  const double ticks = std::ceil(bytes * 1e9 / rate / kTickNanoseconds);
  return static_cast<std::uint32_t>(std::min(ticks, static_cast<double>(UINT32_MAX)));
}

std::uint64_t bytes_per_second(double bits_per_second) {
  return static_cast<std::uint64_t>(std::llround(bits_per_second / 8));
}

QdiscRequest tbf_request(const TbfSettings& settings) {
  tc_tbf_qopt parameters = {};
  parameters.rate = rate_spec(settings.rate, settings.overhead);
  parameters.limit = settings.limit;
  parameters.buffer = transmit_ticks(settings.burst, static_cast<double>(settings.rate));
  AttributeWriter options;
  options.put(TCA_TBF_PARMS, parameters);
  options.put(TCA_TBF_RATE64, settings.rate);
  options.put(TCA_TBF_BURST, settings.burst);
  return {"tbf", options.bytes(),
          [settings](std::span<const std::byte> got) { return compare(settings, got); }};
}

QdiscRequest fifo_request(std::uint32_t limit) {
  AttributeWriter options;
  options.put_struct(tc_fifo_qopt{limit});
  return {"bfifo", options.bytes(), [limit](std::span<const std::byte> got) {
            Comparison comparison;
            comparison.expect<std::uint64_t>(
                "bfifo limit", limit,
                AttributeReader::read_struct<tc_fifo_qopt>(got, "bfifo").limit);
            return std::move(comparison).found();
          }};
}

QdiscRequest htb_request() {
  AttributeWriter options;
  options.put(TCA_HTB_INIT, tc_htb_glob{.version = kProtocolVersion,
                                        .rate2quantum = kRateToQuantum,
                                        .defcls = kHtbClass,
                                        .debug = 0,
                                        .direct_pkts = 0});
  return {"htb", options.bytes(), compare_root};
}

QdiscRequest htb_class_request(const HtbClassSettings& settings) {
  tc_htb_opt parameters = {};
  parameters.rate = parameters.ceil = rate_spec(settings.rate, settings.overhead);
  parameters.buffer = parameters.cbuffer =
      transmit_ticks(settings.burst, static_cast<double>(settings.rate));
  parameters.quantum = settings.quantum;
  AttributeWriter options;
  options.put(TCA_HTB_PARMS, parameters);
  options.put(TCA_HTB_RATE64, settings.rate);
  options.put(TCA_HTB_CEIL64, settings.rate);
  return {"htb", options.bytes(), [settings, parameters](std::span<const std::byte> got) {
            return compare_class(settings, parameters, got);
          }};
}

namespace {

// Tables of delay distributions.

constexpr std::size_t kEntries = 4096;
constexpr double kMaxDeviations = 32767.0 / kDistributionScale;
constexpr double kParetoShape = 3;

// Bisection: a table is made once, so speed does not matter.
double normal_quantile(double probability) {
  double low = -8, high = 8;
  for (int step = 0; step < 60; ++step) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

double pareto_quantile(double probability) { return std::pow(1 - probability, -1 / kParetoShape); }

// Scales the values to mean 0 and standard deviation 1, and clips them to the range of 16 bits.
// Clipping changes the mean and the standard deviation a little, so both steps are repeated. After
// 50 rounds nothing changes any more.
void standardise(std::vector<double>& values) {
  constexpr int kRounds = 50;
  const auto count = static_cast<double>(values.size());
  for (int round = 0; round < kRounds; ++round) {
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    for (const double value : values) squares += (value - sum / count) * (value - sum / count);
    const double deviation = std::sqrt(squares / count);
    for (double& value : values)
      value = std::clamp((value - sum / count) / deviation, -kMaxDeviations, kMaxDeviations);
  }
}

std::vector<double> quantiles(const std::function<double(double)>& quantile) {
  std::vector<double> values;
  for (std::size_t i = 0; i < kEntries; ++i)
    values.push_back(quantile((static_cast<double>(i) + 0.5) / kEntries));
  return values;
}

std::vector<double> shape_of(DelayDistribution distribution) {
  if (distribution == DelayDistribution::kUniform)
    return quantiles([](double probability) { return 2 * probability - 1; });
  std::vector<double> normal = quantiles(normal_quantile), pareto = quantiles(pareto_quantile);
  standardise(normal);
  standardise(pareto);
  if (distribution == DelayDistribution::kNormal) return normal;
  if (distribution == DelayDistribution::kPareto) return pareto;
  for (std::size_t i = 0; i < kEntries; ++i) normal[i] = 0.25 * normal[i] + 0.75 * pareto[i];
  standardise(normal);
  return normal;
}

}  // namespace

std::vector<std::int16_t> distribution_table(DelayDistribution distribution) {
  std::vector<std::int16_t> table;
  for (const double value : shape_of(distribution))
    table.push_back(static_cast<std::int16_t>(std::lround(value * kDistributionScale)));
  return table;
}

std::vector<std::int16_t> read_distribution(const std::filesystem::path& file) {
  constexpr std::uint64_t kMaxBytes = 1 << 20;  // 16384 numbers, and as many words of comment
  std::istringstream stream(read_input(file, "a distribution's table", kMaxBytes, Pipes::kRefused));
  std::vector<std::int16_t> table;
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number) {
    for (const std::string& word : words_in(line.substr(0, line.find('#')))) {
      const auto value = parse_number<std::int16_t>(word);
      if (!value)
        throw InputError(
            fmt::format("distribution {}, line {}: '{:.40}' is not a whole number from {} to {}",
                        file.string(), number, word, std::numeric_limits<std::int16_t>::min(),
                        std::numeric_limits<std::int16_t>::max()));
      if (table.size() == kDistributionMost)
        throw InputError(fmt::format("distribution {}, line {}: more than {} values", file.string(),
                                     number, kDistributionMost));
      table.push_back(*value);
    }
  }
  if (table.empty())
    throw InputError(fmt::format("distribution {}: no values (expected up to {} whole numbers)",
                                 file.string(), kDistributionMost));
  return table;
}

std::vector<std::int16_t> table_of(const Impairment& impairment) {
  if (impairment.distribution == DelayDistribution::kTable)
    return read_distribution(impairment.table);
  return distribution_table(impairment.distribution);
}

namespace {

// Draws with a correlation.

constexpr double kSmallest = 1e-16;  // the rounding unit of a double near 1
constexpr int kMaxTerms = 1'000'000;

// sin(pi x) / (pi x)
double sinc(double x) {
  const double angle = std::numbers::pi * x;
  return angle == 0 ? 1 : std::sin(angle) / angle;
}

// Returns the Fourier coefficients, on 0 to 1, of the distribution function F of netem's draws. A
// draw is the sum of (1 - c) c^k u_k over all k, where c is the correlation. A uniform u_k of
// weight w has the characteristic function e^{i pi m w} sinc(m w) at 2 pi m. The weights sum to 1,
// so the product of the phases is e^{i pi m} = (-1)^m, and
//   F(x) = x + sum over m of (-1)^m prod_k sinc(m w_k) sin(2 pi m x) / (pi m).
std::vector<double> coefficients(double correlation) {
  std::vector<double> found;
  for (int m = 1; m <= kMaxTerms; ++m) {
    double product = m % 2 == 0 ? 1 : -1, bound = 1;
    for (double weight = 1 - correlation;; weight *= correlation) {
      const double at = m * weight;
      if (at < 1e-9 || bound < kSmallest) break;
      product *= sinc(at);
      bound *= std::min(1.0, 1 / (std::numbers::pi * at));
    }
    found.push_back(product / (std::numbers::pi * m));
    if (bound / m < kSmallest) break;
  }
  return found;
}

double share_at(double threshold, const std::vector<double>& series) {
  double probability = threshold;
  for (std::size_t i = 0; i < series.size(); ++i)
    probability +=
        series[i] * std::sin(2 * std::numbers::pi * static_cast<double>(i + 1) * threshold);
  return std::clamp(probability, 0.0, 1.0);
}

double search(double probability, const std::vector<double>& series) {
  double low = 0, high = 1;
  constexpr int kHalvings = 40;  // netem has 32 bits
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (share_at(middle, series) < probability ? low : high) = middle;
  }
  return high;
}

}  // namespace

double correlated_threshold(double probability, double correlation) {
  if (correlation >= 1)
    throw InputError("a correlation of 100 % lets the first draw decide all others; use less");
  if (correlation == 0 || probability <= 0 || probability >= 1) return probability;
  // Every host of a star needs the same few thresholds.
  thread_local std::map<std::pair<double, double>, double> known;
  const auto [entry, fresh] = known.try_emplace({probability, correlation}, 0.0);
  if (fresh) entry->second = search(probability, coefficients(correlation));
  return entry->second;
}

namespace {

// Encoding of the options.

constexpr std::uint16_t kPrngSeed = 14;  // TCA_NETEM_PRNG_SEED, in headers since Linux 6.6

std::uint32_t ticks(std::chrono::nanoseconds time) {
  const double count = static_cast<double>(time.count()) / kTickNanoseconds;
  return static_cast<std::uint32_t>(std::min(count, static_cast<double>(UINT32_MAX)));
}

tc_netem_qopt base_of(const NetemSettings& settings) {
  const Impairment& impairment = settings.impairment;
  return {.latency = ticks(impairment.delay),
          .limit = settings.limit,
          .loss = netem_share(impairment.bursts ? Chance{} : impairment.loss),
          .gap = impairment.gap,
          .duplicate = netem_share(impairment.duplicate),
          .jitter = ticks(impairment.jitter)};
}

tc_netem_corr correlations_of(const Impairment& impairment) {
  return {.delay_corr = 0,
          .loss_corr = netem_share(impairment.loss.correlation),
          .dup_corr = netem_share(impairment.duplicate.correlation)};
}

tc_netem_rate rate_of(const NetemSettings& settings) {
  return {.rate = static_cast<std::uint32_t>(std::min<std::uint64_t>(settings.rate, UINT32_MAX)),
          .packet_overhead = settings.rate > 0 ? static_cast<std::int32_t>(settings.overhead) : 0,
          .cell_size = 0,
          .cell_overhead = 0};
}

// The kernel takes h, the probability that the bad state does *not* lose a frame, and k1, the
// probability that the good state loses one.
tc_netem_gemodel bursts_of(const GilbertElliott& bursts) {
  return {.p = netem_share(bursts.to_bad),
          .r = netem_share(bursts.to_good),
          .h = UINT32_MAX - netem_share(bursts.lost_in_bad),
          .k1 = netem_share(bursts.lost_in_good)};
}

void compare_loss(const NetemSettings& asked, const AttributeReader& attributes,
                  Comparison& comparison) {
  const bool got_bursts = attributes.has(TCA_NETEM_LOSS);
  comparison.expect("netem loss in bursts (TCA_NETEM_LOSS)", asked.impairment.bursts ? 1 : 0,
                    got_bursts ? 1 : 0);
  if (!asked.impairment.bursts || !got_bursts) return;
  const tc_netem_gemodel wanted = bursts_of(*asked.impairment.bursts);
  const auto got = AttributeReader(attributes.bytes(TCA_NETEM_LOSS), "netem loss")
                       .get<tc_netem_gemodel>(NETEM_LOSS_GE);
  comparison.expect("netem loss p (NETEM_LOSS_GE)", wanted.p, got.p);
  comparison.expect("netem loss r (NETEM_LOSS_GE)", wanted.r, got.r);
  comparison.expect("netem loss h (NETEM_LOSS_GE)", wanted.h, got.h);
  comparison.expect("netem loss k1 (NETEM_LOSS_GE)", wanted.k1, got.k1);
}

void compare_rate(const NetemSettings& asked, const AttributeReader& attributes,
                  Comparison& comparison) {
  const auto got = attributes.get<tc_netem_rate>(TCA_NETEM_RATE);
  comparison.expect("netem rate in bytes/s (TCA_NETEM_RATE64)", asked.rate,
                    attributes.get_or<std::uint64_t>(TCA_NETEM_RATE64, got.rate));
  comparison.expect("netem overhead (TCA_NETEM_RATE)", rate_of(asked).packet_overhead,
                    got.packet_overhead);
}

std::vector<Mismatch> compare(const NetemSettings& asked, std::span<const std::byte> options) {
  const auto got = AttributeReader::read_struct<tc_netem_qopt>(options, "netem");
  const AttributeReader attributes(options.subspan(sizeof(tc_netem_qopt)), "netem");
  const tc_netem_qopt wanted = base_of(asked);
  Comparison comparison;
  comparison.expect("netem limit in packets", wanted.limit, got.limit);
  comparison.expect("netem loss in 1/2^32", wanted.loss, got.loss);
  comparison.expect("netem gap", wanted.gap, got.gap);
  comparison.expect("netem duplicate in 1/2^32", wanted.duplicate, got.duplicate);
  comparison.expect<std::int64_t>("netem delay in ns (TCA_NETEM_LATENCY64)",
                                  asked.impairment.delay.count(),
                                  attributes.get<std::int64_t>(TCA_NETEM_LATENCY64));
  comparison.expect<std::int64_t>("netem jitter in ns (TCA_NETEM_JITTER64)",
                                  asked.impairment.jitter.count(),
                                  attributes.get<std::int64_t>(TCA_NETEM_JITTER64));
  const tc_netem_corr correlations = correlations_of(asked.impairment);
  const auto got_correlations = attributes.get<tc_netem_corr>(TCA_NETEM_CORR);
  comparison.expect("netem delay correlation (TCA_NETEM_CORR)", correlations.delay_corr,
                    got_correlations.delay_corr);
  comparison.expect("netem loss correlation (TCA_NETEM_CORR)", correlations.loss_corr,
                    got_correlations.loss_corr);
  comparison.expect("netem duplicate correlation (TCA_NETEM_CORR)", correlations.dup_corr,
                    got_correlations.dup_corr);
  const auto reorder = attributes.get<tc_netem_reorder>(TCA_NETEM_REORDER);
  comparison.expect("netem reorder (TCA_NETEM_REORDER)", netem_share(asked.impairment.reorder),
                    reorder.probability);
  comparison.expect("netem reorder correlation (TCA_NETEM_REORDER)",
                    netem_share(asked.impairment.reorder.correlation), reorder.correlation);
  const auto corrupt = attributes.get<tc_netem_corrupt>(TCA_NETEM_CORRUPT);
  comparison.expect("netem corrupt (TCA_NETEM_CORRUPT)", netem_share(asked.impairment.corrupt),
                    corrupt.probability);
  comparison.expect("netem corrupt correlation (TCA_NETEM_CORRUPT)",
                    netem_share(asked.impairment.corrupt.correlation), corrupt.correlation);
  compare_loss(asked, attributes, comparison);
  compare_rate(asked, attributes, comparison);
  if (asked.seed && !attributes.has(kPrngSeed))
    comparison.add("netem seed (TCA_NETEM_PRNG_SEED)", std::to_string(*asked.seed),
                   "none (needs Linux 6.6 or later)");
  else if (asked.seed)
    comparison.expect("netem seed (TCA_NETEM_PRNG_SEED)", *asked.seed,
                      attributes.get<std::uint64_t>(kPrngSeed));
  return std::move(comparison).found();
}

}  // namespace

std::uint32_t netem_share(const Chance& chance) {
  return netem_share(100 * correlated_threshold(chance.percent / 100, chance.correlation / 100));
}

std::uint32_t netem_share(double percent) {
  return static_cast<std::uint32_t>(std::llround(percent / 100 * UINT32_MAX));
}

QdiscRequest netem_request(const NetemSettings& settings) {
  const Impairment& impairment = settings.impairment;
  AttributeWriter options;
  options.put_struct(base_of(settings));
  options.put(TCA_NETEM_CORR, correlations_of(impairment));
  options.put(TCA_NETEM_REORDER,
              tc_netem_reorder{.probability = netem_share(impairment.reorder),
                               .correlation = netem_share(impairment.reorder.correlation)});
  options.put(TCA_NETEM_CORRUPT,
              tc_netem_corrupt{.probability = netem_share(impairment.corrupt),
                               .correlation = netem_share(impairment.corrupt.correlation)});
  if (impairment.bursts) {  // without TCA_NETEM_LOSS the kernel returns to independent loss
    AttributeWriter model;
    model.put(NETEM_LOSS_GE, bursts_of(*impairment.bursts));
    options.put_nested(TCA_NETEM_LOSS, model);
  }
  options.put(TCA_NETEM_RATE, rate_of(settings));
  options.put(TCA_NETEM_RATE64, settings.rate);
  options.put(TCA_NETEM_ECN, std::uint32_t{0});
  options.put(TCA_NETEM_LATENCY64, std::int64_t{impairment.delay.count()});
  options.put(TCA_NETEM_JITTER64, std::int64_t{impairment.jitter.count()});
  options.put(TCA_NETEM_SLOT, tc_netem_slot{});
  if (impairment.jitter.count() > 0 && !settings.table.empty())
    options.put_bytes(TCA_NETEM_DELAY_DIST, std::as_bytes(std::span(settings.table)));
  if (settings.seed) options.put(kPrngSeed, *settings.seed);
  return {"netem", options.bytes(),
          [settings](std::span<const std::byte> got) { return compare(settings, got); }};
}

}  // namespace thinpipe
