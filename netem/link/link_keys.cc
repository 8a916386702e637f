#include "netem/link/link_keys.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

namespace thinpipe {
namespace {

// Printers and parsers of values as text. Parsing the text that a printer returns gives the same
// value again. Parsers throw InputError with what was found and what is expected.

constexpr double kMaxCorrelation = 99;  // percent: 1%/25% means 1 % with a correlation of 25 %

std::string print_time(std::chrono::nanoseconds time) {
  // Whole nanoseconds, which read_time's rounding restores exactly.
  const auto count = static_cast<double>(time.count());
  for (const auto& [factor, suffix] :
       {std::pair{1e9, "s"}, std::pair{1e6, "ms"}, std::pair{1e3, "us"}})
    if (count >= factor) return fmt::format("{}{}", count / factor, suffix);
  return fmt::format("{}ns", count);
}

std::string print_percent(double percent) { return fmt::format("{}%", percent); }

std::string print_chance(const Chance& chance) {
  if (chance.percent == 0) return "";
  const std::string percent = print_percent(chance.percent);
  return chance.correlation == 0 ? percent : percent + "/" + print_percent(chance.correlation);
}

double read_rate(const std::string& text) {
  const double rate = parse_rate(text);
  if (rate >= kLowestLinkRate && rate <= kHighestLinkRate) return rate;
  throw InputError(fmt::format("{} is out of range (allowed: {} to {})", excerpt(text),
                               link_rate_text(kLowestLinkRate), link_rate_text(kHighestLinkRate)));
}

std::uint32_t read_bytes(const std::string& text, double least, double most) {
  const double bytes = parse_size(text);
  if (bytes >= least && bytes <= most) return static_cast<std::uint32_t>(bytes);
  throw InputError(fmt::format("{} is out of range (allowed: {:.0f} to {:.0f} bytes)",
                               excerpt(text), least, most));
}

std::chrono::nanoseconds read_time(const std::string& text, double most_seconds) {
  const double seconds = parse_time(text);
  if (seconds <= most_seconds) return std::chrono::nanoseconds(std::llround(seconds * 1e9));
  throw InputError(
      fmt::format("{} is out of range (allowed: 0s to {}s)", excerpt(text), most_seconds));
}

double read_percent(const std::string& text) {
  // tc also accepts a number without % as a percentage. This parser requires the % sign, since 0.01
  // could be taken for 1 %.
  if (const auto value = parse_number_with<double>("%", text, 0, 100)) return *value;
  if (!parse_number_with<double>("%", text))
    throw InputError(fmt::format("{} is not a percentage (such as 0.1%)", in_quotes(text)));
  throw InputError(fmt::format("{} is out of range (allowed: 0% to 100%)", excerpt(text)));
}

std::uint64_t read_whole(const std::string& text, std::uint64_t least, std::uint64_t most) {
  if (const auto value = parse_number<std::uint64_t>(text, least, most)) return *value;
  throw InputError(
      fmt::format("{} is not a whole number from {} to {}", in_quotes(text), least, most));
}

double read_multiple(const std::string& text, std::string_view unit, double most) {
  const auto value = parse_number_with<double>(unit, text, 0, most);
  if (value && *value > 0) return *value;
  throw InputError(fmt::format("{} is not a multiple above 0 and up to {} (such as 2{})",
                               in_quotes(text), most, unit));
}

Chance read_chance(const std::string& text) {
  const std::vector<std::string> parts = split(text, '/');
  if (parts.size() > 2)
    throw InputError(fmt::format(
        "{} has {} fields; expected a percentage and an optional correlation (such as 1%/25%)",
        in_quotes(text), parts.size()));
  const Chance chance{read_percent(parts[0]), parts.size() > 1 ? read_percent(parts[1]) : 0};
  if (chance.correlation > kMaxCorrelation)
    throw InputError(fmt::format(
        "a correlation of {} lets the first frame decide for nearly all others (limit {}%)",
        parts[1], kMaxCorrelation));
  return chance.percent > 0 ? chance : Chance{};
}

std::size_t read_choice(const std::string& text, const std::vector<std::string>& choices) {
  const auto found = std::find(choices.begin(), choices.end(), text);
  if (found != choices.end()) return static_cast<std::size_t>(found - choices.begin());
  throw InputError(fmt::format("{} is not one of {}{}", in_quotes(text), fmt::join(choices, ", "),
                               did_you_mean(text, choices)));
}

constexpr double kLargestBytes = 1e9;        // the kernel keeps bucket and queue in 32 bits
constexpr double kSmallestBytes = 590;       // a frame at the smallest MTU
constexpr std::uint32_t kMaxOverhead = 256;  // bytes: beyond any link layer's framing
constexpr std::uint32_t kSmallestMtu = 576;  // every IPv4 host must accept this size (RFC 791)
constexpr std::uint32_t kLargestMtu = 9216;  // largest jumbo frame in common switches
constexpr std::uint32_t kLargestGap = 1'000'000;
constexpr double kMaxBdp = 1000;

const std::vector<std::string> kShapers = {"tbf", "htb", "netem"};
const std::vector<std::string> kPlaces = {"sender", "switch"};
const std::vector<std::string> kDistributions = {"uniform", "normal", "pareto", "paretonormal"};
constexpr std::string_view kTablePrefix = "table:";
constexpr std::string_view kBurstsPrefix = "ge:";

void read_queue(Direction& direction, const std::string& text) {
  constexpr std::string_view kSuffix = "bdp";
  direction.queue = 0;
  direction.queue_bdp = 0;
  if (text.size() <= kSuffix.size() || !text.ends_with(kSuffix)) {
    direction.queue = read_bytes(text, kSmallestBytes, kLargestBytes);
    return;
  }
  direction.queue_bdp = read_multiple(text, kSuffix, kMaxBdp);
}

std::string print_queue(const Direction& direction) {
  if (direction.queue_bdp > 0) return fmt::format("{}bdp", direction.queue_bdp);
  return direction.queue > 0 ? fmt::format("{}", direction.queue) : "";
}

void read_jitter(Direction& direction, const std::string& text) {
  if (text.find('/') != std::string::npos)
    throw InputError(fmt::format(
        "{} has a correlation, which netem accepts and ignores: it uses only the low bits of a "
        "draw, which do not depend on the draw before. Give a time alone (such as 1ms)",
        in_quotes(text)));
  direction.impairment.jitter = read_time(text, kLongestLinkJitter);
}

std::string print_jitter(const Direction& direction) {
  return direction.impairment.jitter.count() == 0 ? "" : print_time(direction.impairment.jitter);
}

void read_distribution(Direction& direction, const std::string& text) {
  direction.impairment.table.clear();
  if (text.starts_with(kTablePrefix)) {
    direction.impairment.distribution = DelayDistribution::kTable;
    direction.impairment.table = text.substr(kTablePrefix.size());
    if (direction.impairment.table.empty())
      throw InputError("'table:' lacks a file name (such as table:/usr/lib/tc/normal.dist)");
    return;
  }
  try {
    direction.impairment.distribution =
        static_cast<DelayDistribution>(read_choice(text, kDistributions));
  } catch (const InputError& error) {
    throw InputError(std::string(error.what()) + ", or table:FILE");
  }
}

std::string print_distribution(const Direction& direction) {
  if (direction.impairment.distribution == DelayDistribution::kTable)
    return std::string(kTablePrefix) + direction.impairment.table;
  if (direction.impairment.distribution == DelayDistribution::kUniform) return "";
  return kDistributions[static_cast<std::size_t>(direction.impairment.distribution)];
}

void read_loss(Direction& direction, const std::string& text) {
  direction.impairment.loss = {};
  direction.impairment.bursts.reset();
  if (!text.starts_with(kBurstsPrefix)) {
    direction.impairment.loss = read_chance(text);
    return;
  }
  const std::vector<std::string> parts =
      split(std::string_view(text).substr(kBurstsPrefix.size()), '/');
  if (parts.size() > 4)
    throw InputError(fmt::format(
        "{} has {} fields; expected ge:P/R/1-H/1-K, all but the first optional (such as ge:1%/10%)",
        in_quotes(text), parts.size()));
  GilbertElliott bursts;
  double* const fields[] = {&bursts.to_bad, &bursts.to_good, &bursts.lost_in_bad,
                            &bursts.lost_in_good};
  for (std::size_t i = 0; i < parts.size(); ++i) *fields[i] = read_percent(parts[i]);
  direction.impairment.bursts = bursts;
}

std::string print_loss(const Direction& direction) {
  if (!direction.impairment.bursts) return print_chance(direction.impairment.loss);
  const GilbertElliott& bursts = *direction.impairment.bursts;
  return fmt::format("ge:{}/{}/{}/{}", print_percent(bursts.to_bad), print_percent(bursts.to_good),
                     print_percent(bursts.lost_in_bad), print_percent(bursts.lost_in_good));
}

const DirectionKey kDirectionKeys[] = {
    {"rate", "RATE", "bit/s of Ethernet frames, 1kbit to 100gbit (kbit, mbit, gbit)", nullptr,
     [](Direction& to, const std::string& text) { to.rate = read_rate(text); },
     [](const Direction& of) { return of.rate > 0 ? link_rate_text(of.rate) : ""; }},
    {"burst", "SIZE", "token-bucket depth; default: 1 ms of the rate, at least two frames", nullptr,
     [](Direction& to, const std::string& text) {
       to.burst = read_bytes(text, kSmallestBytes, kLargestBytes);
     },
     [](const Direction& of) { return of.burst > 0 ? fmt::format("{}", of.burst) : ""; }},
    {"queue", "SIZE|Nbdp", "queue limit in bytes (256kb), or in multiples of rate times RTT (2bdp)",
     nullptr, read_queue, print_queue},
    {"overhead", "BYTES", "extra bytes charged for each frame: 24 on Ethernet", nullptr,
     [](Direction& to, const std::string& text) {
       to.overhead = static_cast<std::uint32_t>(read_whole(text, 0, kMaxOverhead));
     },
     [](const Direction& of) { return of.overhead > 0 ? fmt::format("{}", of.overhead) : ""; }},
    {"shaper", "tbf|htb|netem", "the qdisc that limits the rate", nullptr,
     [](Direction& to, const std::string& text) {
       to.shaper = static_cast<Shaper>(read_choice(text, kShapers));
     },
     [](const Direction& of) {
       return of.shaper == Shaper::kTbf ? "" : kShapers[static_cast<std::size_t>(of.shaper)];
     }},
    {"delay", "TIME", "one-way delay between two hosts (10ms)", "0s",
     [](Direction& to, const std::string& text) {
       to.impairment.delay = read_time(text, kLongestLinkDelay);
     },
     [](const Direction& of) {
       return of.impairment.delay.count() > 0 ? print_time(of.impairment.delay) : "";
     }},
    {"jitter", "TIME", "standard deviation of the delay (1ms)", "0s", read_jitter, print_jitter},
    {"dist", "NAME", "delay distribution: uniform, normal, pareto, paretonormal or table:FILE",
     "uniform", read_distribution, print_distribution},
    {"loss", "P[/CORR]|ge:P/R/1-H/1-K", "fraction of frames lost (0.1%), or loss in bursts", "0%",
     read_loss, print_loss},
    {"reorder", "P[/CORR]", "fraction of frames that skip the delay", "0%",
     [](Direction& to, const std::string& text) { to.impairment.reorder = read_chance(text); },
     [](const Direction& of) { return print_chance(of.impairment.reorder); }},
    {"gap", "N", "only every Nth frame may skip the delay", "1",
     [](Direction& to, const std::string& text) {
       to.impairment.gap = static_cast<std::uint32_t>(read_whole(text, 1, kLargestGap));
     },
     [](const Direction& of) {
       return of.impairment.gap > 1 ? fmt::format("{}", of.impairment.gap) : "";
     }},
    {"duplicate", "P[/CORR]", "fraction of frames sent twice", "0%",
     [](Direction& to, const std::string& text) { to.impairment.duplicate = read_chance(text); },
     [](const Direction& of) { return print_chance(of.impairment.duplicate); }},
    {"corrupt", "P[/CORR]", "fraction of frames with one bit flipped", "0%",
     [](Direction& to, const std::string& text) { to.impairment.corrupt = read_chance(text); },
     [](const Direction& of) { return print_chance(of.impairment.corrupt); }},
};

const LinkKey kLinkKeys[] = {
    {"mtu", "BYTES", "largest IP packet, 576 to 9216",
     [](LinkSpec& to, const std::string& text) {
       to.mtu = static_cast<std::uint32_t>(read_whole(text, kSmallestMtu, kLargestMtu));
     },
     [](const LinkSpec& of) { return of.mtu == 1500 ? "" : fmt::format("{}", of.mtu); }},
    {"place", "sender|switch", "where the uplink is shaped: backpressure or tail drop",
     [](LinkSpec& to, const std::string& text) {
       to.place = static_cast<Place>(read_choice(text, kPlaces));
     },
     [](const LinkSpec& of) { return std::string(of.place == Place::kSwitch ? "switch" : ""); }},
    {"seed", "N", "seed of netem's random numbers (Linux 6.6 and later)",
     [](LinkSpec& to, const std::string& text) { to.seed = read_whole(text, 0, UINT64_MAX); },
     [](const LinkSpec& of) { return of.seed ? fmt::format("{}", *of.seed) : ""; }},
};

using Json = nlohmann::ordered_json;

void add_chance(Json& json, const char* name, const Chance& chance) {
  if (chance.percent == 0) return;
  json[name] = {{"share", chance.percent / 100}, {"correlation", chance.correlation / 100}};
}

Json direction_json(const Direction& direction) {
  Json json;
  json["rate"] = direction.rate > 0 ? Json(direction.rate) : Json(nullptr);
  if (direction.rate > 0) {
    json["shaper"] = kShapers[static_cast<std::size_t>(direction.shaper)];
    if (direction.shaper != Shaper::kNetem) json["burst"] = direction.burst;
    json["queue"] = direction.queue;
    json["overhead"] = direction.overhead;
  }
  const Impairment& impairment = direction.impairment;
  json["delay"] = in_seconds(impairment.delay);
  if (impairment.jitter.count() > 0) {
    json["jitter"] = in_seconds(impairment.jitter);
    const bool of_table = impairment.distribution == DelayDistribution::kTable;
    json["distribution"] =
        of_table ? "table" : kDistributions[static_cast<std::size_t>(impairment.distribution)];
    if (of_table) json["table"] = impairment.table;
  }
  add_chance(json, "loss", impairment.loss);
  if (impairment.bursts)
    json["loss"] = {{"to_bad", impairment.bursts->to_bad / 100},
                    {"to_good", impairment.bursts->to_good / 100},
                    {"lost_in_bad", impairment.bursts->lost_in_bad / 100},
                    {"lost_in_good", impairment.bursts->lost_in_good / 100},
                    {"share", impairment.bursts->mean_loss() / 100}};
  add_chance(json, "reorder", impairment.reorder);
  if (impairment.gap > 0) json["reorder"]["gap"] = impairment.gap;
  add_chance(json, "duplicate", impairment.duplicate);
  add_chance(json, "corrupt", impairment.corrupt);
  return json;
}

}  // namespace

std::string link_rate_text(double rate) {
  for (const auto& [factor, suffix] :
       {std::pair{1e9, "gbit"}, std::pair{1e6, "mbit"}, std::pair{1e3, "kbit"}}) {
    // Division may lose the last bit. Such a rate is printed in the next smaller unit.
    if (rate >= factor && rate / factor * factor == rate)
      return fmt::format("{}{}", rate / factor, suffix);
  }
  return fmt::format("{}bit", rate);
}

std::span<const DirectionKey> direction_keys() { return kDirectionKeys; }
std::span<const LinkKey> link_keys() { return kLinkKeys; }

Json link_json(const LinkSpec& link) {
  const LinkSpec filled = link.with_defaults();
  Json json{{"text", link.to_string()},
            {"rate", link.throttled() ? Json(link.rate()) : Json(nullptr)},
            {"delay", link.delay()},
            {"mtu", link.mtu},
            {"place", link.place == Place::kSender ? "sender" : "switch"}};
  if (link.seed) json["seed"] = *link.seed;
  json["up"] = direction_json(filled.up);
  json["down"] = direction_json(filled.down);
  return json;
}

}  // namespace thinpipe
