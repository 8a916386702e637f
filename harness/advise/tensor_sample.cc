#include "harness/advise/tensor_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

// The copied gradients of one rank.
class CopiedGradients : public GradientSource {
 public:
  /// @param values  by step and tensor
  CopiedGradients(std::vector<std::vector<std::vector<float>>> values,
                  std::vector<std::vector<std::vector<float>>> squares)
      : values_(std::move(values)), squares_(std::move(squares)) {
    times_.ready.assign(values_.front().size(), 0.0);
  }
  std::span<const float> gradient(std::size_t, std::size_t step, std::size_t tensor) override {
    return values_.at(step).at(tensor);
  }
  std::span<const float> squares(std::size_t, std::size_t step, std::size_t tensor) override {
    return squares_.at(step).at(tensor);
  }
  const TraceStepTimes& times(std::size_t, std::size_t) const override { return times_; }
  void release(std::size_t) override {}

 private:
  std::vector<std::vector<std::vector<float>>> values_, squares_;
  TraceStepTimes times_;
};

double size_of(const TraceTensor& tensor) {
  return static_cast<double>(std::max<std::size_t>(1, tensor.elements));
}

// Looks at 4096 elements or a few more, evenly spaced.
bool mostly_zero(std::span<const float> values) {
  const std::size_t stride = std::max<std::size_t>(1, values.size() / 4096);
  std::size_t seen = 0, zeros = 0;
  for (std::size_t i = 0; i < values.size(); i += stride) {
    ++seen;
    zeros += values[i] == 0 ? 1 : 0;
  }
  return 2 * zeros >= seen;
}

// Generated gradients have no tensors of mostly zeros, and are not generated for this question. A
// trace of 16-bit values would widen and keep whole tensors for it.
TensorClass class_in(const Trace& trace, std::size_t tensor) {
  const TraceTensor& one = trace.tensors()[tensor];
  if (std::ranges::count_if(one.shape, [](std::int64_t length) { return length > 1; }) < 2)
    return TensorClass::kVector;
  const bool readable = !trace.generated() && trace.gradient_type() == GradientType::kF32;
  return readable && mostly_zero(trace.gradient(0, 0, tensor)) ? TensorClass::kEmbedding
                                                               : TensorClass::kMatrix;
}

// Returns one tensor of each sampled size of each class.
std::vector<std::size_t> choose_sample(const Trace& trace,
                                       const std::vector<TensorClass>& classes) {
  std::map<TensorClass, std::map<std::size_t, std::size_t>> by_size;  // size to its first tensor
  for (std::size_t i = 0; i < classes.size(); ++i)
    by_size[classes[i]].emplace(trace.tensors()[i].elements, i);
  std::vector<std::size_t> chosen;
  for (const auto& [tensor_class, sizes] : by_size) {
    std::vector<std::size_t> tensors;
    for (const auto& [size, tensor] : sizes) tensors.push_back(tensor);
    const std::size_t count = std::min(tensors.size(), TensorSample::kSizes);
    for (std::size_t i = 0; i < count; ++i)
      chosen.push_back(tensors[count == 1 ? 0 : i * (tensors.size() - 1) / (count - 1)]);
  }
  std::ranges::sort(chosen);
  return chosen;
}

// Returns the tensor, cut to its first rows where it is larger than kMaxElements.
TraceTensor cut_tensor(TraceTensor tensor) {
  if (tensor.elements <= TensorSample::kMaxElements) return tensor;
  const auto rows = static_cast<std::size_t>(tensor.shape.front());
  const std::size_t row = tensor.elements / rows;
  const std::size_t kept = std::max<std::size_t>(1, TensorSample::kMaxElements / row);
  if (kept * row <= TensorSample::kMaxElements) {
    tensor.shape.front() = static_cast<std::int64_t>(kept);
    tensor.elements = kept * row;
  } else {  // a single long row
    tensor.elements = TensorSample::kMaxElements;
    tensor.shape = {static_cast<std::int64_t>(tensor.elements)};
  }
  return tensor;
}

// Returns one tensor with the distribution of all tensors of a synthetic trace, whose own tensors
// may need more memory than the machine has. Returns nothing for any other trace.
std::optional<Trace> drawn_alike(const Trace& trace) {
  const std::string text = trace.folder().string();
  if (!is_synthetic(text)) return std::nullopt;
  SyntheticSpec spec = parse_synthetic_spec(text);
  if (spec.is_fit()) return std::nullopt;  // every tensor has its own distribution
  spec.model.clear();
  spec.elements = TensorSample::kMaxElements;
  spec.workers = 1;
  return make_synthetic(spec);
}

Trace copied_sample(const Trace& trace, const std::vector<std::size_t>& sampled, BadValues policy) {
  GeneratedTrace copy;
  copy.text = trace.folder().string();
  copy.identity = trace.identity();
  copy.model = trace.model();
  copy.ranks = 1;
  copy.steps = std::min(trace.steps(), TensorSample::kMaxSteps);
  copy.metadata = std::make_shared<const nlohmann::json>(trace.metadata());
  for (const std::size_t tensor : sampled)
    copy.tensors.push_back(cut_tensor(trace.tensors()[tensor]));
  std::vector<std::size_t> order(sampled.size());  // by the order in which gradients are ready
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::size_t i) { return copy.tensors[i].ready_order; });
  for (std::size_t i = 0; i < order.size(); ++i) copy.tensors[order[i]].ready_order = i;

  const std::optional<Trace> drawn = drawn_alike(trace);
  if (!drawn) {
    double bytes = 0;
    for (const std::size_t tensor : sampled)
      bytes += static_cast<double>(trace.tensors()[tensor].elements * sizeof(float));
    require_memory(trace, "the sampled tensors", bytes);
  }
  std::vector<std::vector<std::vector<float>>> values(copy.steps), squares(copy.steps);
  std::vector<float> repaired;
  for (std::size_t step = 0; step < copy.steps; ++step)
    for (std::size_t i = 0; i < sampled.size(); ++i) {
      const std::size_t elements = copy.tensors[i].elements;
      const std::span<const float> whole = finite_values(
          drawn ? drawn->gradient(0, step, 0) : trace.gradient(0, step, sampled[i]), policy,
          fmt::format("{}: rank 0, recorded step {}, tensor '{}'", copy.text, step,
                      copy.tensors[i].name),
          repaired);
      const std::span<const float> rows = whole.first(elements);
      values[step].emplace_back(rows.begin(), rows.end());
      const std::span<const float> moments =
          drawn ? std::span<const float>() : trace.squares(0, step, sampled[i]);
      const std::span<const float> kept = moments.first(std::min(moments.size(), elements));
      squares[step].emplace_back(kept.begin(), kept.end());
    }
  trace.release(0);
  copy.source = std::make_unique<CopiedGradients>(std::move(values), std::move(squares));
  return Trace(std::move(copy));
}

std::vector<TensorClass> classes_in(const Trace& trace) {
  std::vector<TensorClass> classes;
  for (std::size_t i = 0; i < trace.tensors().size(); ++i) classes.push_back(class_in(trace, i));
  return classes;
}

}  // namespace

const char* to_string(TensorClass tensor_class) {
  switch (tensor_class) {
    case TensorClass::kMatrix:
      return "matrices";
    case TensorClass::kEmbedding:
      return "embeddings";
    case TensorClass::kVector:
      return "vectors";
  }
  return "";
}

TensorSample::TensorSample(const Trace& trace, BadValues policy)
    : classes_(classes_in(trace)),
      sampled_(choose_sample(trace, classes_)),
      sample_(copied_sample(trace, sampled_, policy)) {
  for (std::size_t tensor = 0; tensor < classes_.size(); ++tensor) {
    const double elements = size_of(trace.tensors()[tensor]);
    double nearest = 0;
    Likeness like{.sampled = sampled_.size()};
    for (std::size_t i = 0; i < sampled_.size(); ++i) {
      if (classes_[sampled_[i]] != classes_[tensor]) continue;
      const double distance = std::abs(std::log(elements / size_of(trace.tensors()[sampled_[i]])));
      if (like.sampled < sampled_.size() && distance >= nearest) continue;
      nearest = distance;
      like = {i, elements / size_of(sample_.tensors()[i])};
    }
    likenesses_.push_back(like);
  }
}

std::vector<std::size_t> TensorSample::tensors_of(TensorClass tensor_class) const {
  std::vector<std::size_t> tensors;
  for (std::size_t i = 0; i < classes_.size(); ++i)
    if (classes_[i] == tensor_class) tensors.push_back(i);
  return tensors;
}

}  // namespace thinpipe
