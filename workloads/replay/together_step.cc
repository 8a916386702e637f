// A step in which at most one bucket is sent, after the backward pass: that of the whole model, or
// the fragment whose turn it is.
#include <cstdint>

#include "base/clock.h"
#include "workloads/replay/rank_buckets.h"

namespace thinpipe {
namespace {

class TogetherStep : public StepOrder {
 public:
  explicit TogetherStep(RankBuckets& buckets) : buckets_(buckets) {}

  StepReport run(std::uint64_t index, bool exchanges) override {
    if (!exchanges) return buckets_.compute_alone(index);
    StepReport report;
    const double factor = buckets_.options().time_scale;
    report.wanted = buckets_.compute_seconds(index);
    const double wanted = report.wanted * factor;
    report.timeline.reserve(6 + 2 * buckets_.size());
    const bool codec_first = factor < 1;
    buckets_.begin_step();
    const double begin = report.begun = now_seconds();
    if (!codec_first) {
      buckets_.pass_compute(begin, wanted, report);
      buckets_.note(report, Phase::kCompute, 0, begin);
    }
    const std::size_t sent = buckets_.sent_in(index);
    report.exchanged = sent < buckets_.size();
    for (std::size_t b = 0; b < buckets_.size(); ++b) buckets_.add_local_step(b, index, report);
    if (report.exchanged) buckets_.share_scales(sent, index, report);
    const double scales = report.exchange;
    for (std::size_t b = 0; b < buckets_.size(); ++b) buckets_.encode(b, index, report);
    const double compressed = now_seconds();
    const double due = begin + wanted + factor * buckets_.pace().own() + scales;
    if (codec_first) {
      if (compressed < due) wait_until(due);
      report.compute = now_seconds() - compressed;
      report.late = compressed < due ? now_seconds() - due : 0;
      buckets_.note(report, Phase::kCompute, 0, compressed);
    }
    const double arrived = now_seconds();
    report.arrived = arrived - begin;
    report.lag = arrived - due;
    if (report.exchanged) exchange(sent, arrived, report);
    buckets_.decode_all(sent, report);
    buckets_.apply_outer(index, report);
    report.total = now_seconds() - begin;
    report.codec += buckets_.pace().own();
    report.codec_decode = buckets_.decode_pace().own();
    report.exposed = report.exchange;
    report.link_idle = report.total - report.exchange;
    buckets_.add_payloads(report);
    return report;
  }

 private:
  void exchange(std::size_t bucket, double begin, StepReport& report) {
    buckets_.start_exchange(bucket);
    while (!buckets_[bucket].poll_exchange()) {
    }
    buckets_.add_exchange(bucket, report);
    buckets_.note(report, Phase::kExchange, bucket, begin);
  }

  RankBuckets& buckets_;
};

}  // namespace

std::unique_ptr<StepOrder> together_step(RankBuckets& buckets) {
  return std::make_unique<TogetherStep>(buckets);
}

}  // namespace thinpipe
