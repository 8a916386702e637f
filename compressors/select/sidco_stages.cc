// The stage adaptation.
#include "compressors/select/sidco_stages.h"

#include <algorithm>
#include <cmath>

namespace thinpipe {
namespace {

// So that a count at the edge of the band, sometimes outside it, does not try other stages often.
constexpr std::int32_t kHeldBeforeReversal = 4;

}  // namespace

int SidcoStages::stages(int most) const { return std::clamp(stages_, 1, most); }

void SidcoStages::note(std::size_t count, std::size_t k, int most) {
  stages_ = stages(most);
  sum_ += static_cast<double>(count) / static_cast<double>(k) - 1;
  if (++seen_ < options_.every) return;
  const double mean = sum_ / seen_;
  seen_ = 0;
  sum_ = 0;
  if (std::fabs(mean) > options_.tolerance) {
    if (options_.climb) climb(mean);
    move(mean < 0, most);
  } else {
    moved_ = 0;
    held_ = 0;
  }
  last_ = mean;
}

/// Looks at what the last move brought.
void SidcoStages::climb(double mean) {
  if (moved_ == 0) return;
  const double margin = options_.tolerance / 2;
  const double gain = moved_ * (mean - last_);  // towards k, or past it
  if (gain < (direction_ < 0 ? margin : -margin)) direction_ = -direction_;
}

void SidcoStages::move(bool more, int most) {
  const auto next = [&] { return std::clamp(stages_ + (more ? 1 : -1) * direction_, 1, most); };
  if (options_.climb && next() == stages_ && ++held_ == kHeldBeforeReversal) {
    direction_ = -direction_;
    held_ = 0;
  }
  if (next() != stages_) held_ = 0;
  moved_ = next() == stages_ ? 0 : more ? 1 : -1;
  stages_ = next();
}

void SidcoStages::reset() { *this = SidcoStages(options_); }

void SidcoStages::save(ByteWriter& out) const {
  for (std::int32_t value : {stages_, direction_, seen_, moved_, held_}) out.put(value);
  out.put(sum_);
  out.put(last_);
}

void SidcoStages::load(ByteReader& in) {
  const auto whole = [&] { return in.get<std::int32_t>("stages"); };
  stages_ = std::max(1, whole());
  direction_ = whole() < 0 ? -1 : 1;
  seen_ = std::clamp(whole(), 0, options_.every - 1);
  moved_ = std::clamp(whole(), -1, 1);
  held_ = std::clamp(whole(), 0, kHeldBeforeReversal - 1);
  sum_ = in.get<double>("stages");
  last_ = in.get<double>("stages");
}

}  // namespace thinpipe
