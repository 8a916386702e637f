#include "harness/bench/validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include "compressors/simd.h"

namespace thinpipe {
namespace {

constexpr std::size_t kGuard = 64;  // bytes
constexpr std::byte kGuardByte{0xa5};
constexpr int kPlainSteps = 3;  // the memory of the first is in the second, and so on

struct Step {
  std::vector<std::byte> payload;
  EncodeReport report;
  Distortion distortion;
  std::vector<float> decoded;
};

std::vector<Step> first_steps(const CompressorFactory& make, const TensorInfo& tensor,
                              const CompressorSettings& settings, std::span<const float> gradient,
                              std::span<const float> squares) {
  const std::unique_ptr<Compressor> compressor = make(tensor, settings);
  GuardedPayload room(compressor->max_encoded_size());
  std::vector<Step> steps(kPlainSteps);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const GradientInput input{.values = gradient, .squares = squares, .step = i};
    Step& step = steps[i];
    step.report = compressor->encode(input, room.room());
    const std::span<const std::byte> payload = room.payload(step.report.encoded_bytes);
    step.payload.assign(payload.begin(), payload.end());
    step.distortion = compressor->distortion(input, step.payload);
    step.decoded.assign(tensor.elements, 0.0F);
    compressor->decode_add(step.payload, 1.0F, step.decoded);
  }
  return steps;
}

// Chooses a SIMD target for as long as it lives.
class WithTarget {
 public:
  explicit WithTarget(const std::string& name) : before_(simd_target()) { set_simd_target(name); }
  ~WithTarget() { set_simd_target(before_); }
  WithTarget(const WithTarget&) = delete;
  WithTarget& operator=(const WithTarget&) = delete;

 private:
  std::string before_;
};

void check_error(const Step& step, std::span<const float> gradient) {
  double norm = 0, error = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const auto g = static_cast<double>(gradient[i]);
    const double off = static_cast<double>(step.decoded[i]) - g;
    norm += g * g;
    error += off * off;
  }
  const double input = step.distortion.input_squares;
  // A memory that scales or clips compresses something else than the gradient; then it alone
  // knows. Sums may be of floats: 1e-5 is far above their rounding and far below any mistake.
  constexpr double kRounding = 1e-5;
  if (norm == 0 || std::fabs(input - norm) > kRounding * norm) return;
  const double found = step.distortion.error_squares;
  if (std::fabs(found - error) > kRounding * std::max(norm, error)) {
    throw ValidationError(fmt::format(
        "reports an error of {:.6g} of the input's norm; what is decoded is off by {:.6g}",
        std::sqrt(found / input), std::sqrt(error / norm)));
  }
}

}  // namespace

GuardedPayload::GuardedPayload(std::size_t size) : bytes_(size + kGuard), size_(size) {
  std::fill_n(bytes_.data() + size, kGuard, kGuardByte);
}

std::span<const std::byte> GuardedPayload::payload(std::size_t encoded_bytes) const {
  if (encoded_bytes > size_) {
    throw ValidationError(
        fmt::format("a payload of {} bytes; at most {} were announced", encoded_bytes, size_));
  }
  for (const std::byte byte : bytes_.first(size_ + kGuard).subspan(size_)) {
    if (byte != kGuardByte) throw ValidationError("writes past the end of its payload");
  }
  return bytes_.first(encoded_bytes);
}

void validate_result(const Compressor& compressor, const EncodeReport& report,
                     std::span<const float> decoded, std::span<const float> elsewhere,
                     bool spreads) {
  if (report.selected_elements > compressor.elements()) {
    throw ValidationError(fmt::format("reports {} selected elements of {}",
                                      report.selected_elements, compressor.elements()));
  }
  std::size_t sent = 0;
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(decoded[i]) != std::bit_cast<std::uint32_t>(elsewhere[i])) {
      throw ValidationError(fmt::format(
          "element {} is decoded to {} here and to {} by another compressor of the same "
          "spec",
          i, decoded[i], elsewhere[i]));
    }
    if (!std::isfinite(decoded[i])) {
      throw ValidationError(fmt::format("element {} is decoded to {}", i, decoded[i]));
    }
    sent += decoded[i] != 0.0F ? 1 : 0;
  }
  if (!spreads && sent > report.selected_elements) {
    throw ValidationError(
        fmt::format("reports {} selected elements; {} are decoded to other than 0",
                    report.selected_elements, sent));
  }
}

void validate_against_plain(const CompressorFactory& make, const TensorInfo& tensor,
                            const CompressorSettings& settings, std::span<const float> gradient,
                            std::span<const float> squares) {
  const std::vector<Step> fast = first_steps(make, tensor, settings, gradient, squares);
  CompressorSettings plain_settings = settings;
  plain_settings.threads = 1;
  const std::string plain_target = simd_targets().back();
  std::vector<Step> plain;
  {
    const WithTarget with(plain_target);
    plain = first_steps(make, tensor, plain_settings, gradient, squares);
  }
  for (std::size_t i = 0; i < fast.size(); ++i) {
    if (fast[i].payload == plain[i].payload) continue;
    const auto at = std::mismatch(fast[i].payload.begin(), fast[i].payload.end(),
                                  plain[i].payload.begin(), plain[i].payload.end());
    throw ValidationError(fmt::format(
        "the payload of step {} ({} bytes, {} threads, {}) differs from {}'s on one thread ({} "
        "bytes), first in byte {}",
        i, fast[i].payload.size(), settings.threads, simd_target(), plain_target,
        plain[i].payload.size(), at.first - fast[i].payload.begin()));
  }
  check_error(fast.front(), gradient);
}

}  // namespace thinpipe
