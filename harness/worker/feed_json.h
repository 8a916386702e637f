// How gradients are fed, as the sweep tells it to its ranks.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "workloads/replay/feed.h"

namespace thinpipe {

inline nlohmann::json feed_json(const Feed& feed) {
  return {{"granularity", to_string(feed.granularity)},
          {"min_elements", feed.min_elements},
          {"overlap", to_string(feed.overlap)},
          {"codec_beside", feed.codec_beside},
          {"buckets", feed.limits.to_string()},
          {"local_steps", feed.local_steps},
          {"outer", feed.outer ? feed.outer->to_string() : ""},
          {"epoch", feed.epoch}};
}

/// @throws InputError
inline Feed feed_of(const nlohmann::json& message) {
  const nlohmann::json& of = message.at("feed");
  Feed feed;
  feed.granularity = parse_granularity(of.at("granularity"));
  feed.min_elements = of.at("min_elements");
  feed.overlap = parse_overlap(of.at("overlap"));
  feed.codec_beside = of.at("codec_beside");
  feed.limits = BucketLimits::parse(of.at("buckets"));
  feed.local_steps = of.at("local_steps");
  if (const std::string outer = of.at("outer"); !outer.empty())
    feed.outer = OuterOptions::parse(outer);
  feed.epoch = of.at("epoch");
  return feed;
}

}  // namespace thinpipe
