#include "harness/commands/time_scale_option.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"
#include "harness/options/alternatives.h"
#include "harness/sweep/options.h"
#include "netem/time_scale.h"

namespace thinpipe {

OptionInfo time_scale_option() {
  return {.name = "time-scale",
          .value_name = "F",
          .type = OptionInfo::Type::kText,
          .default_value = "1",
          .help =
              "run F times slower, and report times divided by F: rates /F, delays, compute and "
              "codec times x F; 1|2|4 measures several, auto chooses by cores, ranks and rates",
          .suggestions = {"1", "auto"}};
}

double parse_time_scale(const std::string& text) {
  const auto factor = parse_number<double>(text, kLeastTimeScale, kMostTimeScale);
  if (!factor)
    throw InputError(fmt::format("--time-scale: {} is not a number from {} to {}", in_quotes(text),
                                 kLeastTimeScale, kMostTimeScale));
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
