#include "harness/launch/calibration.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "harness/launch/machines.h"
#include "harness/launch/thresholds.h"
#include "netem/sandbox.h"
#include "netem/topology/time_scale.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// By CalibratedLink::Verdict, as written in records.
constexpr const char* kVerdictNames[] = {"holds", "off", "unjudged", "unmeasured", "broken"};

json positive_or_null(double seconds) { return seconds > 0 ? json(seconds) : json(nullptr); }

json way_json(const WayCalibration& way) {
  return {{"where", way.where},
          {"set", way.set.empty() ? json(nullptr) : json(way.set)},
          {"ceiling", way.ceiling},
          {"goodput", way.goodput},
          {"ratio", way.ratio()},
          {"round_trip", positive_or_null(way.round_trip)},
          {"round_trip_set", way.round_trip_set},
          {"seconds", way.seconds},
          {"attempts", way.attempts},
          {"flows", way.flows},
          {"fills", way.fills}};
}

std::string in_words(const WayCalibration& way) {
  std::string text =
      fmt::format("{} {} ({:.1f} %", way.where, format_rate(way.goodput), 100 * way.ratio());
  if (way.round_trip > 0) text += ", round trip " + format_time(way.round_trip);
  return text + ")";
}

// Returns a link on these machines, without measurements.
CalibratedLink unmeasured_link(const Machines& machines, const LinkSpec& link, double time_scale) {
  CalibratedLink one;
  one.link = slowed(link, time_scale).to_string();
  one.time_scale = time_scale;
  one.machines = machines.size();
  one.judged = machines.sets_links();
  return one;
}

}  // namespace

const WayCalibration* LinkCalibration::farthest() const {
  const auto off = [](const WayCalibration& way) { return std::fabs(way.ratio() - 1); };
  const auto found = std::max_element(
      ways.begin(), ways.end(), [&](const auto& a, const auto& b) { return off(a) < off(b); });
  return found == ways.end() ? nullptr : &*found;
}

CalibratedLink::Verdict CalibratedLink::verdict() const {
  if (!error.empty()) return Verdict::kBroken;
  const WayCalibration* way = figures.farthest();
  if (way == nullptr) return Verdict::kUnmeasured;
  if (!judged) return Verdict::kUnjudged;
  return std::fabs(way->ratio() - 1) <= kGoodputTolerance ? Verdict::kHolds : Verdict::kOff;
}

std::string CalibratedLink::to_string() const {
  const std::string begin = "calibrated " + link;
  if (!error.empty()) return fmt::format("{}: no traffic passed the link: {}", begin, error);
  if (figures.ways.empty()) return fmt::format("{}: not measured: {}", begin, figures.unmeasured);
  std::string text = begin + ": ";
  for (const WayCalibration& way : figures.ways)
    text += (&way == &figures.ways.front() ? "" : ", ") + in_words(way);
  if (verdict() == Verdict::kOff)
    text +=
        fmt::format("; CALIBRATION FAILED (limit {:.0f} % to {:.0f} %): its points will be invalid",
                    100 * (1 - kGoodputTolerance), 100 * (1 + kGoodputTolerance));
  return text;
}

const CalibratedLink* Calibrator::find(const Machines& machines, const LinkSpec& link,
                                       double time_scale) const {
  const std::string set = slowed(link, time_scale).to_string();
  const auto found = std::find_if(links_.begin(), links_.end(), [&](const CalibratedLink& one) {
    return one.machines == machines.size() && one.link == set && one.time_scale == time_scale;
  });
  return found == links_.end() ? nullptr : &*found;
}

const CalibratedLink& Calibrator::calibrate(Machines& machines, const LinkSpec& link,
                                            double time_scale, Launch* launch) {
  CalibratedLink one = unmeasured_link(machines, link, time_scale);
  const auto begin = std::chrono::steady_clock::now();
  try {
    one.figures = machines.calibrate(link, time_scale, launch);
  } catch (const RunError& error) {
    if (stop_requested()) throw;
    one.error = error.what();
    links_.push_back(std::move(one));
    throw;
  }
  one.seconds = seconds_since(begin);
  links_.push_back(std::move(one));
  return links_.back();
}

void Calibrator::skip(const Machines& machines, const LinkSpec& link, double time_scale,
                      const std::string& reason) {
  CalibratedLink one = unmeasured_link(machines, link, time_scale);
  one.figures.unmeasured = reason;
  links_.push_back(std::move(one));
}

json Calibrator::record() const {
  json links = json::array();
  for (const CalibratedLink& one : links_) {
    const WayCalibration* way = one.figures.farthest();
    json ways = json::array();
    for (const WayCalibration& each : one.figures.ways) ways.push_back(way_json(each));
    links.push_back({{"link", one.link},
                     {"time_scale", one.time_scale},
                     {"machines", one.machines},
                     {"verdict", kVerdictNames[static_cast<std::size_t>(one.verdict())]},
                     {"reason", one.error.empty() ? one.figures.unmeasured : one.error},
                     {"ratio", way != nullptr ? json(way->ratio()) : json(nullptr)},
                     {"seconds", one.seconds},
                     {"ways", std::move(ways)}});
  }
  return {{"tolerance", kGoodputTolerance}, {"links", std::move(links)}};
}

}  // namespace thinpipe
