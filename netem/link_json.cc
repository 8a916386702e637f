#include "netem/link_json.h"

#include <nlohmann/json.hpp>

#include "netem/link_keys.h"

namespace thinpipe {

namespace {

using Json = nlohmann::ordered_json;

double in_seconds(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

const char* name_of(Shaper shaper) {
  switch (shaper) {
    case Shaper::kTbf:
      return "tbf";
    case Shaper::kHtb:
      return "htb";
    case Shaper::kNetem:
      return "netem";
  }
  return "";
}

const char* name_of(DelayDistribution distribution) {
  switch (distribution) {
    case DelayDistribution::kUniform:
      return "uniform";
    case DelayDistribution::kNormal:
      return "normal";
    case DelayDistribution::kPareto:
      return "pareto";
    case DelayDistribution::kParetoNormal:
      return "paretonormal";
    case DelayDistribution::kTable:
      return "table";
  }
  return "";
}

void add_chance(Json& json, const char* name, const Chance& chance) {
  if (chance.percent == 0) return;
  json[name] = {{"share", chance.percent / 100}, {"correlation", chance.correlation / 100}};
}

Json direction_json(const Direction& direction) {
  Json json;
  json["rate"] = direction.rate > 0 ? Json(direction.rate) : Json(nullptr);
  if (direction.rate > 0) {
    json["shaper"] = name_of(direction.shaper);
    if (direction.shaper != Shaper::kNetem) json["burst"] = direction.burst;
    json["queue"] = direction.queue;
    json["overhead"] = direction.overhead;
  }
  const Impairment& way = direction.way;
  json["delay"] = in_seconds(way.delay);
  if (way.jitter.count() > 0) {
    json["jitter"] = in_seconds(way.jitter);
    json["distribution"] = name_of(way.distribution);
    if (way.distribution == DelayDistribution::kTable) json["table"] = way.table;
  }
  add_chance(json, "loss", way.loss);
  if (way.bursts)
    json["loss"] = {{"to_bad", way.bursts->to_bad / 100},
                    {"to_good", way.bursts->to_good / 100},
                    {"lost_in_bad", way.bursts->lost_in_bad / 100},
                    {"lost_in_good", way.bursts->lost_in_good / 100},
                    {"share", way.bursts->mean_loss() / 100}};
  add_chance(json, "reorder", way.reorder);
  if (way.gap > 0) json["reorder"]["gap"] = way.gap;
  add_chance(json, "duplicate", way.duplicate);
  add_chance(json, "corrupt", way.corrupt);
  return json;
}

}  // namespace

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
