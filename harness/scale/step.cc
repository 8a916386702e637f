#include "harness/scale/step.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/units.h"
#include "harness/sweep/thresholds.h"

namespace thinpipe {

namespace {

using nlohmann::json;

constexpr const char* kTimes[] = {"compute", "compress", "exchange", "decode", "total"};

double number_at(const json& rank, const char* field) { return rank.at(field).get<double>(); }

template <class Value>
double greatest_of(const std::vector<json>& ranks, Value value) {
  double most = value(ranks.front());
  for (const json& rank : ranks) most = std::max(most, value(rank));
  return most;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What a rank's step lacks of being the emulated one; both in the emulated machine's time.
double skew_of(const json& rank, double shift, double factor) {
  const double overrun = std::max(0.0, number_at(rank, "overrun"));
  return (std::fabs(number_at(rank, "lag") - shift) + overrun) / factor;
}

void keep_raw(json& rank) {
  json& raw = rank["raw"] = json::object();
  for (const char* time : kTimes) raw[time] = rank.at(time);
}

void scale_rank(json& rank, double shift, double factor) {
  const double skew = skew_of(rank, shift, factor);
  const double end = number_at(rank, "total") - number_at(rank, "decode");
  keep_raw(rank);
  const double compute = number_at(rank, "wanted"), compress = number_at(rank, "codec");
  const double decode = number_at(rank, "codec_decode");
  const double exchange = std::max(0.0, (end - shift) / factor - compute - compress);
  rank["compute"] = compute;
  rank["compress"] = compress;
  rank["exchange"] = exchange;
  rank["decode"] = decode;
  rank["total"] = compute + compress + exchange + decode;
  rank["exposed"] = exchange;
  rank["link_idle"] = compute + compress + decode;
  rank["late"] = number_at(rank, "late") / factor;
  rank["skew"] = skew;
}

}  // namespace

void scale_step(std::vector<json>& ranks, double factor) {
  if (ranks.empty()) return;
  const double began =
      greatest_of(ranks, [](const json& rank) { return number_at(rank, "arrived"); });
  const double due = greatest_of(
      ranks, [](const json& rank) { return number_at(rank, "arrived") - number_at(rank, "lag"); });
  for (json& rank : ranks) scale_rank(rank, began - due, factor);
}

void scale_overlapped_step(std::vector<json>& ranks, double factor) {
  for (json& rank : ranks) {
    keep_raw(rank);
    rank["compute"] = rank.at("wanted");
    rank["compress"] = rank.at("codec");
    rank["decode"] = rank.at("codec_decode");
    for (const char* time : {"exchange", "exposed", "link_idle", "total", "late"})
      rank[time] = number_at(rank, time) / factor;
    rank["skew"] = std::max(0.0, number_at(rank, "overrun")) / factor;
  }
}

json raw_times(const std::vector<std::vector<json>>& steps, bool overlapped) {
  json times = json::object();
  // The rank whose exchange times hold least waiting for others.
  const auto waits_more = [&](const json& a, const json& b) {
    return overlapped ? number_at(a, "exchange") > number_at(b, "exchange")
                      : number_at(a, "arrived") < number_at(b, "arrived");
  };
  for (const std::vector<json>& ranks : steps) {
    const auto last = std::max_element(ranks.begin(), ranks.end(), waits_more);
    times["step_time"].push_back(
        greatest_of(ranks, [](const json& rank) { return number_at(rank.at("raw"), "total"); }));
    for (const char* part : {"compute", "compress", "exchange", "decode"})
      times[fmt::format("{}_time", part)].push_back(last->at("raw").at(part));
  }
  return times;
}

std::vector<std::string> scale_doubts(const std::vector<std::vector<json>>& steps, double factor) {
  std::vector<double> skews, totals;
  for (const std::vector<json>& ranks : steps) {
    if (ranks.empty()) continue;
    skews.push_back(greatest_of(ranks, [](const json& rank) { return number_at(rank, "skew"); }));
    totals.push_back(greatest_of(ranks, [](const json& rank) { return number_at(rank, "total"); }));
  }
  const double skew = median(skews), total = median(totals);
  if (skew <= kSkewTolerance * total) return {};
  return {
      fmt::format("time scale {}: ranks began their exchanges up to {} apart from when they "
                  "should, of steps of {}; a greater factor gives their codecs time",
                  factor, format_time(skew), format_time(total))};
}

}  // namespace thinpipe
