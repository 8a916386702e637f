#include "workloads/replay/gradients.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "compressors/kernels/parallel.h"
#include "workloads/replay/message.h"

namespace thinpipe {

Replayed replayed(const Trace& trace, int rank, std::uint64_t step) {
  const auto r = static_cast<std::size_t>(rank);
  return {r % trace.ranks(), (step + r / trace.ranks()) % trace.steps()};
}

Gradients::Gradients(const Trace& trace, int rank, NonFinite policy, const Bucketing& bucketing,
                     int threads, double epochs_a_step)
    : trace_(trace),
      rank_(rank),
      policy_(policy),
      bucketing_(bucketing),
      epochs_a_step_(epochs_a_step),
      threads_(threads) {}

void Gradients::prepare(std::uint64_t steps) {
  const std::size_t count = trace_.tensors().size();
  if (trace_.generated()) return;  // finite, and generated step by step
  repaired_.assign(std::min<std::uint64_t>(steps, trace_.steps()) * count, {});
  for (std::size_t step = 0; step * count < repaired_.size(); ++step) {
    const Replayed source = replayed(trace_, rank_, step);
    for (std::size_t i = 0; i < count; ++i) {
      // Reading every value also brings it into memory before the clock runs.
      const std::span<const float> values = trace_.gradient(source.rank, source.step, i);
      const auto bad = std::find_if(values.begin(), values.end(),
                                    [](float value) { return !std::isfinite(value); });
      if (bad == values.end()) continue;
      if (policy_ == NonFinite::kError)
        throw InputError(
            fmt::format("{}: rank {}, recorded step {}, tensor '{}', element {} is {}; "
                        "--non-finite zero replaces such values by 0",
                        trace_.folder().string(), source.rank, source.step,
                        trace_.tensors()[i].name, bad - values.begin(), *bad));
      std::vector<float>& repaired = repaired_[step * count + i];
      repaired.assign(values.begin(), values.end());
      for (float& value : repaired)
        if (!std::isfinite(value)) value = 0;
    }
  }
}

bool Gradients::loads(std::span<const PlannedBucket> buckets) const {
  const auto joins = [](const PlannedUnit& unit) { return unit.tensors.size() > 1; };
  return trace_.generated() ||
         std::any_of(buckets.begin(), buckets.end(), [&](const PlannedBucket& bucket) {
           return std::any_of(bucket.units.begin(), bucket.units.end(), joins);
         });
}

Gradients::Joined& Gradients::joined(std::size_t bucket, std::size_t unit) {
  if (joined_.size() <= bucket) joined_.resize(bucket + 1);
  if (joined_[bucket].size() <= unit) joined_[bucket].resize(unit + 1);
  return joined_[bucket][unit];
}

std::span<const float> Gradients::values_of(std::size_t tensor, std::uint64_t index) const {
  const std::size_t slot = index % trace_.steps() * trace_.tensors().size() + tensor;
  if (slot < repaired_.size() && !repaired_[slot].empty()) return repaired_[slot];
  const Replayed source = replayed(trace_, rank_, index);
  return trace_.gradient(source.rank, source.step, tensor);
}

void Gradients::load(std::span<const PlannedBucket> buckets, std::uint64_t index) {
  const UseThreads threads(threads_);
  const Replayed source = replayed(trace_, rank_, index);
  for (std::size_t b = 0; b < buckets.size(); ++b)
    for (std::size_t u = 0; u < buckets[b].units.size(); ++u) {
      const PlannedUnit& unit = buckets[b].units[u];
      if (unit.tensors.size() == 1) {
        values_of(unit.tensors[0], index);  // generates the values
        continue;
      }
      Joined& to = joined(b, u);
      to.values.resize(unit.info.elements);
      std::size_t at = 0, first = unit.first;
      for (const std::size_t tensor : unit.tensors) {
        // A slice may begin and end within a tensor.
        const auto part = [&](std::span<const float> all) {
          return all.subspan(first).first(std::min(all.size() - first, unit.info.elements - at));
        };
        const std::span<const float> values = part(values_of(tensor, index));
        const std::span<const float> squares = trace_.squares(source.rank, source.step, tensor);
        copy_bytes(to.values.data() + at, values.data(), values.size_bytes());
        if (!squares.empty()) {
          to.squares.resize(unit.info.elements);
          copy_bytes(to.squares.data() + at, part(squares).data(), values.size_bytes());
        }
        at += values.size();
        first = 0;
      }
    }
}

GradientInput Gradients::of_step(std::size_t bucket, std::size_t unit, const PlannedUnit& planned,
                                 std::uint64_t index) const {
  GradientInput input;
  input.step = index;
  input.epoch = bucketing_.epoch + epochs_a_step_ * static_cast<double>(index);
  if (planned.tensors.size() > 1) {
    const Joined& from = joined_.at(bucket).at(unit);
    input.values = from.values;
    input.squares = from.squares;
    return input;
  }
  const Replayed source = replayed(trace_, rank_, index);
  const auto part = [&](std::span<const float> all) {
    return all.subspan(planned.first, planned.info.elements);
  };
  input.values = part(values_of(planned.tensors[0], index));
  if (const auto squares = trace_.squares(source.rank, source.step, planned.tensors[0]);
      !squares.empty())
    input.squares = part(squares);
  return input;
}

void Gradients::add(std::size_t bucket, std::size_t unit, const PlannedUnit& planned,
                    std::uint64_t index) {
  const std::span<const float> values = of_step(bucket, unit, planned, index).values;
  Joined& to = joined(bucket, unit);
  std::vector<float>& sum = to.sum;
  const bool begins = bucketing_.begins_sum(bucket, index);
  if (sum.empty() || begins) {
    sum.resize(values.size());
    copy_bytes(sum.data(), values.data(), values.size_bytes());
  } else {
    std::transform(sum.begin(), sum.end(), values.begin(), sum.begin(), std::plus<>());
  }
  // A delayed sum leaves with this step. It may be encoded as early as the next step begins, before
  // that step's gradient is added.
  if (bucketing_.fragment_delay > 0 && bucketing_.begins_sum(bucket, index + 1))
    std::swap(sum, to.left);
}

GradientInput Gradients::input(std::size_t bucket, std::size_t unit, const PlannedUnit& planned,
                               std::uint64_t index) const {
  GradientInput input = of_step(bucket, unit, planned, index);
  if (local_steps() == 1) return input;
  const Joined& from = joined_.at(bucket).at(unit);
  input.values = bucketing_.fragment_delay > 0 ? from.left : from.sum;
  input.squares = {};
  input.step = index / local_steps();
  return input;
}

void Gradients::set_sum(std::size_t bucket, std::size_t unit, std::span<const float> values) {
  joined(bucket, unit).sum.assign(values.begin(), values.end());
}

void Gradients::save_sums(std::span<const PlannedBucket> buckets, std::vector<std::byte>& state) {
  for (std::size_t b = 0; b < buckets.size(); ++b)
    for (std::size_t u = 0; u < buckets[b].units.size(); ++u)
      append_floats(joined(b, u).sum, state);
}

void Gradients::load_sums(std::span<const PlannedBucket> buckets, ByteReader& state) {
  for (std::size_t b = 0; b < buckets.size(); ++b)
    for (std::size_t u = 0; u < buckets[b].units.size(); ++u) {
      std::vector<float>& sum = joined(b, u).sum;
      sum.resize(buckets[b].units[u].info.elements);
      take_floats(state, sum);
    }
}

// Source of the trace: every rank and step has the gradient that was handed over last.
struct GivenGradients::Source : GradientSource {
  explicit Source(const GivenDescription& description) : step_times(description.times) {
    std::size_t elements = 0;
    for (const TraceTensor& tensor : description.tensors) {
      places.push_back({elements, tensor.elements});
      elements += tensor.elements;
    }
    values.resize(elements);
    if (description.squares) second_moments.resize(elements);
  }

  std::span<float> part(std::vector<float>& of, std::size_t tensor) const {
    const Place& place = places.at(tensor);
    return std::span(of).subspan(place.from, place.count);
  }

  std::span<const float> gradient(std::size_t, std::size_t, std::size_t tensor) override {
    return part(values, tensor);
  }
  std::span<const float> squares(std::size_t, std::size_t, std::size_t tensor) override {
    if (second_moments.empty()) return {};
    return part(second_moments, tensor);
  }
  const TraceStepTimes& times(std::size_t, std::size_t) const override { return step_times; }
  void release(std::size_t) override {}

  struct Place {
    std::size_t from, count;
  };
  std::vector<Place> places;  // by tensor
  std::vector<float> values, second_moments;
  TraceStepTimes step_times;
};

namespace {

GeneratedTrace generated_of(GivenDescription description, std::unique_ptr<GradientSource> source) {
  return {
      .text = "training:" + description.model,
      .identity = std::move(description.identity),
      .model = std::move(description.model),
      .tensors = std::move(description.tensors),
      .ranks = description.ranks,
      .steps = 1,
      .metadata = std::make_shared<const nlohmann::json>(nlohmann::json{{"origin", "training"}}),
      .source = std::move(source)};
}

}  // namespace

GivenGradients::GivenGradients(GivenDescription description)
    : source_(new Source(description)),
      trace_(generated_of(std::move(description), std::unique_ptr<GradientSource>(source_))) {}

bool GivenGradients::has_squares() const { return !source_->second_moments.empty(); }

std::span<float> GivenGradients::values(std::size_t tensor) {
  return source_->part(source_->values, tensor);
}

std::span<float> GivenGradients::values() { return source_->values; }

std::span<float> GivenGradients::squares(std::size_t tensor) {
  return source_->part(source_->second_moments, tensor);
}

std::span<float> GivenGradients::squares() { return source_->second_moments; }

}  // namespace thinpipe
