// A step with delayed fragments (Streaming DiLoCo, Douillard et al., arXiv 2501.18512, section
// 2.3): a fragment's exchange overlaps the compute of the next local steps.
//
// With a delay of D steps, a fragment leaves after step t and is applied in step t + D. The ranks
// of a training compute real gradients between two steps, and this time is not part of emulated
// time. If bytes crossed the links meanwhile, exchanges would seem shorter. So the compute times of
// the steps t + 1 to t + D - 1 are not passed in these steps but in step t + D, which first encodes
// the fragment and starts its exchange: the exchange then overlaps the compute time of all D steps.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "workloads/replay/rank_buckets.h"
#include "workloads/replay/step_threads.h"

namespace thinpipe {
namespace {

class DelayedStep : public StepOrder {
 public:
  explicit DelayedStep(RankBuckets& buckets) : buckets_(buckets) { thread_.reserve(2); }

  StepReport run(std::uint64_t index, bool exchanges) override {
    if (!exchanges) return buckets_.compute_alone(index);
    StepReport report;
    report.timeline.reserve(6 + 2 * buckets_.size());
    owed_ += buckets_.compute_seconds(index);
    report.wanted =
        buckets_.options().bucketing.is_within_exchange(index) ? 0 : std::exchange(owed_, 0);
    const std::size_t sent = buckets_.sent_in(index);
    report.exchanged = sent < buckets_.size();
    thread_.forget();
    buckets_.begin_step();
    report.begun = now_seconds();
    if (report.exchanged) buckets_.share_scales(sent, index, report);
    report.exposed = report.exchange;
    for (std::size_t b = 0; b < buckets_.size(); ++b) buckets_.encode(b, index, report);
    const double computing = now_seconds();
    report.arrived = computing - report.begun;
    if (report.exchanged) start_exchange(sent);
    buckets_.pass_compute(computing, report.wanted * buckets_.options().time_scale, report);
    buckets_.note(report, Phase::kCompute, 0, computing);
    for (std::size_t b = 0; b < buckets_.size(); ++b) buckets_.add_local_step(b, index, report);
    if (report.exchanged) end_exchange(sent, report);
    buckets_.decode_all(sent, report);
    buckets_.apply_outer(index, report);
    report.total = now_seconds() - report.begun;
    report.codec += buckets_.pace().own();
    report.codec_decode = buckets_.decode_pace().own();
    report.overrun += buckets_.pace().overrun() + buckets_.decode_pace().overrun();
    report.link_idle = report.total - report.exchange;
    buckets_.add_payloads(report);
    return report;
  }

 private:
  void start_exchange(std::size_t bucket) {
    thread_.submit([this, bucket] {
      began_ = now_seconds();
      buckets_.start_exchange(bucket);
      ended_ = now_seconds();
    });
  }

  // Waits for the exchange, whose bytes have crossed the links while compute passed.
  void end_exchange(std::size_t bucket, StepReport& report) {
    const double begin = now_seconds();
    thread_.wait(1);
    report.exposed += now_seconds() - begin;
    report.timeline.push_back(
        {Phase::kExchange, bucket, began_ - report.begun, ended_ - report.begun});
    buckets_.add_exchange(bucket, report);
  }

  RankBuckets& buckets_;
  double owed_ = 0;               ///< s of compute of earlier steps that have not passed yet
  double began_ = 0, ended_ = 0;  ///< of the step's exchange
  ExchangeThread thread_;         ///< joined before the members that its job uses
};

}  // namespace

std::unique_ptr<StepOrder> delayed_step(RankBuckets& buckets) {
  return std::make_unique<DelayedStep>(buckets);
}

}  // namespace thinpipe
