#include "harness/sweep/schedule_log.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "harness/launch/thresholds.h"

namespace thinpipe {

using nlohmann::json;

ScheduleLog::ScheduleLog(Machines& machines, const SweepPoint& point, Between between)
    : text_(point.schedule.to_string()),
      digest_(point.schedule.digest()),
      between_(between),
      factor_(point.time_scale) {
  if (point.schedule.empty())
    machines.set_links(point.link, factor_);
  else if (Network* network = machines.network())
    player_ = std::make_unique<SchedulePlayer>(*network, network->plan(point.link, factor_),
                                               point.schedule.slowed(factor_));
  else
    throw RunError("schedules run on emulated hosts only");
}

void ScheduleLog::begin_at(double emulated_seconds) {
  if (!player_) return;
  next_begin_ = emulated_seconds * factor_;
  player_->stand(next_begin_);
}

void ScheduleLog::begin_step(double in_seconds) {
  if (!player_) return;
  const bool stood = between_ == Between::kStands;
  if (stood || !started_) player_->start(in_seconds, next_begin_);
  started_ = true;
  step_begin_ = stood ? next_begin_ : player_->now();
}

void ScheduleLog::end_step(bool measured, double took) {
  if (!player_) return;
  const bool stands = between_ == Between::kStands;
  const double end = stands ? step_begin_ + took * factor_ : player_->now();
  if (stands) player_->stand(next_begin_ = end);
  player_->check();
  if (measured) steps_.push_back({step_begin_, end});
}

double ScheduleLog::timeout(double bits, double least) const {
  if (!player_) return least;
  const double now = started_ ? player_->now() : 0;
  double seconds = 0;
  for (const ScheduledLink& one : player_->links())
    seconds = std::max({seconds, one.up.time_for(now, bits), one.down.time_for(now, bits)});
  return seconds == kNever ? least : least + seconds;
}

std::string ScheduleLog::hindrance() const {
  if (!player_) return "";
  player_->check();  // an error that ended the schedule is the cause
  const double now = player_->now();
  std::vector<std::string> out;  // links without traffic
  std::string span;              // of the first one's outage
  double slowest = kNever;
  for (const ScheduledLink& one : player_->links()) {
    const bool up_is_out = one.up.at(now).rate <= 0;
    if (up_is_out || one.down.at(now).rate <= 0) {
      if (out.empty()) span = span_of_outage(up_is_out ? one.up : one.down, now);
      out.push_back(player_->planned().link_name(one.link));
    }
    const LinkMean mean = player_->mean(one.link, step_begin_, now);
    slowest = std::min({slowest, mean.up_rate, mean.down_rate});
  }
  const std::string what =
      fmt::format("; schedule '{}' (the step began at {:.3g} s):", text_, step_begin_ / factor_);
  if (out.empty())
    return fmt::format("{} the slowest link had {} on average since then", what,
                       format_rate(slowest * factor_));
  return fmt::format(
      "{} no traffic passes {} {}", what,
      out.size() == player_->links().size() ? "the links" : fmt::format("{}", fmt::join(out, ", ")),
      span);
}

std::string ScheduleLog::span_of_outage(const Schedule& way, double now) const {
  constexpr double kLookSeconds = 0.05;  // into a schedule that changes all the time
  double since = step_begin_;
  for (double t = step_begin_; t < now; t = way.next_change(t, kLookSeconds))
    if (way.at(t).rate > 0) since = way.next_change(t, kLookSeconds);
  const double more = way.time_for(now, 1);
  return fmt::format(
      "from {:.3g} s {}", since / factor_,
      more == kNever ? "on, permanently" : fmt::format("to {:.3g} s", (now + more) / factor_));
}

std::vector<std::string> ScheduleLog::drift() {
  if (!player_) return {};
  player_->stop();
  player_->check();
  return player_->drift();
}

json ScheduleLog::link_record(int link) const {
  json means = {{"rate_up", json::array()},
                {"rate_down", json::array()},
                {"delay", json::array()},
                {"loss", json::array()}};
  for (const Step& step : steps_) {
    const LinkMean mean = player_->mean(link, step.begin, step.end);
    means["rate_up"].push_back(mean.up_rate * factor_);
    means["rate_down"].push_back(mean.down_rate * factor_);
    means["delay"].push_back(mean.delay / factor_);
    means["loss"].push_back(mean.loss);
  }
  return means;
}

double ScheduleLog::mean_rate(int link, bool up) const {
  double bits = 0, seconds = 0;
  for (const Step& step : steps_) {
    const LinkMean mean = player_->mean(link, step.begin, step.end);
    bits += (up ? mean.up_rate : mean.down_rate) * (step.end - step.begin);
    seconds += step.end - step.begin;
  }
  return seconds > 0 ? bits / seconds : 0;
}

json ScheduleLog::record() const {
  if (!player_) return nullptr;
  const PlayerReport report = player_->report();
  // Links that are always the same are listed once.
  std::vector<json> means;
  std::vector<json> names;
  for (const ScheduledLink& one : player_->links()) {
    json mean = link_record(one.link);
    const auto same = std::find(means.begin(), means.end(), mean);
    if (same == means.end()) names.push_back(json::array());
    json& group = same == means.end() ? names.back() : names[std::size_t(same - means.begin())];
    group.push_back(player_->planned().link_name(one.link));
    if (same == means.end()) means.push_back(std::move(mean));
  }
  json steps = {{"begin", json::array()}, {"end", json::array()}};
  for (const Step& step : steps_) {
    steps["begin"].push_back(step.begin / factor_);
    steps["end"].push_back(step.end / factor_);
  }
  if (means.size() == 1) steps.update(means[0]);
  json links = json::array();
  for (std::size_t i = 0; i < means.size(); ++i) {
    means[i]["names"] = names[i];
    links.push_back(std::move(means[i]));
  }
  json record = {{"text", text_},
                 {"changes", report.changes},
                 {"late_median", report.late_median / factor_},
                 {"late_p95", report.late_p95 / factor_},
                 {"late_most", report.late_most / factor_},
                 {"steps", std::move(steps)},
                 {"links", std::move(links)}};
  if (!digest_.empty()) record["digest"] = digest_;
  return record;
}

std::vector<std::string> ScheduleLog::warnings() const {
  if (!player_) return {};
  const double late = player_->report().late_p95 / factor_;
  if (late <= kLateChangeSeconds) return {};
  return {fmt::format(
      "the schedule's changes were {:.1f} ms late at the 95th percentile (limit {:.0f} ms), so the "
      "machine was too busy to change the links in time. Stop other programs, or use fewer ranks",
      late * 1e3, kLateChangeSeconds * 1e3)};
}

}  // namespace thinpipe
