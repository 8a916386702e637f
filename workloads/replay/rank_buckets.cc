#include "workloads/replay/rank_buckets.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "compressors/registry.h"
#include "workloads/replay/device_bucket.h"
#include "workloads/replay/host_bucket.h"
#include "workloads/replay/message.h"
#include "workloads/replay/push_pull_units.h"
#include "workloads/replay/step_threads.h"

namespace thinpipe {

RankBuckets::RankBuckets(const Trace& trace, const ReplayOptions& options, int rank, int ranks)
    : trace_(trace),
      options_(options),
      rank_(rank),
      gradients_(trace, rank, options.non_finite, options.bucketing, options.threads,
                 options.epochs_a_step),
      pace_(options.time_scale, options.device ? Pace::kDevice : options.threads),
      // Without overlap only the step's end waits for decoding, so the measured time is scaled.
      decode_pace_(options.bucketing.overlaps() ? options.time_scale : 1,
                   options.device ? Pace::kDevice : options.threads),
      aggregate_(trace.elements()) {
  check_device();
  if (options.device)
    on_device_ =
        std::make_unique<DeviceResult>(*options.device, trace.elements(), options.bucketing.outer);
  make_buckets(ranks);
  if (options.bucketing.outer) {
    outer_.emplace(aggregate_.size(), *options.bucketing.outer);
    update_.resize(aggregate_.size());
  }
  check_time_scale();
  check_local_steps();
  check_fragments();
}

RankBuckets::~RankBuckets() = default;

void RankBuckets::make_buckets(int ranks) {
  const BucketSettings settings = {
      .compressors = {.seed = options_.seed, .rank = rank_, .threads = options_.threads},
      .ranks = ranks,
      .time_scale = options_.time_scale,
      .local_steps = options_.bucketing.local_steps,
      .sparse_sums = options_.sparse_sums && !options_.servers,
      .servers = options_.servers};
  std::vector<PlannedBucket> planned =
      plan_buckets(trace_.tensors(), options_.compressor, options_.bucketing);
  if (options_.servers && options_.servers->colocated)
    planned = sliced(std::move(planned), trace_.tensors(), ranks);
  std::size_t offset = 0, first_unit = 0;
  for (const PlannedBucket& plan : planned) {
    if (options_.device)
      buckets_.push_back(std::make_unique<DeviceBucket>(
          plan, buckets_.size(), first_unit, settings, *options_.device,
          on_device_->aggregate() + offset, options_.bucketing.overlap != Overlap::kNone));
    else
      buckets_.push_back(std::make_unique<HostBucket>(plan, buckets_.size(), first_unit, settings));
    for (const PlannedUnit& unit : plan.units)
      if (options_.servers)
        first_unit += pieces_of(unit.info.elements, unit.compressor, *options_.servers).count;
    plan_.push_back(buckets_.back()->plan());
    offsets_.push_back(offset);
    offset += buckets_.back()->elements();
  }
}

void RankBuckets::load(std::uint64_t index) {
  if (loaded_ == index) return;  // local steps would add its gradients twice
  gradients_.load(plan_, index);
  for (const auto& bucket : buckets_) bucket->load(gradients_, index);
  if (options_.device) loaded_ = index;
}

void RankBuckets::fetch() {
  if (!on_device_) return;
  on_device_->fetch(aggregate_, update_, outer_ ? outer_->velocity() : std::span<float>());
}

void RankBuckets::save_outer(std::vector<std::byte>& state) {
  if (!outer_) return;
  fetch();
  append_floats(outer_->velocity(), state);
}

void RankBuckets::load_outer(ByteReader& state) {
  if (!outer_) return;
  take_floats(state, outer_->velocity());
  if (on_device_) on_device_->set_velocity(outer_->velocity());
}

double RankBuckets::compute_seconds(std::uint64_t index) const {
  const Replayed source = replayed(trace_, rank_, index);
  return options_.stragglers.compute(
      trace_.times(source.rank, source.step).compute() * options_.compute_scale, rank_, index);
}

double RankBuckets::scaled_ready(std::size_t bucket, std::uint64_t index) const {
  const Replayed source = replayed(trace_, rank_, index);
  const TraceStepTimes& times = trace_.times(source.rank, source.step);
  double last = 0;
  for (const std::size_t tensor : plan_[bucket].tensors())
    last = std::max(last, times.ready[tensor]);
  return options_.time_scale *
         options_.stragglers.compute((times.forward + last) * options_.compute_scale, rank_, index);
}

StepReport RankBuckets::compute_alone(std::uint64_t index) const {
  StepReport report;
  report.wanted = compute_seconds(index);
  report.begun = now_seconds();
  pass_compute(report.begun, report.wanted * options_.time_scale, report);
  report.total = report.compute;
  return report;
}

std::size_t RankBuckets::sent_in(std::uint64_t index) const {
  std::size_t sent = 0;
  while (sent < size() && !sends(sent, index)) ++sent;
  return sent;
}

void RankBuckets::share_scales(std::size_t bucket, std::uint64_t index, StepReport& report) {
  if (!buckets_[bucket]->shares_scales()) return;
  take_scales(bucket, index, report);
  const double begin = now_seconds();
  buckets_[bucket]->share_scales();
  report.exchange += now_seconds() - begin;
  note(report, Phase::kExchange, bucket, begin);
}

void RankBuckets::add_exchange(std::size_t bucket, StepReport& report) const {
  const ExchangeTime& time = buckets_[bucket]->exchange_time();
  report.exchange += time.exchange;
  report.compress += time.compress;
  report.compress_cpu += time.compress_cpu;
  report.codec += time.codec;
  report.overrun += time.overrun;
}

void RankBuckets::pass_compute(double begin, double seconds, StepReport& report) const {
  if (options_.compute_works)
    work_for(seconds);
  else if (seconds > 0)
    wait_until(begin + seconds);
  report.compute = now_seconds() - begin;
  report.late = options_.compute_works ? 0 : report.compute - seconds;
}

// Runs codec work before an exchange, and adds its durations to the report. Reading a CPU-time
// clock takes as long as sending a small message. So if `pace_` reads the same clock, it is not
// read a second time.
template <typename Work>
void RankBuckets::compress(const Work& work, StepReport& report) {
  const bool one_clock = options_.threads == 1 && !options_.device;
  const double cpu_begin = one_clock ? 0 : now_seconds(processor_clock(options_.threads));
  const double begin = now_seconds();
  pace_.begin();
  work();
  const double took = pace_.end();
  report.compress += now_seconds() - begin;
  report.compress_cpu +=
      one_clock ? took : now_seconds(processor_clock(options_.threads)) - cpu_begin;
}

void RankBuckets::add_local_step(std::size_t bucket, std::uint64_t index, StepReport& report) {
  if (options_.bucketing.local_steps == 1) return;
  compress([&] { buckets_[bucket]->add_up(gradients_, index); }, report);
}

void RankBuckets::take_scales(std::size_t bucket, std::uint64_t index, StepReport& report) {
  compress([&] { buckets_[bucket]->take_scales(gradients_, index); }, report);
}

void RankBuckets::encode(std::size_t bucket, std::uint64_t index, StepReport& report) {
  const double begin = now_seconds();
  compress(
      [&] {
        if (options_.bucketing.has_turn(bucket, index))
          buckets_[bucket]->encode(gradients_, index);
        else
          buckets_[bucket]->skip();
      },
      report);
  const double compressed = now_seconds();
  buckets_[bucket]->begin_copies();
  report.compress += now_seconds() - compressed;
  note(report, Phase::kCompress, bucket, begin);
}

void RankBuckets::decode(std::size_t bucket, StepReport& report) {
  const double begin = now_seconds();
  if (buckets_[bucket]->decodes()) {
    decode_pace_.begin();
    buckets_[bucket]->decode(
        std::span(aggregate_).subspan(offsets_[bucket], buckets_[bucket]->elements()));
    decode_pace_.end();
  }
  report.decode += now_seconds() - begin;
  note(report, Phase::kDecode, bucket, begin);
}

ElementRange RankBuckets::turn(std::uint64_t index) const {
  std::size_t begin = aggregate_.size(), end = 0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    if (!options_.bucketing.has_turn(b, index)) continue;
    begin = std::min(begin, offsets_[b]);
    end = offsets_[b] + buckets_[b]->elements();
  }
  return {std::min(begin, end), end};
}

void RankBuckets::apply_outer(std::uint64_t index, StepReport& report) {
  if (!outer_ || !report.exchanged) return;
  const double begin = now_seconds();
  decode_pace_.begin();
  if (on_device_)
    on_device_->apply_outer();
  else
    outer_->apply(aggregate_, update_, turn(index));
  decode_pace_.end();
  report.decode += now_seconds() - begin;
  note(report, Phase::kDecode, buckets_.size() - 1, begin);
}

void RankBuckets::add_payloads(StepReport& report) const {
  for (const auto& bucket : buckets_) {
    const BucketPayload& payload = bucket->payload();
    report.payload_bytes += payload.bytes;
    report.summed_bytes += payload.summed_bytes;
    report.pulled_bytes += payload.pulled_bytes;
    report.target += payload.target;
    report.selected += payload.selected;
    const BucketCopies copies = bucket->copies();
    report.copy_down += copies.down;
    report.copy_up += copies.up;
  }
}

// Checks that refuse combinations of options whose measurements would be wrong.

void RankBuckets::check_device() const {
  if (options_.device && options_.time_scale < 1)
    throw InputError(
        "a time scale below 1 is not supported on a device, whose copies cannot be sped up; "
        "expected a time scale of at least 1, or --device cpu");
}

void RankBuckets::check_time_scale() const {
  if (options_.time_scale < 1 && options_.bucketing.overlap != Overlap::kNone)
    throw InputError(fmt::format(
        "--overlap bucket: the codec works during exchanges, and a time scale of {} would shorten "
        "the exchanges but not the codec; expected a time scale of at least 1, or --overlap none",
        options_.time_scale));
  const bool between =
      options_.servers || std::any_of(buckets_.begin(), buckets_.end(), [](const auto& bucket) {
        return bucket->rounds() != nullptr || bucket->shares_scales();
      });
  if (options_.time_scale < 1 && between)
    throw InputError(fmt::format(
        "{}: its codec works between several exchanges of a step, and a time scale of {} would "
        "shorten the exchanges but not the codec; expected a time scale of at least 1",
        options_.compressor.to_string(), options_.time_scale));
}

void RankBuckets::check_local_steps() const {
  if (options_.bucketing.local_steps > 1)
    for (const Spec& spec : options_.compressor.specs())
      if (find_method(spec.name).needs_squares)
        throw InputError(fmt::format(
            "{}: its second moments are of the gradient of one step; expected one local step",
            spec.to_string()));
}

void RankBuckets::check_fragments() const {
  const Bucketing& bucketing = options_.bucketing;
  if (!bucketing.takes_turns()) return;
  if (bucketing.local_steps < bucketing.fragments || bucketing.overlap != Overlap::kNone ||
      options_.servers || options_.device)
    throw InputError(
        "fragments take turns in local steps, are in the host's memory, and have no servers and no "
        "overlap; expected 1 fragment");
  if (bucketing.fragment_delay > 0 &&
      (bucketing.fragment_delay >= bucketing.local_steps / bucketing.fragments ||
       options_.time_scale < 1))
    throw InputError(
        "one fragment at a time is exchanged, during compute that a time scale below 1 would not "
        "shorten; expected a shorter delay, and a time scale of at least 1");
  for (const auto& bucket : buckets_)
    if (bucket->period() > 1)
      throw InputError(
          fmt::format("{}: its delay is not that of the fragments; expected --local-steps and no "
                      "delay",
                      options_.compressor.to_string()));
}

}  // namespace thinpipe
