// A step whose one bucket is sent after the backward pass.
#include <cstdint>

#include "base/clock.h"
#include "workloads/replay/rank_buckets.h"
#include "workloads/replay/step_threads.h"

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
      pass_compute(report.begun, wanted, report);
      report.total = report.compute;
      return report;
    }
    report.timeline.reserve(8);
    const bool codec_first = factor < 1;
    buckets_.begin_step();
    const double begin = report.begun = now_seconds();
    if (!codec_first) {
      pass_compute(begin, wanted, report);
      buckets_.note(report, Phase::kCompute, 0, begin);
    }
    report.exchanged = buckets_.sends(0, index);
    buckets_.add_local_step(0, index, report);
    if (report.exchanged && buckets_[0].shares_scales()) share_scales(index, report);
    const double scales = report.exchange;
    buckets_.encode(0, index, report);
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
    if (report.exchanged) exchange(arrived, report);
    buckets_.decode(0, report);
    buckets_.apply_outer(report);
    report.total = now_seconds() - begin;
    report.codec += buckets_.pace().own();
    report.codec_decode = buckets_.decode_pace().own();
    report.exposed = report.exchange;
    report.link_idle = report.total - report.exchange;
    buckets_.add_payloads(report);
    return report;
  }

 private:
  // Passes the compute time of a step that began at `begin`.
  void pass_compute(double begin, double seconds, StepReport& report) {
    const bool works = buckets_.options().compute_works;
    if (works)
      work_for(seconds);
    else if (seconds > 0)
      wait_until(begin + seconds);
    report.compute = now_seconds() - begin;
    report.late = works ? 0 : report.compute - seconds;
  }

  // The time in the collective counts as exchange, the rest as compression.
  void share_scales(std::uint64_t index, StepReport& report) {
    buckets_.take_scales(0, index, report);
    const double begin = now_seconds();
    buckets_[0].share_scales();
    report.exchange += now_seconds() - begin;
    buckets_.note(report, Phase::kExchange, 0, begin);
  }

  void exchange(double begin, StepReport& report) {
    buckets_.start_exchange(0);
    while (!buckets_[0].poll_exchange()) {
    }
    const ExchangeTime& time = buckets_[0].exchange_time();
    report.exchange += time.exchange;
    report.compress += time.compress;
    report.compress_cpu += time.compress_cpu;
    report.overrun = time.overrun;
    report.codec = time.codec;
    buckets_.note(report, Phase::kExchange, 0, begin);
  }

  RankBuckets& buckets_;
};

}  // namespace

std::unique_ptr<StepOrder> together_step(RankBuckets& buckets) {
  return std::make_unique<TogetherStep>(buckets);
}

}  // namespace thinpipe
