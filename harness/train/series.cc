#include "harness/train/series.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace thinpipe {

using nlohmann::json;

namespace {

double sum_of_first(const std::vector<double>& values, std::uint64_t count) {
  const auto end =
      values.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count, values.size()));
  return std::accumulate(values.begin(), end, 0.0);
}

std::vector<double> sums(const std::vector<double>& values) {
  std::vector<double> so_far(values.size());
  std::partial_sum(values.begin(), values.end(), so_far.begin());
  return so_far;
}

}  // namespace

double TrainSeries::seconds_after(std::uint64_t count) const {
  return sum_of_first(seconds, count);
}

double TrainSeries::bytes_after(std::uint64_t count) const { return sum_of_first(bytes, count); }

const HeldOut* TrainSeries::reaching(const Target& target) const {
  const auto found = std::find_if(held_out.begin(), held_out.end(), [&](const HeldOut& one) {
    return target.reached(target.figure == Target::Figure::kLoss ? one.loss : one.figure);
  });
  return found == held_out.end() ? nullptr : &*found;
}

std::vector<double> TrainSeries::held_out_losses() const {
  std::vector<double> losses;
  for (const HeldOut& one : held_out) losses.push_back(one.loss);
  return losses;
}

json TrainSeries::to_json() const {
  json evaluations = json::array();
  for (const HeldOut& one : held_out)
    evaluations.push_back({one.steps, one.loss, one.figure, one.rate_factor});
  return {{"loss", loss},
          {"seconds", seconds},
          {"bytes", bytes},
          {"pulled", pulled},
          {"held_out", evaluations}};
}

TrainSeries TrainSeries::from_json(const json& object) {
  TrainSeries series;
  series.loss = object.at("loss").get<std::vector<double>>();
  series.seconds = object.at("seconds").get<std::vector<double>>();
  series.bytes = object.at("bytes").get<std::vector<double>>();
  series.pulled = object.at("pulled").get<std::vector<double>>();
  for (const json& one : object.at("held_out"))
    series.held_out.push_back({one.at(0), one.at(1), one.at(2), one.at(3)});
  return series;
}

json TrainSeries::record(bool perplexity) const {
  const std::vector<double> all_seconds = sums(seconds), all_bytes = sums(bytes);
  json evaluations = {{"steps", json::array()},
                      {"loss", json::array()},
                      {"seconds", json::array()},
                      {"bytes", json::array()}};
  json& figures = evaluations[perplexity ? "perplexity" : "accuracy"] = json::array();
  for (const HeldOut& one : held_out) {
    evaluations["steps"].push_back(one.steps);
    evaluations["loss"].push_back(one.loss);
    figures.push_back(one.figure);
    const bool any = one.steps > 0;
    evaluations["seconds"].push_back(any ? all_seconds.at(one.steps - 1) : 0);
    evaluations["bytes"].push_back(any ? all_bytes.at(one.steps - 1) : 0);
  }
  if (rate_factor() != 1)
    for (const HeldOut& one : held_out) evaluations["rate_factor"].push_back(one.rate_factor);
  return {{"loss", loss},
          {"seconds", all_seconds},
          {"bytes", all_bytes},
          {"evaluations", std::move(evaluations)}};
}

}  // namespace thinpipe
