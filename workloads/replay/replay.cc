#include "workloads/replay/replay.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "base/clock.h"
#include "compressors/kernels/parallel.h"
#include "workloads/replay/message.h"

namespace thinpipe {

struct Replay::Tensor {
  std::unique_ptr<Compressor> compressor;
  std::size_t offset = 0;  // of its first element in the aggregate
};

Replayed replayed(const Trace& trace, int rank, std::uint64_t step) {
  const auto r = static_cast<std::size_t>(rank);
  return {r % trace.ranks(), (step + r / trace.ranks()) % trace.steps()};
}

Replay::Replay(const Trace& trace, const ReplayOptions& options, int rank, int ranks)
    : trace_(trace),
      options_(options),
      rank_(rank),
      ranks_(ranks),
      aggregation_(aggregation_of(options.compressor)),
      pace_(options.time_scale, options.threads),
      decode_pace_(1, options.threads),
      aggregate_(trace.elements()),
      payloads_(trace.tensors().size()) {
  CompressorSettings settings;
  settings.seed = options.seed;
  settings.rank = rank;
  settings.threads = options.threads;
  std::size_t offset = 0, capacity = trace.tensors().size() * kMessageLengthBytes;
  for (const TraceTensor& info : trace.tensors()) {
    const TensorInfo tensor{info.name, info.shape, info.elements};
    Tensor& added = tensors_.emplace_back();
    added.compressor = make_compressor(options.compressor, tensor, settings);
    added.offset = offset;
    offset += info.elements;
    capacity += added.compressor->max_encoded_size();
    period_ = added.compressor->period();
  }
  std::vector<Compressor*> compressors;
  int most_rounds = 1;
  for (const Tensor& tensor : tensors_) {
    compressors.push_back(tensor.compressor.get());
    most_rounds = std::max(most_rounds, tensor.compressor->rounds());
  }
  if (aggregation_ == Aggregation::kAllReduce && most_rounds > 1)
    rounds_ = std::make_unique<Rounds>(std::move(compressors), options.threads);
  else
    message_.resize(capacity);
  if (!tensors_.empty() && tensors_[0].compressor->shares_scale()) scales_.resize(tensors_.size());
  if (options.time_scale < 1 && (rounds_ || !scales_.empty()))
    throw InputError(fmt::format(
        "{}: its codec works between several exchanges of a step, which a time scale of {} would"
        " shorten but not the codec; expected a time scale of at least 1 for this method",
        options.compressor.to_string(), options.time_scale));
}

Replay::~Replay() = default;

void Replay::prepare(std::uint64_t steps) {
  const std::size_t count = tensors_.size();
  if (trace_.generated()) return;  // finite, and made step by step
  repaired_.assign(std::min<std::uint64_t>(steps, trace_.steps()) * count, {});
  for (std::size_t step = 0; step * count < repaired_.size(); ++step) {
    const Replayed source = replayed(trace_, rank_, step);
    for (std::size_t i = 0; i < count; ++i) {
      // Reading every value also brings it into memory before the clock runs.
      const std::span<const float> values = trace_.gradient(source.rank, source.step, i);
      const auto bad = std::find_if(values.begin(), values.end(),
                                    [](float value) { return !std::isfinite(value); });
      if (bad == values.end()) continue;
      if (options_.non_finite == NonFinite::kError)
        throw InputError(fmt::format(
            "{}: rank {}, recorded step {}, tensor '{}', element {} is {}; --non-finite zero"
            " replaces such values by 0",
            trace_.folder().string(), source.rank, source.step, trace_.tensors()[i].name,
            bad - values.begin(), *bad));
      std::vector<float>& repaired = repaired_[step * count + i];
      repaired.assign(values.begin(), values.end());
      for (float& value : repaired)
        if (!std::isfinite(value)) value = 0;
    }
  }
}

void Replay::load(std::uint64_t index) {
  if (!trace_.generated()) return;
  const UseThreads threads(options_.threads);
  const Replayed source = replayed(trace_, rank_, index);
  for (std::size_t i = 0; i < tensors_.size(); ++i) trace_.gradient(source.rank, source.step, i);
}

GradientInput Replay::input(std::size_t tensor, std::uint64_t index) const {
  const Replayed source = replayed(trace_, rank_, index);
  const std::size_t slot = index % trace_.steps() * tensors_.size() + tensor;
  GradientInput input;
  input.values = slot < repaired_.size() && !repaired_[slot].empty()
                     ? std::span<const float>(repaired_[slot])
                     : trace_.gradient(source.rank, source.step, tensor);
  input.squares = trace_.squares(source.rank, source.step, tensor);
  input.step = index;
  return input;
}

/// Every tensor's greatest scale over all ranks (TernGrad section 4.3), by one gathering of all.
void Replay::share_scales(std::uint64_t index, Pattern& pattern, StepReport& report) {
  pace_.begin();
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    scales_[i] = tensors_[i].compressor->prepare(input(i, index));
  pace_.end();
  const double begin = now_seconds();
  const double cpu_begin = now_seconds(processor_clock(options_.threads));
  for (const auto message : pattern.all_gather(std::as_bytes(std::span(scales_)))) {
    if (message.size() != scales_.size() * sizeof(float))
      throw PayloadError(fmt::format("scales of a rank: {} bytes; expected {} for {} tensors",
                                     message.size(), scales_.size() * sizeof(float),
                                     scales_.size()));
    for (std::size_t i = 0; i < scales_.size(); ++i) {
      float scale = 0;
      std::memcpy(&scale, message.data() + i * sizeof scale, sizeof scale);
      if (!std::isfinite(scale) || scale < 0)
        throw PayloadError(
            fmt::format("scale of tensor '{}' from a rank is {}; expected a finite number of at"
                        " least 0",
                        trace_.tensors()[i].name, scale));
      scales_[i] = std::max(scales_[i], scale);
    }
  }
  report.exchange += now_seconds() - begin;
  report.compress_cpu -= now_seconds(processor_clock(options_.threads)) - cpu_begin;
}

void Replay::compress(std::uint64_t index, StepReport& report) {
  message_size_ = tensors_.size() * kMessageLengthBytes;
  if (rounds_) rounds_->begin();
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    GradientInput gradient = input(i, index);
    if (!scales_.empty()) gradient.shared_scale = scales_[i];
    const EncodeReport encoded =
        rounds_
            ? rounds_->encode(gradient)
            : tensors_[i].compressor->encode(gradient, std::span(message_).subspan(message_size_));
    if (!rounds_) {
      const auto length = static_cast<std::uint32_t>(encoded.encoded_bytes);
      std::memcpy(message_.data() + i * kMessageLengthBytes, &length, kMessageLengthBytes);
      message_size_ += encoded.encoded_bytes;
      report.payload_bytes += encoded.encoded_bytes;
    }
    report.target += encoded.target_elements;
    report.selected += encoded.selected_elements;
  }
}

void Replay::hold(std::uint64_t index) {
  message_size_ = 0;
  if (rounds_) rounds_->begin();
  for (std::size_t i = 0; i < tensors_.size(); ++i) tensors_[i].compressor->hold(input(i, index));
}

void Replay::all_reduce(Pattern& pattern, StepReport& report) {
  const double begin = now_seconds();
  // A dense payload is an array of floats already: it is summed from where it was written.
  const std::span<const std::byte> payloads =
      std::span(message_).first(message_size_).subspan(tensors_.size() * kMessageLengthBytes);
  const std::span<const float> own(reinterpret_cast<const float*>(payloads.data()),
                                   payloads.size() / sizeof(float));
  pattern.all_reduce(own, aggregate_, 1.0F / static_cast<float>(ranks_));
  report.exchange += now_seconds() - begin;
}

void Replay::all_gather(Pattern& pattern, StepReport& report) {
  const double begin = now_seconds();
  const auto& messages = pattern.all_gather(std::span(message_).first(message_size_));
  const double exchanged = now_seconds();
  report.exchange += exchanged - begin;
  decode_pace_.begin();
  std::fill(aggregate_.begin(), aggregate_.end(), 0.0F);
  const float factor = 1.0F / static_cast<float>(ranks_);
  for (const std::span<const std::byte> message : messages) {
    split_message(message, payloads_);
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      tensors_[i].compressor->decode_add(
          payloads_[i], factor,
          std::span(aggregate_).subspan(tensors_[i].offset, tensors_[i].compressor->elements()));
  }
  decode_pace_.end();
  report.decode = now_seconds() - exchanged;
}

void Replay::run_rounds(Pattern& pattern, StepReport& report) {
  const RoundsTime time = rounds_->run(pattern, ranks_, pace_);
  report.exchange += time.exchange;
  report.compress += time.compress;
  report.compress_cpu += time.compress_cpu;
  const double begin = now_seconds();
  decode_pace_.begin();
  std::fill(aggregate_.begin(), aggregate_.end(), 0.0F);
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    tensors_[i].compressor->decode_add(
        rounds_->result(i), 1.0F,
        std::span(aggregate_).subspan(tensors_[i].offset, tensors_[i].compressor->elements()));
  decode_pace_.end();
  report.decode = now_seconds() - begin;
  for (std::size_t round = 0; round < rounds_->count(); ++round)
    report.payload_bytes += rounds_->sent(round).size_bytes();
}

StepReport Replay::step(std::uint64_t index, Pattern& pattern) {
  StepReport report;
  const Replayed source = replayed(trace_, rank_, index);
  const double factor = options_.time_scale;
  report.wanted = trace_.times(source.rank, source.step).compute() * options_.compute_scale;
  const double wanted = report.wanted * factor;
  const bool codec_first = factor < 1;
  pace_.reset();
  decode_pace_.reset();
  const double begin = now_seconds();
  if (!codec_first && wanted > 0) wait_until(begin + wanted);
  const double computed = now_seconds();
  const double cpu_before = now_seconds(processor_clock(options_.threads));
  report.exchanged = (index + 1) % period_ == 0;
  if (report.exchanged && !scales_.empty()) share_scales(index, pattern, report);
  pace_.begin();
  if (report.exchanged)
    compress(index, report);
  else
    hold(index);
  pace_.end();
  const double compressed = now_seconds();
  report.compress_cpu += now_seconds(processor_clock(options_.threads)) - cpu_before;
  report.compress = compressed - computed - report.exchange;  // so far of scales alone
  const double due = begin + wanted + factor * pace_.own() + report.exchange;
  if (codec_first) {
    if (compressed < due) wait_until(due);
    report.compute = now_seconds() - compressed;
    report.late = compressed < due ? now_seconds() - due : 0;
  } else {
    report.compute = computed - begin;
    report.late = report.compute - wanted;
  }
  const double arrived = now_seconds();
  report.arrived = arrived - begin;
  report.lag = arrived - due;
  const double overrun = pace_.overrun();
  if (!report.exchanged)
    std::fill(aggregate_.begin(), aggregate_.end(), 0.0F);
  else if (rounds_)
    run_rounds(pattern, report);
  else if (aggregation_ == Aggregation::kAllReduce)
    all_reduce(pattern, report);
  else
    all_gather(pattern, report);
  report.total = now_seconds() - begin;
  report.codec = pace_.own();
  report.codec_decode = decode_pace_.own();
  report.overrun = pace_.overrun() - overrun;
  return report;
}

std::size_t Replay::contribution_size() const {
  return trace_.elements() + (rounds_ ? rounds_->capacity() : 0);
}

std::vector<std::span<const float>> Replay::results() const {
  std::vector<std::span<const float>> results = {aggregate_};
  for (std::size_t round = 0; rounds_ && round < rounds_->count(); ++round)
    results.push_back(rounds_->mean(round));
  return results;
}

void Replay::own_contribution(std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0F);
  if (message_size_ == 0) return;  // held back in this step
  if (!rounds_) split_message(std::span(message_).first(message_size_), payloads_);
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    tensors_[i].compressor->decode_add(
        own_payload(i), 1.0F, out.subspan(tensors_[i].offset, tensors_[i].compressor->elements()));
  std::size_t at = trace_.elements();
  for (std::size_t round = 0; rounds_ && round < rounds_->count(); ++round) {
    const auto sent = rounds_->sent(round);
    std::copy(sent.begin(), sent.end(), out.subspan(at).begin());
    at += sent.size();
  }
}

double Replay::relative_error(std::uint64_t index) const {
  if (message_size_ == 0) return 0;  // held back in this step
  if (!rounds_) split_message(std::span(message_).first(message_size_), payloads_);
  Distortion all;
  for (std::size_t i = 0; i < tensors_.size(); ++i)
    all += tensors_[i].compressor->distortion(input(i, index), own_payload(i));
  return all.relative();
}

/// After split_message(), where there is a message.
std::span<const std::byte> Replay::own_payload(std::size_t tensor) const {
  return rounds_ ? rounds_->own_payload(tensor) : payloads_[tensor];
}

}  // namespace thinpipe
