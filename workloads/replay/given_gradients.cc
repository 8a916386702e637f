#include "workloads/replay/given_gradients.h"

#include <memory>
#include <utility>

#include "workloads/trace/generated.h"

namespace thinpipe {

/// What a trace asks; every rank and step is the present one.
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
  GeneratedTrace trace;
  trace.text = "training:" + description.model;
  trace.identity = std::move(description.identity);
  trace.model = std::move(description.model);
  trace.tensors = std::move(description.tensors);
  trace.ranks = description.ranks;
  trace.steps = 1;
  trace.metadata = {{"origin", "training"}};
  trace.source = std::move(source);
  return trace;
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
