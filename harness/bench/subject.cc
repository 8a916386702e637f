#include "harness/bench/subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "compressors/simd.h"
#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

constexpr std::size_t kGuard = 64;  // bytes
constexpr std::byte kGuardByte{0xa5};
// Greatest number of elements for the comparison with the plainest kernels, which are slow.
constexpr std::size_t kPlainElements = 1 << 20;

std::string plain_target() { return simd_targets().back(); }

// Sets a SIMD target, and restores the previous one in the destructor.
class WithTarget {
 public:
  explicit WithTarget(const std::string& name) : before_(simd_target()) { set_simd_target(name); }
  ~WithTarget() { set_simd_target(before_); }
  WithTarget(const WithTarget&) = delete;
  WithTarget& operator=(const WithTarget&) = delete;
  const std::string& before() const { return before_; }

 private:
  std::string before_;
};

void check_error(const Distortion& reported, std::span<const float> decoded,
                 std::span<const float> gradient) {
  double norm = 0, error = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const auto g = static_cast<double>(gradient[i]);
    const double off = static_cast<double>(decoded[i]) - g;
    norm += g * g;
    error += off * off;
  }
  const double input = reported.input_squares;
  // If a compressor's memory scales or clips the gradient, the compressor encodes values that only
  // the memory has. The error is then not checked. The reported sums may be calculated with floats:
  // 1e-5 is far above their rounding and far below any mistake.
  constexpr double kRounding = 1e-5;
  if (norm == 0 || std::fabs(input - norm) > kRounding * norm) return;
  const double found = reported.error_squares;
  if (std::fabs(found - error) > kRounding * std::max(norm, error))
    throw ValidationError(fmt::format(
        "reports an error of {:.6g} of the input's norm, but the decoded values are off by {:.6g}",
        std::sqrt(found / input), std::sqrt(error / norm)));
}

// A compressor with a buffer for its payload.
struct Encoder {
  explicit Encoder(std::unique_ptr<Compressor> made)
      : compressor(std::move(made)), room(compressor->max_encoded_size()) {}
  std::span<const std::byte> encode(const GradientInput& input) {
    return room.payload(compressor->encode(input, room.room()).encoded_bytes);
  }
  void decode(std::span<const std::byte> payload, std::span<float> out) const {
    std::fill(out.begin(), out.end(), 0.0F);
    compressor->decode_add(payload, 1.0F, out);
  }

  std::unique_ptr<Compressor> compressor;
  GuardedPayload room;
};

// Returns the first element whose bits differ; the size if there is none.
std::size_t first_difference(std::span<const float> a, std::span<const float> b) {
  const auto same = [](float x, float y) {
    return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
  };
  return static_cast<std::size_t>(
      std::mismatch(a.begin(), a.end(), b.begin(), b.end(), same).first - a.begin());
}

// Checks the report of one encode against its decoded payload. k-hat is the reported number of
// selected elements.
// @param decoded  values decoded by the compressor that encoded them
// @param elsewhere  values decoded by decode_plainly()
// @param spreads  the method sends coefficients of a transform: one sent element may affect many
// decoded ones, so more than k-hat may be nonzero
// @throws ValidationError unless k-hat <= d, at most k-hat elements are not zero, both decoded
// arrays have the same bits, and all values are finite.
void validate_result(const Compressor& compressor, const EncodeReport& report,
                     std::span<const float> decoded, std::span<const float> elsewhere,
                     bool spreads) {
  if (report.selected_elements > compressor.elements())
    throw ValidationError(fmt::format("reports {} selected elements of {}",
                                      report.selected_elements, compressor.elements()));
  const std::size_t other = first_difference(decoded, elsewhere);
  if (other < decoded.size())
    throw ValidationError(
        fmt::format("element {} is decoded to {}, but to {} by another compressor of the same spec "
                    "({}, one thread)",
                    other, decoded[other], elsewhere[other], plain_target()));
  std::size_t sent = 0;
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    if (!std::isfinite(decoded[i]))
      throw ValidationError(fmt::format("element {} is decoded to {}", i, decoded[i]));
    sent += decoded[i] != 0.0F ? 1 : 0;
  }
  if (!spreads && sent > report.selected_elements)
    throw ValidationError(
        fmt::format("reports {} selected elements, but {} are decoded to values other than 0",
                    report.selected_elements, sent));
}

// Decodes the payload to `out` with a fresh compressor, by the plainest instruction set on one
// thread.
void decode_plainly(const CompressorFactory& make, const TensorInfo& tensor,
                    CompressorSettings settings, std::span<const std::byte> payload,
                    std::span<float> out) {
  settings.threads = 1;
  const WithTarget with(plain_target());
  std::fill(out.begin(), out.end(), 0.0F);
  make(tensor, settings)->decode_add(payload, 1.0F, out);
}

// Checks the first steps of a compressor on a small tensor. The current instruction set and number
// of threads must give the same payload, byte for byte, as the plainest instruction set on one
// thread. Both must decode the payload to the same bits. If the compressor's memory did not change
// the gradient, the reported error must be the distance of the decoded values from the gradient.
// @param gradient  tensor.elements values; `squares` has the same number of values or none
// @throws ValidationError if a check fails.
void validate_against_plain(const CompressorFactory& make, const TensorInfo& tensor,
                            const CompressorSettings& settings, std::span<const float> gradient,
                            std::span<const float> squares) {
  CompressorSettings plain_settings = settings;
  plain_settings.threads = 1;
  Encoder fast(make(tensor, settings)), plain(make(tensor, plain_settings));
  std::vector<float> decoded(tensor.elements), plainly(tensor.elements);
  for (std::size_t step = 0; step < kPlainSteps; ++step) {
    const GradientInput input{
        .values = gradient, .squares = squares, .step = step, .epoch = kAfterWarmUp};
    const std::span<const std::byte> payload = fast.encode(input);
    fast.decode(payload, decoded);
    const Distortion reported =
        step == 0 ? fast.compressor->distortion(input, payload) : Distortion{};
    {
      const WithTarget with(plain_target());
      const std::span<const std::byte> expected = plain.encode(input);
      const auto at =
          std::mismatch(payload.begin(), payload.end(), expected.begin(), expected.end()).first;
      if (at != payload.end() || payload.size() != expected.size())
        throw ValidationError(
            fmt::format("the payload of step {} ({} bytes, {} threads, {}) differs from {}'s on "
                        "one thread ({} bytes), first in byte {}",
                        step, payload.size(), settings.threads, with.before(), plain_target(),
                        expected.size(), at - payload.begin()));
      plain.decode(expected, plainly);
      const std::size_t other = first_difference(decoded, plainly);
      if (other < decoded.size())
        throw ValidationError(fmt::format(
            "element {} of step {} is decoded to {} ({} threads, {}), but to {} on one thread ({})",
            other, step, decoded[other], settings.threads, with.before(), plainly[other],
            plain_target()));
    }
    if (step == 0) check_error(reported, decoded, gradient);
  }
}

}  // namespace

GuardedPayload::GuardedPayload(std::size_t size) : bytes_(size + kGuard), size_(size) {
  std::fill_n(bytes_.data() + size, kGuard, kGuardByte);
}

std::span<const std::byte> GuardedPayload::payload(std::size_t encoded_bytes) const {
  if (encoded_bytes > size_)
    throw ValidationError(fmt::format("a payload of {} bytes exceeds the announced maximum of {}",
                                      encoded_bytes, size_));
  for (const std::byte byte : bytes_.first(size_ + kGuard).subspan(size_)) {
    if (byte != kGuardByte) throw ValidationError("writes past the end of its payload");
  }
  return bytes_.first(encoded_bytes);
}

void QualityMean::add(const EncodeReport& report, std::size_t elements,
                      const Distortion& distortion) {
  ++steps_;
  sum_.selected_share += report.target_elements == 0
                             ? std::numeric_limits<double>::quiet_NaN()
                             : static_cast<double>(report.selected_elements) /
                                   static_cast<double>(report.target_elements);
  sum_.bits_per_element +=
      8 * static_cast<double>(report.encoded_bytes) / static_cast<double>(elements);
  sum_.passes += report.passes;
  sum_.relative_error += distortion.relative();
}

Quality QualityMean::mean() const {
  return {sum_.selected_share / steps_, sum_.bits_per_element / steps_,
          sum_.relative_error / steps_, sum_.passes / steps_};
}

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
          .step = step_ * compressor_->period(),
          .epoch = kAfterWarmUp};
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
  QualityMean quality;
  for (int i = 0; i < steps; ++i) {
    encode();
    const std::span<const std::byte> payload = payload_.payload(last_.encoded_bytes);
    if (i < settled) continue;
    --step_;  // distortion() needs the gradient that was encoded
    quality.add(last_, inputs_->elements(), compressor_->distortion(input(), payload));
    ++step_;
  }
  const std::span<const std::byte> payload = payload_.payload(last_.encoded_bytes);
  kept_.assign(payload.begin(), payload.end());
  return quality.mean();
}

void Subject::validate_last() const {
  begin();
  const std::span<const std::byte> payload = payload_.payload(last_.encoded_bytes);
  const std::span<float> decoded = inputs_->spare_output(0), plainly = inputs_->spare_output(1);
  std::fill(decoded.begin(), decoded.end(), 0.0F);
  compressor_->decode_add(payload, 1.0F, decoded);
  decode_plainly(options_.make, inputs_->tensor(), options_.settings, payload, plainly);
  validate_result(*compressor_, last_, decoded, plainly, options_.spreads);
}

void Subject::validate_start() const {
  begin();
  TensorInfo tensor = inputs_->tensor();
  if (tensor.elements > kPlainElements) {
    tensor.elements = kPlainElements;
    tensor.shape = nearly_square(kPlainElements);
  }
  const auto first = [&](std::span<const float> whole) {
    return whole.first(std::min(whole.size(), tensor.elements));
  };
  validate_against_plain(options_.make, tensor, options_.settings, first(inputs_->gradient(0)),
                         first(inputs_->squares(0)));
}

}  // namespace thinpipe
