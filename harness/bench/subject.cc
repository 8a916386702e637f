#include "harness/bench/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "compressors/simd.h"
#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

// The plainest kernels are slow: their comparison uses so many elements of a large tensor at most.
constexpr std::size_t kPlainElements = 1 << 20;

}  // namespace

std::map<std::string, double> quality_counters(const Quality& quality) {
  std::map<std::string, double> counters{{"bits_per_element", quality.bits_per_element},
                                         {"relative_error", quality.relative_error},
                                         {"passes", quality.passes}};
  if (std::isfinite(quality.selected_share)) counters["selected_share"] = quality.selected_share;
  return counters;
}

Subject::Subject(SubjectOptions options, const Inputs& inputs)
    : options_(std::move(options)),
      inputs_(&inputs),
      compressor_(options_.make(inputs.tensor(), options_.settings)),
      payload_(compressor_->max_encoded_size()) {}

GradientInput Subject::input() const {
  return {.values = inputs_->gradient(step_),
          .squares = inputs_->squares(step_),
          .step = step_ * compressor_->period()};
}

void Subject::begin() const { set_simd_target(options_.simd); }

void Subject::encode() {
  last_ = compressor_->encode(input(), payload_.room());
  ++step_;
}

void Subject::decode() {
  compressor_->decode_add(kept_, 1.0F, inputs_->output(decoded_));
  ++decoded_;
}

Quality Subject::warm_up(int steps) {
  begin();
  const int settled = steps / 2;
  Quality sum;
  for (int i = 0; i < steps; ++i) {
    encode();
    const std::span<const std::byte> payload = payload_.payload(last_.encoded_bytes);
    if (i < settled) continue;
    sum.selected_share += last_.target_elements == 0
                              ? std::numeric_limits<double>::quiet_NaN()
                              : static_cast<double>(last_.selected_elements) /
                                    static_cast<double>(last_.target_elements);
    sum.bits_per_element +=
        8 * static_cast<double>(last_.encoded_bytes) / static_cast<double>(inputs_->elements());
    sum.passes += last_.passes;
    --step_;  // distortion() wants the gradient that was encoded
    sum.relative_error += compressor_->distortion(input(), payload).relative();
    ++step_;
  }
  const std::span<const std::byte> payload = payload_.payload(last_.encoded_bytes);
  kept_.assign(payload.begin(), payload.end());
  const double counted = steps - settled;
  return {sum.selected_share / counted, sum.bits_per_element / counted,
          sum.relative_error / counted, sum.passes / counted};
}

void Subject::validate_last() const {
  begin();
  const std::span<const std::byte> payload = payload_.payload(last_.encoded_bytes);
  const std::span<float> here = inputs_->spare_output(0), elsewhere = inputs_->spare_output(1);
  std::fill(here.begin(), here.end(), 0.0F);
  compressor_->decode_add(payload, 1.0F, here);
  decode_plainly(options_.make, inputs_->tensor(), options_.settings, payload, elsewhere);
  validate_result(*compressor_, last_, here, elsewhere, options_.spreads);
}

void Subject::validate_start() const {
  begin();
  TensorInfo tensor = inputs_->tensor();
  if (tensor.elements > kPlainElements) {
    tensor.elements = kPlainElements;
    tensor.shape = nearly_square(kPlainElements);
  }
  const auto part = [&](std::span<const float> whole) {
    return whole.first(std::min(whole.size(), tensor.elements));
  };
  validate_against_plain(options_.make, tensor, options_.settings, part(inputs_->gradient(0)),
                         part(inputs_->squares(0)));
}

}  // namespace thinpipe
