// A step whose buckets leave as their gradients become ready.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "workloads/replay/rank_buckets.h"
#include "workloads/replay/step_threads.h"

namespace thinpipe {
namespace {

class OverlappedStep : public StepOrder {
 public:
  explicit OverlappedStep(RankBuckets& buckets) : buckets_(buckets), began_(buckets.size()) {
    sent_.reserve(buckets.size());
    ends_.reserve(buckets.size());
    spans_.reserve(2 * buckets.size());
    thread_.reserve(2 * buckets.size());
    moments_.reserve(buckets.size() + 1);
    if (buckets.options().compute_works && codec_beside())
      compute_ = std::make_unique<ComputeThread>([this] { thread_.wake(); });
  }

  StepReport run(std::uint64_t index, bool exchanges) override {
    reset(exchanges);
    report_.wanted = buckets_.compute_seconds(index);
    report_.compute = report_.wanted * buckets_.options().time_scale;
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket)
      moments_.push_back(buckets_.scaled_ready(bucket, index));
    moments_.push_back(report_.compute);
    const double begin = report_.begun = now_seconds();
    if (compute_) compute_->begin(moments_);
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
      pass(bucket);
      const double ready = now_seconds();
      leave(bucket, index);
      // Hooks that run in the backward pass's thread stop it for as long as they take.
      if (!codec_beside()) held_up_ += now_seconds() - ready;
    }
    pass(buckets_.size());
    if (buckets_.options().compute_works)
      report_.compute = (compute_ ? compute_->ended() : now_seconds()) - begin - held_up_;
    report_.timeline.push_back({Phase::kCompute, 0, 0, held_up_ + report_.compute});
    decode_rest();
    if (exchanges_) buckets_.apply_outer(index, report_);
    report_.total = now_seconds() - begin;
    add_exchanges();
    if (exchanges_) buckets_.add_payloads(report_);
    return std::move(report_);
  }

 private:
  bool codec_beside() const { return buckets_.options().bucketing.codec_beside; }

  void reset(bool exchanges) {
    report_ = {};
    report_.timeline.reserve(5 * buckets_.size() + 1);
    report_.exchanged = false;
    exchanges_ = exchanges;
    sent_.clear();
    ends_.clear();
    jobs_ = decoded_ = 0;
    spans_.clear();
    moments_.clear();
    held_up_ = worked_ = 0;
    thread_.forget();
    buckets_.begin_step();
  }

  // Passes the compute time up to one of the moments_.
  void pass(std::size_t part) {
    if (!buckets_.options().compute_works)
      return pass_until(report_.begun + held_up_ + moments_[part]);
    if (!compute_) {
      work_for(moments_[part] - worked_);
      worked_ = std::max(worked_, moments_[part]);
      return;
    }
    while (compute_->reached() <= part) {
      const std::size_t wanted =
          decoded_ < sent_.size() ? ends_[decoded_] : std::numeric_limits<std::size_t>::max();
      if (thread_.wait(wanted, [&] { return compute_->reached() > part; }) >= wanted) decode_next();
    }
  }

  // Waits until a moment. Where codecs work beside the backward pass, decodes buckets that have
  // arrived meanwhile.
  void pass_until(double moment) {
    while (now_seconds() < moment) {
      if (!codec_beside() || decoded_ == sent_.size()) {
        wait_until(moment);
        report_.late = std::max(report_.late, now_seconds() - moment);
        return;
      }
      const std::size_t wanted = ends_[decoded_];
      if (thread_.wait(wanted, moment) >= wanted)
        decode_next();
      else
        report_.late = std::max(report_.late, now_seconds() - moment);
    }
  }

  void decode_next() {
    const std::size_t bucket = sent_[decoded_++];
    if (exchanges_) buckets_.decode(bucket, report_);
  }

  void start_exchange(std::size_t bucket) {
    began_[bucket] = now_seconds();
    buckets_.start_exchange(bucket);
  }

  void end_exchange(std::size_t bucket) {
    spans_.push_back({Phase::kExchange, bucket, began_[bucket], now_seconds()});
  }

  // With parameter servers a bucket is pushed while earlier buckets are still being pulled. The
  // lambdas capture so little that std::function stores them without allocating memory.
  void submit_exchange(std::size_t bucket) {
    sent_.push_back(bucket);
    ends_.push_back(++jobs_);
    if (!exchanges_) return thread_.submit([] {});
    if (!buckets_.options().servers)
      return thread_.submit([this, bucket] {
        start_exchange(bucket);
        end_exchange(bucket);
      });
    thread_.submit([this, bucket] { start_exchange(bucket); },
                   [this, bucket] {
                     if (!buckets_[bucket].poll_exchange()) return false;
                     end_exchange(bucket);
                     return true;
                   });
  }

  void share_scales(std::size_t bucket, std::uint64_t index) {
    const double begin = now_seconds();
    buckets_.take_scales(bucket, index, report_);
    buckets_.note(report_, Phase::kCompress, bucket, begin);
    thread_.submit([this, bucket] {
      const double shared = now_seconds();
      buckets_[bucket].share_scales();
      spans_.push_back({Phase::kExchange, bucket, shared, now_seconds()});
    });
    thread_.wait(++jobs_);
  }

  // Compresses a bucket and submits its exchange.
  void leave(std::size_t bucket, std::uint64_t index) {
    if (!exchanges_) return submit_exchange(bucket);
    const bool sent = buckets_.sends(bucket, index);
    buckets_.add_local_step(bucket, index, report_);
    if (sent && buckets_[bucket].shares_scales()) share_scales(bucket, index);
    buckets_.encode(bucket, index, report_);
    if (sent)
      submit_exchange(bucket);
    else
      buckets_.decode(bucket, report_);  // nothing was sent: its range of the aggregate is 0
    report_.exchanged = report_.exchanged || sent;
  }

  // Waits for the exchanges that are left after computation, and decodes.
  void decode_rest() {
    while (decoded_ < sent_.size()) {
      const double begin = now_seconds();
      thread_.wait(ends_[decoded_]);
      report_.exposed += now_seconds() - begin;
      decode_next();
    }
  }

  void add_exchanges() {
    for (PhaseSpan span : spans_) {
      span.begin -= report_.begun;
      span.end -= report_.begun;
      report_.timeline.push_back(span);
    }
    const double exchanging = time_in(report_.timeline, Phase::kExchange);
    report_.exchange = exchanging;
    report_.link_idle = report_.total - exchanging;
    report_.codec = buckets_.pace().own();
    report_.codec_decode = buckets_.decode_pace().own();
    report_.overrun = buckets_.pace().overrun() + buckets_.decode_pace().overrun();
    if (!exchanges_) return;
    for (const std::size_t bucket : sent_) {
      const ExchangeTime& time = buckets_[bucket].exchange_time();
      report_.compress += time.compress;
      report_.compress_cpu += time.compress_cpu;
      report_.exchange -= time.compress;
      report_.codec += time.codec;
      report_.overrun += time.overrun;
    }
  }

  RankBuckets& buckets_;
  // State of the step that runs:
  StepReport report_;
  bool exchanges_ = true;          ///< false: hooks do nothing
  std::vector<std::size_t> sent_;  ///< buckets, in the order of submission
  std::vector<std::size_t> ends_;  ///< by sent bucket: jobs of the thread up to its exchange
  std::size_t jobs_ = 0;
  std::size_t decoded_ = 0;  ///< of sent_
  /// Seconds of compute since the step began: when each bucket is ready, and at the end.
  std::vector<double> moments_;
  double held_up_ = 0;                      ///< s, by hooks in the backward pass's thread
  double worked_ = 0;                       ///< s of compute that this thread has worked for
  std::vector<double> began_;               ///< by bucket: when its exchange began
  std::vector<PhaseSpan> spans_;            ///< of exchanges; two a bucket: scales, payloads
  ExchangeThread thread_;                   ///< joined before the members that its jobs use
  std::unique_ptr<ComputeThread> compute_;  ///< with compute_works, where codecs have a thread
};

}  // namespace

std::unique_ptr<StepOrder> overlapped_step(RankBuckets& buckets) {
  return std::make_unique<OverlappedStep>(buckets);
}

}  // namespace thinpipe
