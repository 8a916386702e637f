#include "workloads/replay/replay.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "compressors/registry.h"
#include "workloads/replay/device_bucket.h"
#include "workloads/replay/processor_bucket.h"
#include "workloads/replay/push_pull_units.h"

namespace thinpipe {

Replay::Replay(const Trace& trace, const ReplayOptions& options, int rank, int ranks)
    : trace_(trace),
      options_(options),
      rank_(rank),
      ranks_(ranks),
      gradients_(trace, rank, options.non_finite, options.feed, options.threads,
                 options.epochs_a_step),
      pace_(options.time_scale, options.device ? Pace::kDevice : options.threads),
      // Where all leaves together nothing waits for decoding but the step's end: it is counted.
      decode_pace_(options.feed.overlap == Overlap::kNone ? 1 : options.time_scale,
                   options.device ? Pace::kDevice : options.threads),
      aggregate_(trace.elements()) {
  check_device();
  CompressorSettings settings;
  settings.seed = options.seed;
  settings.rank = rank;
  settings.threads = options.threads;
  std::size_t offset = 0, units = 0;
  if (options.device)
    on_device_ =
        std::make_unique<DeviceResult>(*options.device, trace.elements(), options.feed.outer);
  std::vector<PlannedBucket> planned =
      plan_buckets(trace.tensors(), options.compressor, options.feed);
  if (options.servers && options.servers->colocated)
    planned = sliced(std::move(planned), trace.tensors(), ranks);
  for (const PlannedBucket& bucket : planned) {
    buckets_.push_back(make_bucket(bucket, settings, offset, units));
    for (const PlannedUnit& unit : bucket.units)
      if (options.servers)
        units += pieces_of(unit.info.elements, unit.compressor, *options.servers).count;
    plan_.push_back(buckets_.back()->plan());
    offsets_.push_back(offset);
    offset += buckets_.back()->elements();
  }
  if (options.feed.outer) {
    outer_.emplace(aggregate_.size(), *options.feed.outer);
    update_.resize(aggregate_.size());
  }
  if (options.servers) {
    units_ = replay_units(plan_, *options.servers);
    layout_ = push_pull_layout(units_, *options.servers, ranks, settings);
  }
  if (layout_.colocated)
    averager_ =
        std::make_unique<UnitAverager>(units_, layout_,
                                       UnitAveragerOptions{.exchange = *options.servers,
                                                           .seed = options.seed,
                                                           .threads = options.threads,
                                                           .time_scale = options.time_scale,
                                                           .local_steps = options.feed.local_steps,
                                                           .epoch = options.feed.epoch,
                                                           .epochs_a_step = options.epochs_a_step},
                                       rank);
  exchange_times_.resize(buckets_.size());
  exchange_spans_.reserve(2 * buckets_.size());
  pushed_at_.resize(buckets_.size());
  check_time_scale();
  check_local_steps();
}

Replay::~Replay() = default;

std::unique_ptr<Bucket> Replay::make_bucket(const PlannedBucket& plan,
                                            const CompressorSettings& settings, std::size_t offset,
                                            std::size_t first_unit) const {
  const std::size_t number = buckets_.size();
  if (options_.device) {
    const DevicePlace place{*options_.device, on_device_->aggregate() + offset, options_.time_scale,
                            options_.feed.overlap != Overlap::kNone};
    const std::uint64_t local_steps = options_.feed.local_steps;
    if (options_.servers)
      return std::make_unique<DeviceBucket>(place, plan, number, settings, local_steps,
                                            *options_.servers, first_unit);
    return std::make_unique<DeviceBucket>(place, plan, number, settings, ranks_, local_steps,
                                          options_.sparse_sums);
  }
  if (options_.servers)
    return std::make_unique<ProcessorBucket>(plan, number, settings, *options_.servers, first_unit);
  return std::make_unique<ProcessorBucket>(plan, number, settings, ranks_, options_.time_scale,
                                           options_.sparse_sums);
}

void Replay::load(std::uint64_t index) {
  if (loaded_ == index) return;  // local steps would count it twice
  gradients_.load(plan_, index);
  for (const auto& bucket : buckets_) bucket->load(gradients_, index);
  if (options_.device) loaded_ = index;
}

void Replay::fetch() {
  if (!on_device_) return;
  on_device_->fetch(aggregate_, update_, outer_ ? outer_->velocity() : std::span<float>());
}

void Replay::connect(const MakePattern& make) {
  patterns_.clear();
  for (const auto& bucket : buckets_) {
    patterns_.push_back(make(bucket->message_capacity()));
    bucket->connect(*patterns_.back());
  }
  start_thread();
}

void Replay::connect(std::unique_ptr<Pattern> pattern) {
  patterns_.clear();
  patterns_.push_back(std::move(pattern));
  start_thread();
}

void Replay::start_thread() {
  if (options_.feed.overlap == Overlap::kNone) return;
  thread_ = std::make_unique<ExchangeThread>();
  thread_->reserve(2 * buckets_.size());
}

std::uint64_t Replay::period() const {
  std::uint64_t period = 1;
  for (const auto& bucket : buckets_) period = std::lcm(period, bucket->period());
  return period * options_.feed.local_steps;
}

TransportCounters Replay::counters() const {
  TransportCounters all;
  for (const auto& pattern : patterns_) {
    const TransportCounters one = pattern->counters();
    all.messages += one.messages;
    all.bytes += one.bytes;
    all.frames += one.frames;
  }
  return all;
}

// The captured time as this rank has it, whatever the time scale.
double Replay::compute_seconds(std::uint64_t index) const {
  const Replayed source = replayed(trace_, rank_, index);
  return options_.stragglers.compute(
      trace_.times(source.rank, source.step).compute() * options_.compute_scale, rank_, index);
}

std::span<float> Replay::part(std::size_t bucket) {
  return std::span(aggregate_).subspan(offsets_[bucket], buckets_[bucket]->elements());
}

bool Replay::sends(std::size_t bucket, std::uint64_t index) const {
  const std::uint64_t local = options_.feed.local_steps;
  return (index + 1) % local == 0 && buckets_[bucket]->sends(index / local);
}

void Replay::note(StepReport& report, Phase phase, std::size_t bucket, double begin) const {
  report.timeline.push_back({phase, bucket, begin - report.begun, now_seconds() - report.begun});
}

void Replay::add_payloads(StepReport& report) const {
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

// Gathers all ranks' scales of the one bucket.
void Replay::share_scales(std::uint64_t index, StepReport& report) {
  pace_.begin();
  buckets_[0]->take_scales(gradients_, index);
  pace_.end();
  const double begin = now_seconds();
  const double cpu_begin = now_seconds(processor_clock(options_.threads));
  buckets_[0]->share_scales(*patterns_[0]);
  report.exchange += now_seconds() - begin;
  report.compress_cpu -= now_seconds(processor_clock(options_.threads)) - cpu_begin;
  note(report, Phase::kExchange, 0, begin);
}

// Work of the codec before an exchange, and what it takes. Reading a processor's clock takes as
// long as sending a small message: where the pace reads the same one, it is read once.
template <typename Work>
void Replay::compress(const Work& work, StepReport& report) {
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

void Replay::add_local_step(std::size_t bucket, std::uint64_t index, StepReport& report) {
  if (options_.feed.local_steps == 1) return;
  compress([&] { buckets_[bucket]->add_up(gradients_, index); }, report);
}

RoundsTime Replay::exchange(std::size_t bucket) {
  if (!options_.servers) return buckets_[bucket]->exchange(pattern_of(bucket), part(bucket));
  const double begin = now_seconds();
  buckets_[bucket]->push(pattern_of(bucket));
  while (!buckets_[bucket]->pull(pattern_of(bucket))) {
  }
  return {.exchange = now_seconds() - begin};
}

// Encodes, or holds back what a delayed method does not send yet.
void Replay::encode(std::size_t bucket, std::uint64_t index, StepReport& report) {
  const double begin = now_seconds();
  compress(
      [&] {
        if ((index + 1) % options_.feed.local_steps == 0)
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

void Replay::decode(std::size_t bucket, StepReport& report) {
  const double begin = now_seconds();
  if (buckets_[bucket]->decodes()) {
    decode_pace_.begin();
    buckets_[bucket]->decode(part(bucket));
    decode_pace_.end();
  }
  report.decode += now_seconds() - begin;
  note(report, Phase::kDecode, bucket, begin);
}

// Where something was exchanged, counted as decoding: it ends a step like that.
void Replay::apply_outer(StepReport& report) {
  if (!outer_ || !report.exchanged) return;
  const double begin = now_seconds();
  decode_pace_.begin();
  if (on_device_)
    on_device_->apply_outer();
  else
    outer_->apply(aggregate_, update_);
  decode_pace_.end();
  report.decode += now_seconds() - begin;
  note(report, Phase::kDecode, buckets_.size() - 1, begin);
}

StepReport Replay::step(std::uint64_t index) {
  if (averager_) averager_->begin_step(index);
  return thread_ ? step_by_bucket(index, true) : step_together(index);
}

StepReport Replay::step_together(std::uint64_t index) {
  StepReport report;
  report.timeline.reserve(8);
  const double factor = options_.time_scale;
  report.wanted = compute_seconds(index);
  const double wanted = report.wanted * factor;
  const bool codec_first = factor < 1;
  pace_.reset();
  decode_pace_.reset();
  const double begin = report.begun = now_seconds();
  if (!codec_first && wanted > 0) wait_until(begin + wanted);
  const double computed = now_seconds();
  if (!codec_first) note(report, Phase::kCompute, 0, begin);
  report.exchanged = sends(0, index);
  add_local_step(0, index, report);
  if (report.exchanged && buckets_[0]->shares_scales()) {
    const double shared = now_seconds();
    const double cpu_begin = now_seconds(processor_clock(options_.threads));
    share_scales(index, report);
    report.compress_cpu += now_seconds(processor_clock(options_.threads)) - cpu_begin;
    report.compress += now_seconds() - shared - report.exchange;
  }
  const double scales = report.exchange;
  encode(0, index, report);
  const double compressed = now_seconds();
  const double due = begin + wanted + factor * pace_.own() + scales;
  if (codec_first) {
    if (compressed < due) wait_until(due);
    report.compute = now_seconds() - compressed;
    report.late = compressed < due ? now_seconds() - due : 0;
    note(report, Phase::kCompute, 0, compressed);
  } else {
    report.compute = computed - begin;
    report.late = report.compute - wanted;
  }
  const double arrived = now_seconds();
  report.arrived = arrived - begin;
  report.lag = arrived - due;
  if (report.exchanged) {
    const RoundsTime time = exchange(0);
    report.exchange += time.exchange;
    report.compress += time.compress;
    report.compress_cpu += time.compress_cpu;
    report.overrun = buckets_[0]->rounds_overrun();
    report.codec = buckets_[0]->rounds_own();
    note(report, Phase::kExchange, 0, arrived);
  }
  decode(0, report);
  apply_outer(report);
  report.total = now_seconds() - begin;
  report.codec += pace_.own();
  report.codec_decode = decode_pace_.own();
  report.exposed = report.exchange;
  report.link_idle = report.total - report.exchange;
  add_payloads(report);
  return report;
}

StepReport Replay::step_without_exchange(std::uint64_t index) {
  if (thread_) return step_by_bucket(index, false);
  StepReport report;
  report.wanted = compute_seconds(index);
  report.begun = now_seconds();
  if (report.wanted > 0) wait_until(report.begun + report.wanted * options_.time_scale);
  report.compute = report.total = now_seconds() - report.begun;
  report.late = report.compute - report.wanted * options_.time_scale;
  return report;
}

// Checks that refuse combinations of options that would not measure what they say.

void Replay::check_device() const {
  if (options_.device && options_.time_scale < 1)
    throw InputError(
        "a time scale below 1 would have to speed copies up, which is not done on a device yet; "
        "--device cpu does it");
}

void Replay::check_time_scale() const {
  if (options_.time_scale < 1 && options_.feed.overlap != Overlap::kNone)
    throw InputError(fmt::format(
        "--overlap bucket: its codec works beside exchanges, which a time scale of {} would "
        "shorten but not the codec; expected a time scale of at least 1, or --overlap none",
        options_.time_scale));
  const bool between =
      options_.servers || std::any_of(buckets_.begin(), buckets_.end(), [](const auto& bucket) {
        return bucket->takes_rounds() || bucket->shares_scales();
      });
  if (options_.time_scale < 1 && between)
    throw InputError(fmt::format(
        "{}: its codec works between several exchanges of a step, which a time scale of {} would "
        "shorten but not the codec; expected a time scale of at least 1 for this method",
        options_.compressor.to_string(), options_.time_scale));
}

void Replay::check_local_steps() const {
  if (options_.feed.local_steps > 1)
    for (const Spec& spec : options_.compressor.specs())
      if (find_method(spec.name).needs_squares)
        throw InputError(fmt::format(
            "{}: its second moments are those of one step's gradient; expected one local step",
            spec.to_string()));
}

}  // namespace thinpipe
