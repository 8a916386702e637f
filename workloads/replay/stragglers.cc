#include "workloads/replay/stragglers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/key_values.h"
#include "base/splitmix64.h"
#include "base/text.h"
#include "base/units.h"

namespace thinpipe {

namespace {

constexpr double kMaxFactor = 1000, kMaxStall = 1000;
// Limits of the standard deviation j of a factor x with mean 1, so that x is never negative.
// Exponential: x = 1 - j + j e, where e is exponential with mean 1, so j <= 1. Uniform: the
// half-width is sqrt(3) j, so sqrt(3) j <= 1.
constexpr double kMaxLognormal = 10, kMaxExponential = 1, kMaxUniform = 0.57735;

int host_number(std::string_view digits) {
  return parse_number<int>(digits, 0, 999'999).value_or(-1);
}

// Returns a number in (0, 1): never 0, which has no logarithm.
double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

}  // namespace

Stragglers::Part Stragglers::part_of(const Spec& spec) {
  Part part;
  part.spec = spec;
  KeyValues items = KeyValues::after_name("straggler", spec.to_string());
  const std::string_view name = spec.name;
  if (name != "hosts") {
    const std::size_t dash = name.find('-');
    part.first = name.starts_with("host")
                     ? host_number(name.substr(4, dash - std::min<std::size_t>(4, dash)))
                     : -1;
    part.last = dash == std::string_view::npos ? part.first : host_number(name.substr(dash + 1));
    if (part.first < 0 || part.last < part.first)
      items.fail(fmt::format("found {}; expected host3, host4-7 or hosts", in_quotes(name)));
  }
  part.factor = items.number("compute", 1, 0, kMaxFactor);
  part.distribution =
      static_cast<Distribution>(items.choice("dist", {"lognormal", "exponential", "uniform"}));
  part.jitter = items.number("jitter", 0, 0,
                             part.distribution == Distribution::kLognormal     ? kMaxLognormal
                             : part.distribution == Distribution::kExponential ? kMaxExponential
                                                                               : kMaxUniform);
  if (const auto stall = items.find("stall")) {
    part.stall = items.read("stall", *stall, parse_time);
    if (!(part.stall >= 0 && part.stall <= kMaxStall))
      items.fail_value("stall", *stall, "expected a time up to 1000s");
  }
  part.chance = items.number("chance", 1, 0, 1);
  part.seed = items.number<std::uint64_t>("seed", 1, 0, 9'000'000'000'000'000);
  items.finish();
  return part;
}

std::vector<Stragglers> Stragglers::expand(std::string_view text) {
  std::vector<Stragglers> all = {{}};
  if (text == "none") return all;
  for (const std::string& part : split(text, ';')) {
    const std::vector<Spec> specs = expand_specs(part);
    check_alternatives(text, all.size(), specs.size());
    std::vector<Stragglers> more;
    for (const Stragglers& one : all)
      for (const Spec& spec : specs) {
        more.push_back(one);
        more.back().parts_.push_back(part_of(spec));
      }
    all = std::move(more);
  }
  return all;
}

Stragglers Stragglers::parse(std::string_view text) {
  const std::vector<Stragglers> all = expand(text);
  if (all.size() > 1)
    throw InputError(
        fmt::format("straggler {}: alternatives ('|') are not allowed; give one value for each key",
                    in_quotes(text)));
  return all.front();
}

std::string Stragglers::to_string() const {
  std::string text;
  for (const Part& part : parts_) text += (text.empty() ? "" : ";") + part.spec.to_string();
  return text.empty() ? "none" : text;
}

double Stragglers::drawn_factor(const Part& part, std::uint64_t draw) {
  if (part.jitter == 0) return part.factor;
  const double u = uniform(SplitMix64::mix(draw));
  double drawn = 1;  // of mean 1
  if (part.distribution == Distribution::kUniform) {
    drawn = 1 + part.jitter * std::sqrt(3.0) * (2 * u - 1);
  } else if (part.distribution == Distribution::kExponential) {
    drawn = 1 - part.jitter - part.jitter * std::log(u);
  } else {
    // exp(s z - s^2 / 2) has mean 1 and deviation sqrt(exp(s^2) - 1); z by Box and Muller (1958).
    const double variance = std::log1p(part.jitter * part.jitter);
    const double v = uniform(SplitMix64::mix(draw + 1));
    const double z = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
    drawn = std::exp(std::sqrt(variance) * z - variance / 2);
  }
  return part.factor * std::max(drawn, 0.0);
}

double Stragglers::compute(double seconds, int host, std::uint64_t step) const {
  double factor = 1, stall = 0;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (!part.is_of(host)) continue;
    // Each entry, host and step has a random stream of its own.
    SplitMix64 generator(SplitMix64::mix(part.seed + 1) ^
                         SplitMix64::mix(static_cast<std::uint64_t>(host) * 64 + i + 1));
    generator.skip(4 * step);
    const std::uint64_t whether = generator.next(), what = generator.next();
    if (uniform(whether) > part.chance) continue;
    factor *= drawn_factor(part, what);
    stall += part.stall;
  }
  return seconds * factor + stall;
}

double Stragglers::longest(double seconds) const {
  double factor = 1, stall = 0;
  for (const Part& part : parts_) {
    const double variance = std::log1p(part.jitter * part.jitter);
    const double most = part.jitter == 0 ? 1
                        : part.distribution == Distribution::kLognormal
                            ? std::exp(5 * std::sqrt(variance))
                            : 1 + 15 * part.jitter;
    factor *= std::max(1.0, part.factor * most);
    stall += part.stall;
  }
  return seconds * factor + stall;
}

void Stragglers::check(int hosts) const {
  for (const Part& part : parts_)
    if (std::max(part.first, part.last) >= hosts)
      throw InputError(fmt::format(
          "straggler {}: there is no host{}; of {} hosts the last is host{}",
          in_quotes(part.spec.to_string()), std::max(part.first, part.last), hosts, hosts - 1));
}

}  // namespace thinpipe
