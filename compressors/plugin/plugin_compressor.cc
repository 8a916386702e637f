// Memory, plug-in and remainder: as DensePipeline, but for a codec that is not trusted.
#include "compressors/plugin/plugin_compressor.h"

#include <algorithm>
#include <utility>

#include "compressors/kernels/sums.h"
#include "compressors/memory/memory.h"
#include "compressors/methods/common.h"
#include "compressors/plugin/plugin_instance.h"

namespace thinpipe {
namespace {

// Passes that leave c - decoded in a memory: clear, decode, subtract, find non-finite values.
constexpr int kKeepPasses = 4;

/// Sets c to c - decoded. Non-finite results become 0, so that an infinity does not stay.
void subtract(std::span<const float> decoded, std::span<float> c) {
  add_scaled(decoded, -1.0F, c);
  for (std::size_t at = first_non_finite(c); at != kAllFinite; at = first_non_finite(c)) {
    c[at] = 0.0F;
    c = c.subspan(at + 1);
  }
}

struct PluginParts {
  std::unique_ptr<Memory> memory;
  std::unique_ptr<PluginInstance> instance;
  std::uint64_t period = 1;  ///< exchange in every n-th step
  bool incremental = false;  ///< the memory is EF21's
};

class PluginCompressor : public Compressor {
 public:
  PluginCompressor(StateIdentity identity, PluginParts parts)
      : identity_(std::move(identity)), parts_(std::move(parts)) {}

  std::size_t elements() const override { return identity_.elements; }
  std::size_t max_encoded_size() const override { return parts_.instance->max_encoded_size(); }

  EncodeReport encode(const GradientInput& gradient, std::span<std::byte> payload) override {
    check_gradient(gradient);
    check_room(identity_, payload.size(), max_encoded_size());
    const auto c = parts_.memory->add(gradient.values, 1.0F);
    EncodeReport report;
    const auto bytes = parts_.instance->encode(c, gradient, report);
    std::copy(bytes.begin(), bytes.end(), payload.begin());
    report.passes += parts_.memory->passes() + keep(bytes);
    return report;
  }

  void decode_add(std::span<const std::byte> payload, float factor,
                  std::span<float> out) const override {
    check_size(identity_, "the output", out.size());
    parts_.instance->decode_add(payload, factor, out);
  }

  // A plug-in with its own memory does not report its c, so the gradient takes its place.
  Distortion distortion(const GradientInput& gradient,
                        std::span<const std::byte> payload) const override {
    check_gradient(gradient);
    return parts_.memory->distortion(gradient.values, parts_.instance->decode_own(payload));
  }

  std::uint64_t period() const override { return parts_.period; }
  bool incremental() const override { return parts_.incremental; }
  void hold(const GradientInput& gradient) override {
    check_gradient(gradient);
    parts_.memory->hold(gradient.values, 1.0F);
  }

  void reset() override {
    parts_.memory->reset();
    parts_.instance->reset();
  }
  void save_state(std::vector<std::byte>& state) const override {
    ByteWriter out = begin_state(identity_, state_size(), state);
    parts_.memory->save(out);
    parts_.instance->save(out.free());
  }
  void load_state(std::span<const std::byte> state) override {
    ByteReader in = open_state(identity_, state_size(), state);
    parts_.memory->load(in);
    parts_.instance->load(in.rest());
  }

 private:
  /// Updates the memory with the values that receivers decode. Returns the number of passes.
  int keep(std::span<const std::byte> payload) {
    const auto remainder = parts_.memory->remainder();
    const auto mirror = parts_.memory->mirror();
    const bool kept = !remainder.empty() || !mirror.empty();
    // Without a memory the decoded values are not needed. The first payload is decoded
    // nevertheless, to detect a decoder that writes out of bounds before it gets the caller's
    // array.
    if (!kept && tried_) return 0;
    tried_ = true;
    const auto decoded = parts_.instance->decode_own(payload);
    if (!remainder.empty()) subtract(decoded, remainder);
    if (!mirror.empty()) add_scaled(decoded, 1.0F, mirror);
    return kept ? kKeepPasses : 0;
  }

  std::size_t state_size() const {
    return parts_.memory->state_size() + parts_.instance->state_size();
  }
  void check_gradient(const GradientInput& gradient) const {
    check_size(identity_, "the gradient", gradient.values.size());
    if (!gradient.squares.empty())
      check_size(identity_, "the second moments", gradient.squares.size());
  }

  StateIdentity identity_;
  PluginParts parts_;
  bool tried_ = false;  ///< one of its payloads was decoded into a guarded buffer
};

}  // namespace

std::unique_ptr<Compressor> make_plugin_compressor(std::shared_ptr<const PluginMethod> method,
                                                   const Parameters& parameters,
                                                   const TensorInfo& tensor,
                                                   const CompressorSettings& settings) {
  const bool wrapped = method->functions.memory != nullptr;
  PluginParts parts;
  parts.memory =
      wrapped ? make_memory(parameters, tensor.elements) : make_no_memory(tensor.elements, false);
  parts.period = wrapped ? period_of(parameters) : 1;
  parts.incremental = wrapped && parameters.choice("memory") == "ef21";
  parts.instance =
      std::make_unique<PluginInstance>(std::move(method), parameters, tensor, settings);
  return std::make_unique<PluginCompressor>(identity_of(parameters, tensor), std::move(parts));
}

}  // namespace thinpipe
