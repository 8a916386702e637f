#include "workloads/collectives/transport.h"

#include <algorithm>

namespace thinpipe {
namespace {

constexpr long kFirstSleep = 10'000, kLongestSleep = 100'000;  // ns

constexpr double kMoment = 30e-6;
constexpr int kMostlyShort = 768;  // of kAllShort
constexpr int kMemory = 8;         // waits after which the weight of a wait is about a third
constexpr unsigned kProbeEvery = 16;

}  // namespace

long IdleRank::pause(double now) {
  if (!waits_) {
    waits_ = true;
    waits_since_ = now;
    sleep_ = kFirstSleep;
    asks_ = has_core_ && (short_waits_ >= kMostlyShort || ++slept_ % kProbeEvery == 0);
  }
  if (asks_ && now < waits_since_ + kMoment) return 0;
  if (asks_) short_waits_ -= short_waits_ / kMemory;
  asks_ = false;
  const long sleep = sleep_;
  sleep_ = std::min(2 * sleep_, kLongestSleep);
  return sleep;
}

void IdleRank::progressed() {
  if (asks_) short_waits_ += (kAllShort - short_waits_) / kMemory;
  waits_ = asks_ = false;
}

}  // namespace thinpipe
