#include "tests/harness/bench/wrong_compressor.h"

#include <limits>
#include <stdexcept>

#include "compressors/registry.h"
#include "compressors/simd.h"

namespace thinpipe::testing {
namespace {

constexpr std::size_t kPlainElements = 1 << 20;  // that validate_start() looks at, at most

// Wraps topk without memory. Its last byte of payload is extra, and is 0 when all is well.
class Wrong : public Compressor {
 public:
  Wrong(std::string how, const TensorInfo& tensor, const CompressorSettings& settings)
      : how_(std::move(how)),
        threads_(settings.threads),
        inner_(make_compressor(parse_spec("topk:ratio=0.01,memory=none"), tensor, settings)) {}

  std::size_t elements() const override { return inner_->elements(); }
  std::size_t max_encoded_size() const override { return inner_->max_encoded_size() + 1; }

  EncodeReport encode(const GradientInput& gradient, std::span<std::byte> payload) override {
    if (how_ == "throws" && ++steps_ > 5) throw std::runtime_error("the sixth step");
    EncodeReport report = inner_->encode(gradient, payload.first(payload.size() - 1));
    mine_ = true;
    std::byte extra{0};
    if (how_ == "target" && simd_target() == simd_targets().front()) extra = std::byte{1};
    if (how_ == "threads") extra = static_cast<std::byte>(threads_);
    payload[report.encoded_bytes++] = extra;
    if (how_ == "count") --report.selected_elements;
    if (how_ == "larger") report.encoded_bytes = max_encoded_size() + 1;
    if (how_ == "past") payload.data()[max_encoded_size()] = std::byte{0};
    return report;
  }
  void decode_add(std::span<const std::byte> payload, float factor,
                  std::span<float> out) const override {
    inner_->decode_add(payload.first(payload.size() - 1), factor, out);
    if (how_ == "private" && !mine_) out[0] += 1;
    // Every compressor of the spec is wrong alike, where it is fast.
    const bool fast = simd_target() == simd_targets().front();
    if (how_ == "decode-target" && fast) out[elements() - 1] += 1;
    if (how_ == "decode-threads" && threads_ > 1) out[0] += 1;
    if (how_ == "decode-later" && fast && elements() > kPlainElements) out[elements() - 1] += 1;
    if (how_ == "nan") out[elements() / 2] = std::numeric_limits<float>::quiet_NaN();
  }
  Distortion distortion(const GradientInput& gradient,
                        std::span<const std::byte> payload) const override {
    Distortion distortion = inner_->distortion(gradient, payload.first(payload.size() - 1));
    if (how_ == "error") distortion.error_squares /= 4;
    return distortion;
  }
  void reset() override {}
  void save_state(std::vector<std::byte>& state) const override { inner_->save_state(state); }
  void load_state(std::span<const std::byte> state) override { inner_->load_state(state); }

 private:
  std::string how_;
  int threads_;
  std::unique_ptr<Compressor> inner_;
  bool mine_ = false;
  int steps_ = 0;
};

MethodInfo wrong_method() {
  MethodInfo method;
  method.name = "test-wrong";
  method.summary = "wrong in one way";
  method.source = "a test";
  ParameterInfo how;
  how.name = "how";
  how.type = ParameterInfo::Type::kChoice;
  how.default_value = "nothing";
  how.help = "what is wrong";
  how.choices = {"nothing",       "count",          "private",     "larger", "past",
                 "nan",           "target",         "threads",     "error",  "throws",
                 "decode-target", "decode-threads", "decode-later"};
  method.parameters = {how};
  method.expected_bits = [](const Parameters&) { return 0.64; };
  method.make = [](const Parameters& parameters, const TensorInfo& tensor,
                   const CompressorSettings& settings) {
    return make_wrong_compressor(parameters.choice("how"), tensor, settings);
  };
  return method;
}

const Registration kWrong{wrong_method()};

}  // namespace

std::unique_ptr<Compressor> make_wrong_compressor(const std::string& how, const TensorInfo& tensor,
                                                  const CompressorSettings& settings) {
  return std::make_unique<Wrong>(how, tensor, settings);
}

}  // namespace thinpipe::testing
