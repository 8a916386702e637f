// A step whose buckets leave as their gradients become ready.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "workloads/replay/replay.h"

namespace thinpipe {

struct Replay::UnderWay {
  bool moves = true;              // else hooks do nothing
  std::vector<std::size_t> sent;  // buckets, in the order in which they left
  std::vector<std::size_t> ends;  // jobs of the exchange thread after which each has arrived
  std::size_t jobs = 0;
  std::size_t decoded = 0;  // of `sent`
};

// When the last of the bucket's gradients is there, s after the step's begin, in slow motion.
double Replay::scaled_ready(std::size_t bucket, std::uint64_t index) const {
  const Replayed source = replayed(trace_, rank_, index);
  const TraceStepTimes& times = trace_.times(source.rank, source.step);
  double last = 0;
  for (const std::size_t tensor : plan_[bucket].tensors())
    last = std::max(last, times.ready[tensor]);
  return options_.time_scale *
         options_.stragglers.compute((times.forward + last) * options_.compute_scale, rank_, index);
}

// Lets time pass; decodes what has arrived meanwhile.
void Replay::pass_until(double moment, bool decodes, UnderWay& way, StepReport& report) {
  while (now_seconds() < moment) {
    if (!decodes || way.decoded == way.sent.size()) {
      wait_until(moment);
      report.late = std::max(report.late, now_seconds() - moment);
      return;
    }
    const std::size_t wanted = way.ends[way.decoded];
    if (thread_->wait(wanted, moment) >= wanted)
      decode_next(way, report);
    else
      report.late = std::max(report.late, now_seconds() - moment);
  }
}

void Replay::decode_next(UnderWay& way, StepReport& report) {
  const std::size_t bucket = way.sent[way.decoded++];
  if (way.moves) decode(bucket, report);
}

void Replay::submit_exchange(std::size_t bucket, UnderWay& way) {
  way.sent.push_back(bucket);
  way.ends.push_back(++way.jobs);
  if (!way.moves) return thread_->submit([] {});
  if (options_.servers) return submit_push_pull(bucket);
  thread_->submit([this, bucket] {
    const double begin = now_seconds();
    exchange_times_[bucket] = exchange(bucket);
    exchange_spans_.push_back({Phase::kExchange, bucket, begin, now_seconds()});
  });
}

// Buckets are pushed while others before them are still being pulled.
void Replay::submit_push_pull(std::size_t bucket) {
  thread_->submit(
      [this, bucket] {
        pushed_at_[bucket] = now_seconds();
        buckets_[bucket]->push(pattern_of(bucket));
      },
      [this, bucket] {
        if (!buckets_[bucket]->pull(pattern_of(bucket))) return false;
        exchange_spans_.push_back({Phase::kExchange, bucket, pushed_at_[bucket], now_seconds()});
        return true;
      });
}

// Compresses a bucket and hands it over.
void Replay::leave(std::size_t bucket, std::uint64_t index, UnderWay& way, StepReport& report) {
  if (!way.moves) return submit_exchange(bucket, way);
  const bool sent = sends(bucket, index);
  add_local_step(bucket, index, report);
  if (sent && buckets_[bucket]->shares_scales()) {
    const double begin = now_seconds();
    const double cpu_begin = now_seconds(processor_clock(options_.threads));
    pace_.begin();
    buckets_[bucket]->take_scales(gradients_, index);
    pace_.end();
    report.compress += now_seconds() - begin;
    report.compress_cpu += now_seconds(processor_clock(options_.threads)) - cpu_begin;
    note(report, Phase::kCompress, bucket, begin);
    thread_->submit([this, bucket] {
      const double shared = now_seconds();
      buckets_[bucket]->share_scales(*patterns_[bucket]);
      exchange_spans_.push_back({Phase::kExchange, bucket, shared, now_seconds()});
    });
    thread_->wait(++way.jobs);
  }
  encode(bucket, index, report);
  if (sent) {
    submit_exchange(bucket, way);
  } else {
    decode(bucket, report);  // there is nothing: its part of the aggregate is 0
  }
  report.exchanged = report.exchanged || sent;
}

// Ends a step when compute is over: waits, and decodes what comes.
void Replay::finish(UnderWay& way, StepReport& report) {
  while (way.decoded < way.sent.size()) {
    const double begin = now_seconds();
    thread_->wait(way.ends[way.decoded]);
    report.exposed += now_seconds() - begin;
    decode_next(way, report);
  }
}

// Reports the codec's time, and by how much it lasted longer than a time scale asks for.
void Replay::add_paces(const UnderWay& way, StepReport& report) const {
  report.codec = pace_.own();
  report.codec_decode = decode_pace_.own();
  report.overrun = pace_.overrun() + decode_pace_.overrun();
  if (!way.moves) return;
  for (const std::size_t bucket : way.sent) {
    report.codec += buckets_[bucket]->rounds_own();
    report.overrun += buckets_[bucket]->rounds_overrun();
  }
}

StepReport Replay::step_by_bucket(std::uint64_t index, bool moves) {
  StepReport report;
  UnderWay way;
  way.moves = moves;
  way.sent.reserve(buckets_.size());
  way.ends.reserve(buckets_.size());
  report.timeline.reserve(5 * buckets_.size() + 1);
  report.exchanged = false;
  exchange_spans_.clear();
  std::fill(exchange_times_.begin(), exchange_times_.end(), RoundsTime{});
  thread_->forget();
  pace_.reset();
  decode_pace_.reset();
  const bool beside = options_.feed.codec_beside;
  report.wanted = compute_seconds(index);
  report.compute = report.wanted * options_.time_scale;
  const double begin = report.begun = now_seconds();
  // Where hooks run in the backward pass's thread, it stands still for as long as they take.
  double held_up = 0;
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
    pass_until(begin + held_up + scaled_ready(bucket, index), beside, way, report);
    const double ready = now_seconds();
    leave(bucket, index, way, report);
    if (!beside) held_up += now_seconds() - ready;
  }
  pass_until(begin + held_up + report.compute, beside, way, report);
  report.timeline.push_back({Phase::kCompute, 0, 0, held_up + report.compute});
  finish(way, report);
  if (moves) apply_outer(report);
  report.total = now_seconds() - begin;
  for (PhaseSpan span : exchange_spans_) {
    span.begin -= begin;
    span.end -= begin;
    report.timeline.push_back(span);
  }
  for (const RoundsTime& time : exchange_times_) {
    report.compress += time.compress;
    report.compress_cpu += time.compress_cpu;
    report.exchange -= time.compress;
  }
  const double exchanging = time_in(report.timeline, Phase::kExchange);
  report.exchange += exchanging;
  report.link_idle = report.total - exchanging;
  add_paces(way, report);
  if (moves) add_payloads(report);
  return report;
}

}  // namespace thinpipe
