#include "harness/train/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace thinpipe {
namespace {

using nlohmann::json;

const char* figure_name(Target::Figure figure) {
  return figure == Target::Figure::kAccuracy ? "acc"
         : figure == Target::Figure::kLoss   ? "loss"
                                             : "ppl";
}

double sum_of_first(const std::vector<double>& values, std::uint64_t count) {
  const auto end =
      values.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count, values.size()));
  return std::accumulate(values.begin(), end, 0.0);
}

// Returns `count` numbers. Null, which JSON has for values that are not finite, is NaN.
std::vector<double> numbers_in(const JsonField& field, std::size_t count) {
  constexpr double kAny = std::numeric_limits<double>::max();
  if (field.size() != count) field.fail(fmt::format("{} values, expected {}", field.size(), count));
  std::vector<double> numbers;
  for (std::size_t i = 0; i < count; ++i)
    numbers.push_back(field.at(i).value().is_null() ? std::numeric_limits<double>::quiet_NaN()
                                                    : field.at(i).number(-kAny, kAny));
  return numbers;
}

std::vector<double> sums(const std::vector<double>& values) {
  std::vector<double> so_far(values.size());
  std::partial_sum(values.begin(), values.end(), so_far.begin());
  return so_far;
}

}  // namespace

Target Target::parse(const std::string& text) {
  const std::size_t equals = text.find('=');
  for (const Figure figure : {Figure::kAccuracy, Figure::kLoss, Figure::kPerplexity}) {
    if (equals == std::string::npos || text.substr(0, equals) != figure_name(figure)) continue;
    const auto value = parse_number<double>(text.substr(equals + 1));
    const bool in_range = figure == Figure::kAccuracy     ? value > 0.0 && value <= 1.0
                          : figure == Figure::kPerplexity ? value >= 1.0
                                                          : value >= 0.0;
    if (value && in_range) return {.figure = figure, .value = *value};
  }
  throw InputError(
      fmt::format("--target: expected acc=A with 0 < A <= 1, loss=L with L >= 0 or ppl=P with P >= "
                  "1, found {}",
                  in_quotes(text)));
}

std::string Target::to_string() const { return fmt::format("{}={}", figure_name(figure), value); }

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
  return {{"loss", loss},     {"seconds", seconds}, {"bytes", bytes},
          {"pulled", pulled}, {"quality", quality}, {"held_out", evaluations}};
}

TrainSeries TrainSeries::from_json(const JsonField& field) {
  TrainSeries series;
  series.loss = numbers_in(field.at("loss"), field.at("loss").size());
  series.seconds = numbers_in(field.at("seconds"), series.steps());
  series.bytes = numbers_in(field.at("bytes"), series.steps());
  series.pulled = numbers_in(field.at("pulled"), field.at("pulled").size());
  series.quality = numbers_in(field.at("quality"), field.at("quality").size());
  const JsonField held_out = field.at("held_out");
  for (std::size_t i = 0; i < held_out.size(); ++i) {
    const std::vector<double> rest = numbers_in(held_out.at(i), 4);
    series.held_out.push_back(
        {held_out.at(i).at(0).unsigned_integer(0, series.steps()), rest[1], rest[2], rest[3]});
  }
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
