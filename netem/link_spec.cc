#include "netem/link_spec.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

namespace thinpipe {

namespace {

constexpr double kLowestRate = 1e3;    // tc's rate tables lose meaning below 1 kbit/s
constexpr double kHighestRate = 30e9;  // libnl-route 3.7 carries TBF rates up to 34.36 Gbit/s
constexpr double kLargestBytes = 1e9;  // bucket and queue are 32 bits in the kernel

// 100mbit rather than 100000000bit; exact, so that the text parses back to the same rate.
std::string rate_text(double rate) {
  for (const auto& [factor, suffix] :
       {std::pair{1e9, "gbit"}, std::pair{1e6, "mbit"}, std::pair{1e3, "kbit"}})
    if (rate >= factor) return fmt::format("{}{}", rate / factor, suffix);
  return fmt::format("{}bit", rate);
}

double bounded(std::string_view key, std::string_view text, double value, double low, double high) {
  if (value >= low && value <= high) return value;
  throw InputError(
      fmt::format("link: {}={} is out of range; {} to {} is possible", key, text, low, high));
}

}  // namespace

std::string LinkSpec::to_string() const {
  if (!throttled()) return "unthrottled";
  std::string text = "rate=" + rate_text(rate);
  if (burst != 0) text += fmt::format(",burst={}", burst);
  if (queue != 0) text += fmt::format(",queue={}", queue);
  return text;
}

std::uint32_t default_burst(double rate) {
  constexpr double kMicros = 1000;
  const double bytes_per_us = rate / 8e6;
  const double micros = std::max(kMicros, std::ceil(2.0 * kFrameBytes / bytes_per_us));
  return static_cast<std::uint32_t>(std::ceil(micros * bytes_per_us));
}

LinkSpec LinkSpec::with_defaults() const {
  LinkSpec filled = *this;
  if (!throttled()) return filled;
  if (filled.burst == 0) filled.burst = default_burst(rate);
  // 50 ms of the link, and never less than what one TCP sender keeps in flight below TSQ.
  if (filled.queue == 0)
    filled.queue = static_cast<std::uint32_t>(std::clamp(rate / 8 * 0.05, 262144.0, 16e6));
  return filled;
}

LinkSpec parse_link_spec(std::string_view text) {
  LinkSpec link;
  std::set<std::string> seen;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (value.empty())
      throw InputError(fmt::format(
          "link '{}': expected key=value (such as rate=100mbit), found '{}'", text, part));
    if (!seen.insert(key).second)
      throw InputError(fmt::format("link '{}': {} is given twice", text, key));
    if (key == "rate") {
      link.rate = bounded(key, value, parse_rate(value), kLowestRate, kHighestRate);
    } else if (key == "burst") {
      link.burst = static_cast<std::uint32_t>(
          bounded(key, value, parse_size(value), kFrameBytes, kLargestBytes));
    } else if (key == "queue") {
      link.queue = static_cast<std::uint32_t>(
          bounded(key, value, parse_size(value), kFrameBytes, kLargestBytes));
    } else {
      throw InputError(fmt::format("link '{}': unknown key '{}' (known: rate, burst, queue){}",
                                   text, key, did_you_mean(key, {"rate", "burst", "queue"})));
    }
  }
  if (!seen.contains("rate"))
    throw InputError(fmt::format("link '{}': rate is missing (such as rate=100mbit)", text));
  return link;
}

std::vector<LinkSpec> expand_link_specs(std::string_view text) {
  std::vector<std::string> texts = {""};
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    const std::string key = equals == std::string::npos ? "" : part.substr(0, equals + 1);
    std::vector<std::string> grown;
    for (const std::string& prefix : texts)
      for (const std::string& value : split(std::string_view(part).substr(key.size()), '|'))
        grown.push_back(prefix + (prefix.empty() ? "" : ",") + key + value);
    texts = std::move(grown);
  }
  std::vector<LinkSpec> links;
  for (const std::string& one : texts) links.push_back(parse_link_spec(one));
  return links;
}

}  // namespace thinpipe
