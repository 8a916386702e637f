// The quality that a training run is timed to.
#pragma once

#include <optional>
#include <string>

namespace thinpipe {

struct Target {
  enum class Figure { kAccuracy, kLoss, kPerplexity };
  Figure figure = Figure::kAccuracy;
  double value = 0;

  /// `acc=0.9`, `loss=0.1` or `ppl=20`. @throws InputError naming what was found and expected
  static Target parse(const std::string& text);
  std::string to_string() const;
  /// Accuracy at least, loss and perplexity at most.
  bool reached(double found) const {
    return figure == Figure::kAccuracy ? found >= value : found <= value;
  }
};

}  // namespace thinpipe
