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

// Resets settings that have no effect to their defaults, so that equivalent settings are equal.
Bucketing normal(Bucketing bucketing) {
  if (bucketing.overlap == Overlap::kNone) bucketing.codec_beside = false;
  if (bucketing.overlap == Overlap::kNone && bucketing.granularity != Granularity::kBucket)
    bucketing.limits = BucketLimits();
  if (bucketing.granularity == Granularity::kModel) {
    bucketing.overlap = Overlap::kNone;  // no payload is sent before all gradients are ready
    bucketing.codec_beside = false;
    bucketing.limits = BucketLimits();
  }
  return bucketing;
}

}  // namespace

std::vector<OptionInfo> bucketing_options() {
  return {
      {.name = "overlap",
       .value_name = "WHAT",
       .type = Type::kText,
       .default_value = "none",
       .help = "when payloads are sent: after the backward pass (none), or each bucket when its "
               "gradients are ready (bucket); none|bucket measures both",
       .suggestions = {"none", "bucket"},
       .repeatable = true},
      {.name = "codec",
       .value_name = "WHERE",
       .type = Type::kText,
       .default_value = "inline",
       .help = "with --overlap bucket: the backward pass waits for compression (inline) or "
               "continues meanwhile (thread)",
       .suggestions = {"inline", "thread"},
       .repeatable = true},
      {.name = "buckets",
       .value_name = "SPEC",
       .type = Type::kText,
       .default_value = "ddp",
       .help = "bucket sizes and order, such as first=1mb,rest=25mb,order=ready (or reverse); ddp "
               "is the default of PyTorch DDP",
       .suggestions = {"ddp"},
       .repeatable = true},
      {.name = "granularity",
       .value_name = "WHAT",
       .type = Type::kText,
       .default_value = "tensor",
       .help = "unit that is compressed as one vector: tensor|bucket|model",
       .suggestions = {"tensor", "bucket", "model"},
       .repeatable = true},
      {.name = "min-elements",
       .value_name = "N",
       .type = Type::kText,
       .default_value = "0",
       .help = "tensors with fewer elements are sent uncompressed",
       .repeatable = true},
      {.name = "local-steps",
       .value_name = "N",
       .type = Type::kText,
       .default_value = "1",
       .help = "number of gradients that a rank accumulates before an exchange",
       .repeatable = true},
      {.name = "outer",
       .value_name = "SPEC",
       .type = Type::kText,
       .default_value = "none",
       .help = "outer optimiser applied to the aggregate: none, or diloco (momentum=0.9,rate=0.7), "
               "which has an effect on training only with --local-steps of 2 or more",
       .suggestions = {"none", "diloco"},
       .repeatable = true},
      {.name = "epoch",
       .value_name = "E",
       .type = Type::kText,
       .default_value = "0",
       .help = "training epoch of the steps, for compressors with a warm-up",
       .repeatable = true},
  };
}

std::vector<Bucketing> bucketings_of(const Arguments& arguments) {
  std::vector<Bucketing> bucketings = {{}};
  const auto cross = [&](const std::string& option, const std::vector<std::string>& texts,
                         const std::function<void(const std::string&, Bucketing&)>& set) {
    check_alternatives("--" + option, bucketings.size(), texts.size());
    std::vector<Bucketing> crossed;
    for (const Bucketing& bucketing : bucketings)
      for (const std::string& text : texts) {
        crossed.push_back(bucketing);
        try {
          set(text, crossed.back());
        } catch (const InputError& error) {
          const std::string what = error.what();
          throw InputError(what.rfind("--", 0) == 0 ? what : "--" + option + ": " + what);
        }
      }
    bucketings = std::move(crossed);
  };
  const auto each = [&](const std::string& option,
                        const std::function<void(const std::string&, Bucketing&)>& set) {
    cross(option, alternatives(arguments.texts(option)), set);
  };
  each("granularity", [](const auto& text, Bucketing& bucketing) {
    bucketing.granularity = parse_granularity(text);
  });
  each("min-elements", [](const auto& text, Bucketing& bucketing) {
    bucketing.min_elements =
        static_cast<std::size_t>(number_in("min-elements", text, 0, 1e12, true));
  });
  each("overlap",
       [](const auto& text, Bucketing& bucketing) { bucketing.overlap = parse_overlap(text); });
  each("codec", [](const auto& text, Bucketing& bucketing) {
    if (text != "inline" && text != "thread")
      throw InputError(fmt::format("--codec {}: expected inline or thread", excerpt(text)));
    bucketing.codec_beside = text == "thread";
  });
  // --buckets has no alternatives by '|'. The option is repeated instead.
  cross("buckets", arguments.texts("buckets"), [](const auto& text, Bucketing& bucketing) {
    bucketing.limits = BucketLimits::parse(text);
  });
  each("local-steps", [](const auto& text, Bucketing& bucketing) {
    bucketing.local_steps =
        static_cast<std::uint64_t>(number_in("local-steps", text, 1, 1e6, true));
  });
  each("outer", [](const auto& text, Bucketing& bucketing) {
    if (text != "none") bucketing.outer = OuterOptions::parse(text);
  });
  each("epoch", [](const auto& text, Bucketing& bucketing) {
    bucketing.epoch = number_in("epoch", text, 0, 1e6, false);
  });
  std::vector<Bucketing> different;
  for (const Bucketing& bucketing : bucketings)
    if (const Bucketing one = normal(bucketing);
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
              "time dilation factor: rates are divided by F, and delays, compute and codec "
              "times are multiplied by F; reported times are divided by F again; 1|2|4 "
              "measures each, auto chooses by cores, ranks and rates",
          .suggestions = {"1", "auto"}};
}

double parse_time_scale(const std::string& text) {
  const auto factor = parse_number<double>(text, kMinTimeScale, kMaxTimeScale);
  if (!factor)
    throw InputError(fmt::format("--time-scale: {} is not a number from {} to {}", in_quotes(text),
                                 kMinTimeScale, kMaxTimeScale));
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
