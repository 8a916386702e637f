#include "workloads/replay/feed.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"

namespace thinpipe {

namespace {

template <class Value>
Value one_of(const std::string& text, const std::string& what,
             const std::vector<std::pair<std::string, Value>>& known) {
  std::vector<std::string> names;
  for (const auto& [name, value] : known) {
    if (name == text) return value;
    names.push_back(name);
  }
  throw InputError(fmt::format("{} {}; expected {}{}", what, in_quotes(text),
                               fmt::join(names, ", "), did_you_mean(text, names)));
}

std::size_t bucket_bytes(const std::string& key, const std::string& text) {
  constexpr double kMost = 1e12;
  const double bytes = parse_size(text);
  if (bytes < 1 || bytes > kMost)
    throw InputError(
        fmt::format("buckets: {}={}; expected at least 1 byte and at most 1e12", key, text));
  return static_cast<std::size_t>(bytes);
}

// As parse_size() reads it, in the greatest unit that leaves a whole number.
std::string size_text(std::size_t bytes) {
  if (bytes % (1 << 20) == 0) return fmt::format("{}mb", bytes >> 20);
  if (bytes % (1 << 10) == 0) return fmt::format("{}kb", bytes >> 10);
  return fmt::format("{}b", bytes);
}

}  // namespace

BucketLimits BucketLimits::parse(const std::string& text) {
  BucketLimits limits;
  if (text == "ddp") return limits;
  for (const std::string& item : split(text, ',')) {
    const std::size_t equals = item.find('=');
    const std::string key = item.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : item.substr(equals + 1);
    if (key == "first") {
      limits.first = bucket_bytes(key, value);
    } else if (key == "rest") {
      limits.rest = bucket_bytes(key, value);
    } else if (key == "order") {
      limits.order = one_of<Order>(value, "buckets: order",
                                   {{"ready", Order::kReady}, {"reverse", Order::kReverse}});
    } else {
      throw InputError(
          fmt::format("buckets {}: {} is not known; expected ddp, or "
                      "first=SIZE,rest=SIZE,order=ready|reverse with any of them left out",
                      in_quotes(text), in_quotes(item)));
    }
  }
  return limits;
}

std::string BucketLimits::to_string() const {
  if (*this == BucketLimits()) return "ddp";
  return fmt::format("first={},rest={},order={}", size_text(first), size_text(rest),
                     order == Order::kReady ? "ready" : "reverse");
}

const char* to_string(Granularity granularity) {
  switch (granularity) {
    case Granularity::kTensor:
      return "tensor";
    case Granularity::kBucket:
      return "bucket";
    case Granularity::kModel:
      break;
  }
  return "model";
}

const char* to_string(Overlap overlap) { return overlap == Overlap::kNone ? "none" : "bucket"; }

Granularity parse_granularity(const std::string& text) {
  return one_of<Granularity>(text, "granularity",
                             {{"tensor", Granularity::kTensor},
                              {"bucket", Granularity::kBucket},
                              {"model", Granularity::kModel}});
}

Overlap parse_overlap(const std::string& text) {
  return one_of<Overlap>(text, "overlap", {{"none", Overlap::kNone}, {"bucket", Overlap::kBucket}});
}

std::string Feed::to_string() const {
  std::vector<std::string> parts;
  const auto say = [&](bool differs, const std::string& part) {
    if (differs) parts.push_back(part);
  };
  say(granularity != Granularity::kTensor,
      fmt::format("granularity={}", thinpipe::to_string(granularity)));
  say(min_elements != 0, fmt::format("min_elements={}", min_elements));
  say(overlap != Overlap::kNone, fmt::format("overlap={}", thinpipe::to_string(overlap)));
  say(codec_beside, "codec=thread");
  say(limits != BucketLimits(), fmt::format("buckets={}", limits.to_string()));
  say(local_steps != 1, fmt::format("local_steps={}", local_steps));
  if (outer) parts.push_back("outer=" + outer->to_string());
  say(epoch != 0, fmt::format("epoch={}", epoch));
  return fmt::format("{}", fmt::join(parts, ";"));
}

}  // namespace thinpipe
