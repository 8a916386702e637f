#include "netem/shaping.h"

#include <algorithm>
#include <cmath>

#include "base/splitmix64.h"
#include "netem/distribution.h"
#include "netem/qdisc_htb.h"
#include "netem/qdisc_netem.h"
#include "netem/qdisc_tbf.h"

namespace thinpipe {

namespace {

constexpr std::uint32_t kCountingQueue = 16'000'000;  // bytes, of a FIFO that throttles nothing
constexpr std::uint32_t kRoot = 0xffffffff;
constexpr std::uint32_t kRootHandle = 0x10000;  // 1:
constexpr std::uint32_t kFirstClass = 0x10001;  // 1:1, TBF's only class and HTB's
constexpr std::uint32_t kLeafHandle = 0x20000;  // 2:
constexpr double kMostFrames = 4e6;             // 6 GB of full frames
constexpr std::uint32_t kLeastFrames = 1000;    // netem's own default
constexpr double kJitters = 4;                  // what the tables are cut at
constexpr std::uint32_t kLeastQuantum = 1000, kMostQuantum = 200000;  // HTB warns beyond

ShapingStep root(QdiscRequest request) { return {false, {kRoot, kRootHandle}, std::move(request)}; }
ShapingStep leaf(QdiscRequest request) {
  return {false, {kFirstClass, kLeafHandle}, std::move(request)};
}

QdiscRequest netem_of(const Direction& direction, const std::optional<std::uint64_t>& seed,
                      std::uint32_t limit) {
  NetemSettings settings;
  settings.way = direction.way;
  if (direction.shaper == Shaper::kNetem) {
    settings.rate = bytes_per_second(direction.rate);
    settings.overhead = direction.overhead;
  }
  settings.limit = limit;
  if (direction.way.jitter.count() > 0) settings.table = table_of(direction.way);
  settings.seed = seed;
  return netem_request(settings);
}

// HTB's leaf decides what waits; TBF's own queue is the one it is made with.
Shaping htb_with(const Direction& direction, const LinkSpec& link, QdiscRequest waiting) {
  const std::uint32_t quantum = std::clamp(10 * link.frame_bytes(), kLeastQuantum, kMostQuantum);
  return {root(htb_request()),
          {true,
           {kRootHandle, kFirstClass},
           htb_class_request({.rate = bytes_per_second(direction.rate),
                              .burst = direction.burst,
                              .quantum = quantum,
                              .overhead = direction.overhead})},
          leaf(std::move(waiting))};
}

Shaping chain(const Direction& direction, const LinkSpec& link,
              const std::optional<std::uint64_t>& seed) {
  const bool impaired = !direction.way.none();
  const std::uint32_t limit = netem_limit(direction, link.frame_bytes());
  if (direction.rate == 0 && !impaired) return {root(fifo_request(kCountingQueue))};
  if (direction.rate == 0 || direction.shaper == Shaper::kNetem)
    return {root(netem_of(direction, seed, limit))};
  if (direction.shaper == Shaper::kHtb)
    return htb_with(direction, link,
                    impaired ? netem_of(direction, seed, limit) : fifo_request(direction.queue));
  Shaping shaping = {root(tbf_request({.rate = bytes_per_second(direction.rate),
                                       .burst = direction.burst,
                                       .limit = direction.queue,
                                       .overhead = direction.overhead}))};
  if (impaired) shaping.push_back(leaf(netem_of(direction, seed, limit)));
  return shaping;
}

}  // namespace

std::optional<std::uint64_t> netem_seed(const LinkSpec& link, std::uint64_t stream, bool up) {
  if (!link.seed) return std::nullopt;
  return SplitMix64::mix(SplitMix64::mix(*link.seed) + 2 * stream + (up ? 0 : 1));
}

std::uint32_t netem_limit(const Direction& direction, std::uint32_t frame_bytes) {
  const double rate = direction.rate > 0 ? direction.rate : kHighestLinkRate;
  const double seconds =
      std::chrono::duration<double>(direction.way.delay + direction.way.jitter * kJitters).count();
  const double frames = std::ceil(rate * seconds / (8.0 * frame_bytes)) +
                        std::ceil(static_cast<double>(direction.queue) / frame_bytes);
  return std::max(direction.rate > 0 ? 1U : kLeastFrames,
                  static_cast<std::uint32_t>(std::min(frames, kMostFrames)));
}

LinkShaping shaping_of(const LinkSpec& link, std::uint64_t stream) {
  const LinkSpec filled = link.with_defaults();
  const std::uint32_t frame = filled.frame_bytes();
  const auto seed_up = netem_seed(filled, stream, true);
  const auto seed_down = netem_seed(filled, stream, false);
  Direction shaper = filled.up;
  shaper.way = {};
  LinkShaping result;
  result.port = chain(filled.down, filled, seed_down);
  if (filled.place == Place::kSwitch) {
    result.host = chain(Direction{}, filled, seed_up);
    result.way_up = chain(filled.up, filled, seed_up);
  } else {
    result.host = chain(shaper, filled, seed_up);
    if (!filled.up.way.none()) {
      Direction way;
      way.way = filled.up.way;
      // What the sender's shaper lets through is all that can be on its way.
      result.way_up = {root(netem_of(way, seed_up, netem_limit(filled.up, frame)))};
    }
  }
  return result;
}

void install(Netlink& netlink, const std::string& interface, const Shaping& shaping) {
  netlink.delete_root_qdisc(interface);
  for (const ShapingStep& step : shaping) {
    if (step.is_class)
      netlink.set_class(interface, step.at, step.request);
    else
      netlink.set_qdisc(interface, step.at, step.request);
  }
}

std::vector<std::string> differences(Netlink& netlink, const std::string& interface,
                                     const Shaping& shaping) {
  std::vector<std::string> found;
  for (const ShapingStep& step : shaping) {
    const std::string one = step.is_class
                                ? netlink.class_difference(interface, step.at, step.request)
                                : netlink.qdisc_difference(interface, step.at, step.request);
    if (!one.empty()) found.push_back(one);
  }
  return found;
}

}  // namespace thinpipe
