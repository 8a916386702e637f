#include "workloads/predict/pipeline.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace thinpipe {

namespace {

PipelineTime sums_of(std::span<const BucketWork> buckets) {
  PipelineTime time;
  for (const BucketWork& bucket : buckets) {
    time.compress += bucket.compress;
    time.exchange += bucket.exchange;
    time.decode += bucket.decode;
  }
  return time;
}

// The thread that compresses and decodes, and the network that carries its payloads.
class Schedule {
 public:
  Schedule(std::span<const BucketWork> buckets, PipelineKind kind)
      : buckets_(buckets), beside_(kind == PipelineKind::kBeside) {
    arrivals_.reserve(buckets.size());
  }

  PipelineTime run(double compute) {
    PipelineTime time = sums_of(buckets_);
    double held_up = 0;               // delay of the backward pass
    double busy = 0, busy_until = 0;  // s with an exchange in progress; overlaps count once
    for (const BucketWork& bucket : buckets_) {
      pass_until(bucket.ready + held_up);
      now_ += bucket.compress;
      if (!beside_) held_up += bucket.compress;
      const double begin = std::max(now_, network_free_), end = begin + bucket.exchange;
      busy += bucket.exchange - std::clamp(busy_until - begin, 0.0, bucket.exchange);
      busy_until = std::max(busy_until, end);
      network_free_ = end - bucket.latency;
      arrivals_.push_back(end);
    }
    time.exchange = busy;
    time.compute = compute + held_up;
    pass_until(time.compute);
    while (decoded_ < arrivals_.size()) {
      time.exposed += std::max(0.0, arrivals_[decoded_] - now_);
      decode_next();
    }
    time.total = now_;
    time.link_idle = time.total - time.exchange;
    return time;
  }

 private:
  void decode_next() {
    now_ = std::max(now_, arrivals_[decoded_]) + buckets_[decoded_].decode;
    ++decoded_;
  }
  void pass_until(double moment) {
    while (beside_ && now_ < moment && decoded_ < arrivals_.size() && arrivals_[decoded_] < moment)
      decode_next();
    now_ = std::max(now_, moment);
  }

  std::span<const BucketWork> buckets_;
  bool beside_;
  std::vector<double> arrivals_;
  std::size_t decoded_ = 0;
  double now_ = 0, network_free_ = 0;
};

}  // namespace

PipelineTime schedule_step(std::span<const BucketWork> buckets, double compute, PipelineKind kind) {
  if (kind != PipelineKind::kSerial) return Schedule(buckets, kind).run(compute);
  PipelineTime time = sums_of(buckets);
  time.compute = compute;
  time.exposed = time.exchange;
  time.total = compute + time.compress + time.exchange + time.decode;
  time.link_idle = time.total - time.exchange;
  return time;
}

}  // namespace thinpipe
