// The stage adaptation.
#include "compressors/select/sidco_stages.h"

#include <algorithm>
#include <cmath>

namespace thinpipe {

int SidcoStages::stages(int most) const { return std::clamp(stages_, 1, most); }

void SidcoStages::note(std::size_t count, std::size_t k, int most) {
  stages_ = stages(most);
  sum_ += static_cast<double>(count) / static_cast<double>(k) - 1;
  if (++seen_ < options_.every) return;
  const double mean = sum_ / seen_;
  seen_ = 0;
  sum_ = 0;
  const double off = std::fabs(mean);
  if (off > options_.tolerance) {
    adapt(off, mean < 0, most);
  } else {
    moved_ = 0;
  }
  last_off_ = off;
}

void SidcoStages::adapt(double off, bool want_more, int most) {
  if (options_.climb && moved_ != 0 && off > last_off_) direction_ = -direction_;
  const auto move = [&] {
    return std::clamp(stages_ + (want_more ? 1 : -1) * direction_, 1, most);
  };
  if (options_.climb && move() == stages_) direction_ = -direction_;
  const std::int32_t next = move();
  moved_ = next != stages_ ? 1 : 0;
  stages_ = next;
}

void SidcoStages::reset() { *this = SidcoStages(options_); }

void SidcoStages::save(ByteWriter& out) const {
  for (std::int32_t value : {stages_, direction_, seen_, moved_}) out.put(value);
  out.put(sum_);
  out.put(last_off_);
}

void SidcoStages::load(ByteReader& in) {
  const auto whole = [&] { return in.get<std::int32_t>("stages"); };
  stages_ = std::max(1, whole());
  direction_ = whole() < 0 ? -1 : 1;
  seen_ = std::clamp(whole(), 0, options_.every - 1);
  moved_ = whole();
  sum_ = in.get<double>("stages");
  last_off_ = in.get<double>("stages");
}

}  // namespace thinpipe
