#include "harness/train/target.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"

namespace thinpipe {

namespace {

const char* name_of(Target::Figure figure) {
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
    if (equals == std::string::npos || text.substr(0, equals) != name_of(figure)) continue;
    Target target{.figure = figure, .value = 0};
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data() + equals + 1, end, target.value);
    const bool in_range = figure == Figure::kAccuracy     ? target.value > 0 && target.value <= 1
                          : figure == Figure::kPerplexity ? target.value >= 1
                                                          : target.value >= 0;
    if (error == std::errc() && rest == end && std::isfinite(target.value) && in_range)
      return target;
  }
  throw InputError(
      fmt::format("--target: expected acc=A with 0 < A <= 1, loss=L with L >= 0 or ppl=P with P >= "
                  "1, found '{}'",
                  text));
}

std::string Target::to_string() const { return fmt::format("{}={}", name_of(figure), value); }

}  // namespace thinpipe
