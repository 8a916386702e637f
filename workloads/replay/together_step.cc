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
    StepReport report;
    const double factor = buckets_.options().time_scale;
    report.wanted = buckets_.compute_seconds(index);
    const double wanted = report.wanted * factor;
    if (!exchanges) {
      report.begun = now_seconds();
      buckets_.pass_compute(report.begun, wanted, report);
      report.total = report.compute;
      return report;
    }
    report.timeline.reserve(6 + 2 * buckets_.size());
    const bool codec_first = factor < 1;
    buckets_.begin_step();
    const double begin = report.begun = now_seconds();
    if (!codec_first) {
      buckets_.pass_compute(begin, wanted, report);
      buckets_.note(report, Phase::kCompute, 0, begin);
    }
    std::size_t sent = 0;
    while (sent < buckets_.size() && !buckets_.sends(sent, index)) ++sent;
    report.exchanged = sent < buckets_.size();
    for (std::size_t b = 0; b < buckets_.size(); ++b) buckets_.add_local_step(b, index, report);
    if (report.exchanged && buckets_[sent].shares_scales()) share_scales(sent, index, report);
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
  // The time in the collective counts as exchange, the rest as compression.
  void share_scales(std::size_t bucket, std::uint64_t index, StepReport& report) {
    buckets_.take_scales(bucket, index, report);
    const double begin = now_seconds();
    buckets_[bucket].share_scales();
    report.exchange += now_seconds() - begin;
    buckets_.note(report, Phase::kExchange, bucket, begin);
  }

  void exchange(std::size_t bucket, double begin, StepReport& report) {
    buckets_.start_exchange(bucket);
    while (!buckets_[bucket].poll_exchange()) {
    }
    const ExchangeTime& time = buckets_[bucket].exchange_time();
    report.exchange += time.exchange;
    report.compress += time.compress;
    report.compress_cpu += time.compress_cpu;
    report.overrun = time.overrun;
    report.codec = time.codec;
    buckets_.note(report, Phase::kExchange, bucket, begin);
  }

  RankBuckets& buckets_;
};

}  // namespace

std::unique_ptr<StepOrder> together_step(RankBuckets& buckets) {
  return std::make_unique<TogetherStep>(buckets);
}

}  // namespace thinpipe
