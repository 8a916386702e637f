#include "harness/train/target.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace thinpipe {

namespace {

const char* figure_name(Target::Figure figure) {
  switch (figure) {
    case Target::Figure::kAccuracy:
      return "acc";
    case Target::Figure::kLoss:
      return "loss";
    case Target::Figure::kPerplexity:
      break;
  }
  return "ppl";
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

}  // namespace thinpipe
