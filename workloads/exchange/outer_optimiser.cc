#include "workloads/exchange/outer_optimiser.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace thinpipe {

namespace {

float number_of(const std::string& text, const std::string& item, const std::string& value,
                float most) {
  const auto number = parse_number<float>(value, 0, most);
  if (!number)
    throw InputError(fmt::format("outer optimiser {}: {}; expected a number from 0 to {}",
                                 in_quotes(text), in_quotes(item), most));
  return *number;
}

}  // namespace

OuterOptions OuterOptions::parse(const std::string& text) {
  OuterOptions options;
  if (text == "diloco") return options;
  for (const std::string& item : split(text, ',')) {
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string key = item.substr(0, equals);
    const std::string value = item.substr(std::min(equals + 1, item.size()));
    if (key == "momentum")
      options.momentum = number_of(text, item, value, 1);
    else if (key == "rate")
      options.learning_rate = number_of(text, item, value, 1e6F);
    else
      throw InputError(
          fmt::format("outer optimiser {}: {} is not known; expected diloco, or momentum=M,rate=R",
                      in_quotes(text), in_quotes(item)));
  }
  return options;
}

std::string OuterOptions::to_string() const {
  if (*this == OuterOptions()) return "diloco";
  return fmt::format("momentum={},rate={}", momentum, learning_rate);
}

OuterOptimiser::OuterOptimiser(std::size_t elements, const OuterOptions& options)
    : options_(options), velocity_(elements, 0.0F) {}

void OuterOptimiser::apply(std::span<const float> aggregate, std::span<float> update) {
  for (const std::size_t size : {aggregate.size(), update.size()})
    if (size != velocity_.size())
      throw InputError(
          fmt::format("outer optimiser: {} elements; expected {}", size, velocity_.size()));
  const float momentum = options_.momentum, rate = options_.learning_rate;
  const float* const x = aggregate.data();
  float* const out = update.data();
  float* const v = velocity_.data();
  for (std::size_t i = 0; i < aggregate.size(); ++i) {
    v[i] = momentum * v[i] + x[i];
    out[i] = rate * (x[i] + momentum * v[i]);
  }
}

void OuterOptimiser::reset() { std::fill(velocity_.begin(), velocity_.end(), 0.0F); }

}  // namespace thinpipe
