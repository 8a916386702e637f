#include "harness/commands/step_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "harness/plan/plan.h"
#include "netem/topology/time_scale.h"

namespace thinpipe {
namespace {

using Type = OptionInfo::Type;

double number_in(const std::string& option, const std::string& text, double least, double most,
                 bool whole) {
  const auto value = parse_number<double>(text, least, most);
  if (!value || (whole && *value != std::floor(*value)))
    throw InputError(fmt::format("--{} {}: expected a {} from {} to {}, or several joined by '|'",
                                 option, excerpt(text), whole ? "whole number" : "number", least,
                                 most));
  return *value;
}

// Resets settings that do not apply to their defaults, so that equal settings look equal.
Feed normal(Feed feed) {
  if (feed.overlap == Overlap::kNone) feed.codec_beside = false;
  if (feed.overlap == Overlap::kNone && feed.granularity != Granularity::kBucket)
    feed.limits = BucketLimits();
  if (feed.granularity == Granularity::kModel) {
    feed.overlap = Overlap::kNone;  // nothing leaves before all is there
    feed.codec_beside = false;
    feed.limits = BucketLimits();
  }
  return feed;
}

}  // namespace

std::vector<OptionInfo> feed_options() {
  return {
      {.name = "overlap",
       .value_name = "WHAT",
       .type = Type::kText,
       .default_value = "none",
       .help = "none: payloads leave when the backward pass is over; bucket: each bucket leaves "
               "when its gradients are ready; 'none|bucket' measures both",
       .suggestions = {"none", "bucket"},
       .repeatable = true},
      {.name = "codec",
       .value_name = "WHERE",
       .type = Type::kText,
       .default_value = "inline",
       .help = "with --overlap bucket: inline, the backward pass waits for compression; thread, it "
               "goes on",
       .suggestions = {"inline", "thread"},
       .repeatable = true},
      {.name = "buckets",
       .value_name = "SPEC",
       .type = Type::kText,
       .default_value = "ddp",
       .help = "limits of buckets: first=1mb,rest=25mb,order=ready|reverse; ddp is PyTorch DDP's",
       .suggestions = {"ddp"},
       .repeatable = true},
      {.name = "granularity",
       .value_name = "WHAT",
       .type = Type::kText,
       .default_value = "tensor",
       .help = "what is compressed as one vector: tensor|bucket|model",
       .suggestions = {"tensor", "bucket", "model"},
       .repeatable = true},
      {.name = "min-elements",
       .value_name = "N",
       .type = Type::kText,
       .default_value = "0",
       .help = "tensors of fewer elements go uncompressed",
       .repeatable = true},
      {.name = "local-steps",
       .value_name = "N",
       .type = Type::kText,
       .default_value = "1",
       .help = "gradients that a rank adds up before the sum is exchanged",
       .repeatable = true},
      {.name = "outer",
       .value_name = "SPEC",
       .type = Type::kText,
       .default_value = "none",
       .help = "a second optimiser on what was exchanged: diloco, which is momentum=0.9,rate=0.7; "
               "needs --local-steps of at least 2 to mean anything in training",
       .suggestions = {"none", "diloco"},
       .repeatable = true},
      {.name = "epoch",
       .value_name = "E",
       .type = Type::kText,
       .default_value = "0",
       .help = "epoch of training that the steps are of, for compressors with a warmup",
       .repeatable = true},
  };
}

std::vector<Feed> feeds_of(const Arguments& arguments) {
  std::vector<Feed> feeds = {{}};
  const auto cross = [&](const std::string& option, const std::vector<std::string>& texts,
                         const std::function<void(const std::string&, Feed&)>& set) {
    check_alternatives("--" + option, feeds.size(), texts.size());
    std::vector<Feed> crossed;
    for (const Feed& feed : feeds)
      for (const std::string& text : texts) {
        crossed.push_back(feed);
        try {
          set(text, crossed.back());
        } catch (const InputError& error) {
          const std::string what = error.what();
          throw InputError(what.rfind("--", 0) == 0 ? what : "--" + option + ": " + what);
        }
      }
    feeds = std::move(crossed);
  };
  const auto each = [&](const std::string& option,
                        const std::function<void(const std::string&, Feed&)>& set) {
    cross(option, alternatives(arguments.texts(option)), set);
  };
  each("granularity",
       [](const auto& text, Feed& feed) { feed.granularity = parse_granularity(text); });
  each("min-elements", [](const auto& text, Feed& feed) {
    feed.min_elements = static_cast<std::size_t>(number_in("min-elements", text, 0, 1e12, true));
  });
  each("overlap", [](const auto& text, Feed& feed) { feed.overlap = parse_overlap(text); });
  each("codec", [](const auto& text, Feed& feed) {
    if (text != "inline" && text != "thread")
      throw InputError(fmt::format("--codec {}: expected inline or thread", excerpt(text)));
    feed.codec_beside = text == "thread";
  });
  // Limits hold '|' in no value; a second set is a second --buckets.
  cross("buckets", arguments.texts("buckets"),
        [](const auto& text, Feed& feed) { feed.limits = BucketLimits::parse(text); });
  each("local-steps", [](const auto& text, Feed& feed) {
    feed.local_steps = static_cast<std::uint64_t>(number_in("local-steps", text, 1, 1e6, true));
  });
  each("outer", [](const auto& text, Feed& feed) {
    if (text != "none") feed.outer = OuterOptions::parse(text);
  });
  each("epoch",
       [](const auto& text, Feed& feed) { feed.epoch = number_in("epoch", text, 0, 1e6, false); });
  std::vector<Feed> different;
  for (const Feed& feed : feeds)
    if (const Feed one = normal(feed);
        std::find(different.begin(), different.end(), one) == different.end())
      different.push_back(one);
  return different;
}

OptionInfo time_scale_option() {
  return {.name = "time-scale",
          .value_name = "F",
          .type = Type::kText,
          .default_value = "1",
          .help =
              "run F times slower, and report times divided by F: rates /F, delays, compute and "
              "codec times x F; 1|2|4 measures several, auto chooses by cores, ranks and rates",
          .suggestions = {"1", "auto"}};
}

double parse_time_scale(const std::string& text) {
  const auto factor = parse_number<double>(text, kLeastTimeScale, kMostTimeScale);
  if (!factor)
    throw InputError(fmt::format("--time-scale: {} is not a number from {} to {}", in_quotes(text),
                                 kLeastTimeScale, kMostTimeScale));
  return *factor;
}

std::vector<double> parse_time_scales(const std::string& text) {
  std::vector<double> factors;
  for (const std::string& one : alternatives({text})) {
    const double factor = one == "auto" ? kAutoTimeScale : parse_time_scale(one);
    if (std::find(factors.begin(), factors.end(), factor) == factors.end())
      factors.push_back(factor);
  }
  return factors;
}

}  // namespace thinpipe
