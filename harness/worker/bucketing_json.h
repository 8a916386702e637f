// The bucketing of gradients in the sweep's messages to its ranks.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "workloads/replay/bucketing.h"

namespace thinpipe {

/// Returns the JSON form of a bucketing.
inline nlohmann::json bucketing_json(const Bucketing& bucketing) {
  return {{"granularity", to_string(bucketing.granularity)},
          {"min_elements", bucketing.min_elements},
          {"overlap", to_string(bucketing.overlap)},
          {"codec_beside", bucketing.codec_beside},
          {"buckets", bucketing.limits.to_string()},
          {"local_steps", bucketing.local_steps},
          {"fragments", bucketing.fragments},
          {"fragment_delay", bucketing.fragment_delay},
          {"fragment_mix", bucketing.fragment_mix},
          {"outer", bucketing.outer ? bucketing.outer->to_string() : ""},
          {"epoch", bucketing.epoch}};
}

/// Returns the bucketing of a message. @throws InputError
inline Bucketing bucketing_of(const nlohmann::json& message) {
  const nlohmann::json& of = message.at("bucketing");
  Bucketing bucketing;
  bucketing.granularity = parse_granularity(of.at("granularity"));
  bucketing.min_elements = of.at("min_elements");
  bucketing.overlap = parse_overlap(of.at("overlap"));
  bucketing.codec_beside = of.at("codec_beside");
  bucketing.limits = BucketLimits::parse(of.at("buckets"));
  bucketing.local_steps = of.at("local_steps");
  bucketing.fragments = of.at("fragments");
  bucketing.fragment_delay = of.at("fragment_delay");
  bucketing.fragment_mix = of.at("fragment_mix");
  if (const std::string outer = of.at("outer"); !outer.empty())
    bucketing.outer = OuterOptions::parse(outer);
  bucketing.epoch = of.at("epoch");
  return bucketing;
}

}  // namespace thinpipe
