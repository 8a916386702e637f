// Link specs: defaults, TCP ceilings, required kernel features, presets, parsing and printing. The
// keys themselves are in link_keys.cc.
#include "netem/link/link_spec.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/key_values.h"
#include "base/text.h"
#include "netem/link/link_keys.h"

namespace thinpipe {
namespace {

constexpr double kSmallestQueue = 262144;  // bytes in flight of one TCP sender below TSQ's limit
constexpr double kLargestShortQueue = 16e6;
constexpr double kLargestQueue = 1e9;  // the kernel keeps 32 bits
constexpr double kQueueSeconds = 0.05;

void fill(Direction& direction, const LinkSpec& link) {
  if (direction.rate == 0) return;
  const double bytes_per_second = direction.rate / 8;
  const double round_trip_bytes = bytes_per_second * link.round_trip();
  const double least = link.frame_bytes();
  if (direction.burst == 0 && direction.shaper != Shaper::kNetem)
    direction.burst = default_burst(direction.rate, static_cast<int>(link.frame_bytes()));
  if (direction.queue == 0) {
    // The default queue holds 50 ms of data at the link's rate. On long links it holds one
    // bandwidth-delay product, so that one TCP flow can fill the link.
    const double by_time =
        std::clamp(bytes_per_second * kQueueSeconds, kSmallestQueue, kLargestShortQueue);
    const double wanted = direction.queue_bdp > 0 ? direction.queue_bdp * round_trip_bytes
                                                  : std::max(by_time, round_trip_bytes);
    direction.queue = static_cast<std::uint32_t>(std::clamp(wanted, least, kLargestQueue));
  }
  direction.queue_bdp = 0;
}

}  // namespace

double GilbertElliott::mean_loss() const {
  // The chain is in the bad state for a fraction p / (p + r) of the frames.
  const double bad = to_bad + to_good > 0 ? to_bad / (to_bad + to_good) : 0;
  return bad * lost_in_bad + (1 - bad) * lost_in_good;
}

bool Impairment::disturbs() const {
  return loss.percent > 0 || bursts || reorder.percent > 0 || duplicate.percent > 0 ||
         corrupt.percent > 0 || jitter.count() > 0;
}

std::uint32_t default_burst(double rate, int frame_bytes) {
  constexpr double kMicros = 1000;
  const double bytes_per_us = rate / 8e6;
  const double micros = std::max(kMicros, std::ceil(2.0 * frame_bytes / bytes_per_us));
  return static_cast<std::uint32_t>(std::ceil(micros * bytes_per_us));
}

LinkSpec LinkSpec::with_defaults() const {
  LinkSpec filled = *this;
  fill(filled.up, *this);
  fill(filled.down, *this);
  return filled;
}

double LinkSpec::rate() const {
  if (up.rate == 0 || down.rate == 0) return std::max(up.rate, down.rate);
  return std::min(up.rate, down.rate);
}

double LinkSpec::delay() const {
  return in_seconds(up.impairment.delay + down.impairment.delay) / (trunk ? 2 : 1);
}

double LinkSpec::tcp_ceiling(double acks_per_second) const {
  const auto ceiling_of = [&](const Direction& direction) {
    const double acks = acks_per_second * 8 * (kAckFrame + direction.overhead);
    return std::max(0.0, direction.rate - acks) * payload_bytes() /
           (frame_bytes() + direction.overhead);
  };
  const double of_up = ceiling_of(up), of_down = ceiling_of(down);
  return up.rate == 0 || down.rate == 0 ? std::max(of_up, of_down) : std::min(of_up, of_down);
}

std::uint32_t LinkSpec::frame_bytes() const { return mtu + kEthernetHeader; }
std::uint32_t LinkSpec::payload_bytes() const { return mtu - kTcpHeaders; }

bool LinkSpec::needs_netem() const {
  return !up.impairment.none() || !down.impairment.none() || up.shaper == Shaper::kNetem ||
         down.shaper == Shaper::kNetem;
}

bool LinkSpec::needs_single_frames() const {
  return needs_netem() || up.overhead > 0 || down.overhead > 0;
}

namespace {

// For access links (lte, adsl, wifi), the sources measured the RTT between host and network. Each
// direction of these links has half this RTT as its delay. The RTT between two such hosts is
// therefore twice the measured RTT.
constexpr LinkPreset kPresets[] = {
    {"ethernet-1g", "rate=1gbit,overhead=24", "Gigabit Ethernet, wire framing counted",
     "Ethernet (IEEE 802.3): 8 bytes of preamble with its delimiter, 4 of check sequence and 12 of "
     "gap a frame"},
    {"ethernet-10g", "rate=10gbit,overhead=24", "10 Gigabit Ethernet, wire framing counted",
     "Ethernet (IEEE 802.3), as ethernet-1g"},
    {"wan-100ms", "rate=100mbit,delay=50ms,queue=1bdp",
     "datacentres an ocean apart, 100 ms round trip",
     "round trip: California to Tokyo 102.5 ms, Virginia to Frankfurt 88.6 ms between AWS regions "
     "(averages published in April 2017); rate: ours, for a WAN far thinner than the LAN, the "
     "setting of Hsieh et al. (Gaia, NSDI 2017); queue: one round trip of the rate (Villamizar and "
     "Song, 1994)"},
    {"lte", "rate=12mbit,up.delay=35ms,down.delay=35ms", "a mobile phone's link, 70 ms round trip",
     "WebPageTest's connection profile LTE (12/12 Mbit/s, 70 ms)"},
    {"adsl", "rate=1500kbit,up.rate=384kbit,delay=25ms,up.delay=25ms",
     "a telephone line, 50 ms round trip",
     "WebPageTest's connection profile DSL (1.5 Mbit/s down, 384 kbit/s up, 50 ms)"},
    {"wifi", "up.rate=33mbit,down.rate=40mbit,up.delay=1ms,down.delay=1ms",
     "a home's wireless network",
     "ours, of the order of what tools for developers call Wi-Fi (Proxyman's documentation: 25 to "
     "40 Mbit/s down, 15 to 30 up)"},
    {"geo-satellite", "up.rate=3mbit,down.rate=25mbit,delay=279ms",
     "over one geostationary satellite, 558 ms round trip",
     "delay: RFC 2488, section 2 (one hop at the edge of the view, 279.0 ms); rates: the plan that "
     "HughesNet sold on Jupiter 1 and 2 (25 Mbit/s down, 3 Mbit/s up)"},
    {"aws-25g", "rate=25gbit,mtu=9001", "EC2 instances of 25 Gbit/s in one VPC",
     "rate: ours, of the larger instances; AWS EC2 User Guide, instance network bandwidth: one "
     "flow gets at most 5 Gbit/s outside a cluster placement group, 10 within; network MTU: 9001 "
     "within a VPC"},
};

// The kernel keeps a bucket's depth as transmit time, in 32 bits of 64 ns.
constexpr double kLongestBurst = 250;  // s

void refuse_unknown(const KeyValues& items) {
  std::vector<std::string> known;
  for (const DirectionKey& key : direction_keys()) known.push_back(key.name);
  for (const LinkKey& key : link_keys()) known.push_back(key.name);
  std::vector<std::string> accepted = known;
  for (const DirectionKey& key : direction_keys())
    for (const char* prefix : {"up.", "down."}) accepted.push_back(prefix + std::string(key.name));
  for (const auto& [key, value] : items.left())
    if (std::find(accepted.begin(), accepted.end(), key) == accepted.end())
      items.fail(
          fmt::format("unknown key {} (known: {}; all but mtu, place and seed accept the "
                      "prefix up. or down.){}",
                      in_quotes(key), fmt::join(known, ", "), did_you_mean(key, accepted)));
}

// Returns the link named by `word`, which has no `=`.
LinkSpec named_link(std::string_view text, const std::string& word) {
  if (word == kUnthrottled) return {};
  std::vector<std::string> names;
  for (const LinkPreset& preset : kPresets) {
    if (word == preset.name) return parse_link_spec(preset.spec);
    names.push_back(preset.name);
  }
  throw InputError(fmt::format(
      "link {}: expected key=value (such as rate=100mbit) or one of {}, found {}{}",
      in_quotes(text), fmt::join(names, ", "), in_quotes(word), did_you_mean(word, names)));
}

// Returns the key-value pairs of the text. A preset's name may precede the pairs; `link` is then
// that preset.
KeyValues take_apart(std::string_view text, LinkSpec& link) {
  const std::string first(text.substr(0, text.find(',')));
  std::string_view pairs = text;
  if (!first.empty() && first.find('=') == std::string::npos) {
    link = named_link(text, first);
    if (first.size() == text.size()) return KeyValues::after_name("link", first);
    pairs.remove_prefix(first.size() + 1);
  }
  KeyValues items("link", text, pairs);
  refuse_unknown(items);
  return items;
}

// Applies keys without a prefix first, so that a key with a prefix overrides them.
void apply_keys(KeyValues& items, LinkSpec& link) {
  const auto apply = [&items](const std::string& key, const auto& read) {
    if (const auto value = items.find(key)) items.read(key, *value, read);
  };
  for (const DirectionKey& key : direction_keys()) {
    apply(key.name, [&](const std::string& value) {
      key.read(link.down, value);
      key.read(link.up, key.never != nullptr ? key.never : value);
    });
    apply(std::string("up.") + key.name,
          [&](const std::string& value) { key.read(link.up, value); });
    apply(std::string("down.") + key.name,
          [&](const std::string& value) { key.read(link.down, value); });
  }
  for (const LinkKey& key : link_keys())
    apply(key.name, [&](const std::string& value) { key.read(link, value); });
}

// A key that has no meaning without another key is an error if the user gave it, and is dropped if
// a preset did.
void check_impairment(const KeyValues& items, const std::string& prefix, Impairment& impairment) {
  const auto given = [&](const char* key) {
    return items.given(prefix + key) || (prefix == "down." && items.given(key));
  };
  if (impairment.jitter.count() == 0) {
    if (given("dist"))
      items.fail(
          fmt::format("{}dist is a delay distribution and needs a jitter (such as jitter=1ms)",
                      prefix == "down." ? "" : prefix));
    impairment.distribution = DelayDistribution::kUniform;
    impairment.table.clear();
  }
  if (impairment.reorder.percent == 0) {
    if (given("gap"))
      items.fail("gap limits which frames are reordered and needs reorder (such as reorder=25%)");
    impairment.gap = 0;
  } else {
    impairment.gap = std::max(impairment.gap, 1U);
    if (impairment.delay.count() == 0)
      items.fail("reorder lets frames skip the delay and needs a delay (such as delay=10ms)");
  }
}

void check_shaping(const KeyValues& items, const std::string& prefix, const LinkSpec& link,
                   Direction& direction) {
  const bool plain_is_for_other = link.throttled();
  for (const char* key : {"burst", "queue", "overhead", "shaper"})
    if (direction.rate == 0 &&
        (items.given(prefix + key) || (items.given(key) && !plain_is_for_other)))
      items.fail(fmt::format("{} needs a rate (such as rate=100mbit)", key));
  if (direction.rate == 0) {
    const Impairment impairment = direction.impairment;
    direction = {};
    direction.impairment = impairment;
    return;
  }
  if (direction.shaper == Shaper::kNetem && direction.burst > 0) {
    if (items.given("burst") || items.given(prefix + "burst"))
      items.fail("burst is the depth of a token bucket, but shaper=netem has no bucket");
    direction.burst = 0;
  }
  const auto at_least_a_frame = [&](const char* key, std::uint32_t bytes) {
    if (bytes > 0 && bytes < link.frame_bytes())
      items.fail(fmt::format("{}={} is smaller than a frame (minimum {} bytes at mtu={})", key,
                             bytes, link.frame_bytes(), link.mtu));
  };
  at_least_a_frame("burst", direction.burst);
  at_least_a_frame("queue", direction.queue);
  if (direction.burst * 8.0 / direction.rate > kLongestBurst)
    items.fail(fmt::format("burst={} takes {:.0f} s at this rate (limit {:.0f} s)", direction.burst,
                           direction.burst * 8.0 / direction.rate, kLongestBurst));
  if (direction.queue_bdp > 0 && link.round_trip() == 0) {
    if (items.given("queue") || items.given(prefix + "queue"))
      items.fail(fmt::format(
          "queue={}bdp is a multiple of rate times RTT and needs a delay (such as delay=10ms)",
          direction.queue_bdp));
    direction.queue_bdp = 0;
  }
}

std::string print_direction_key(const DirectionKey& key, const LinkSpec& link) {
  const std::string up = key.print(link.up), down = key.print(link.down);
  const auto pair = [](const std::string& name, const std::string& value) {
    return value.empty() ? "" : fmt::format(",{}={}", name, value);
  };
  if (key.never != nullptr) return pair(key.name, down) + pair(std::string("up.") + key.name, up);
  if (up == down) return pair(key.name, up);
  return pair(std::string("up.") + key.name, up) + pair(std::string("down.") + key.name, down);
}

}  // namespace

std::span<const LinkPreset> link_presets() { return kPresets; }

std::string LinkSpec::to_string() const {
  std::string text;
  for (const DirectionKey& key : direction_keys()) text += print_direction_key(key, *this);
  for (const LinkKey& key : link_keys())
    if (const std::string value = key.print(*this); !value.empty())
      text += fmt::format(",{}={}", key.name, value);
  return text.empty() ? kUnthrottled : text.substr(1);
}

LinkSpec parse_link_spec(std::string_view text) {
  LinkSpec link;
  KeyValues items = take_apart(text, link);
  apply_keys(items, link);
  check_impairment(items, "up.", link.up.impairment);
  check_impairment(items, "down.", link.down.impairment);
  check_shaping(items, "up.", link, link.up);
  check_shaping(items, "down.", link, link.down);
  return link;
}

std::vector<LinkSpec> expand_link_specs(std::string_view text) {
  std::vector<std::string> texts = {""};
  bool first = true;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string key = equals == std::string::npos ? "" : part.substr(0, equals + 1);
    const std::vector<std::string> values = split(std::string_view(part).substr(key.size()), '|');
    check_alternatives(text, texts.size(), values.size());
    std::vector<std::string> grown;
    for (const std::string& prefix : texts)
      for (const std::string& value : values)
        grown.push_back(prefix + (first ? "" : ",") + key + value);
    texts = std::move(grown);
    first = false;
  }
  std::vector<LinkSpec> links;
  for (const std::string& one : texts) links.push_back(parse_link_spec(one));
  return links;
}

}  // namespace thinpipe
