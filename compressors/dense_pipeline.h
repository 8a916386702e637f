// A compressor made of a memory and a quantiser.
#pragma once

#include <memory>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/memory/memory.h"
#include "compressors/pipeline_state.h"
#include "compressors/quantize/quantizer.h"

namespace thinpipe {

/// The parts of a dense method; both are required.
struct DenseParts {
  std::unique_ptr<Memory> memory;
  std::unique_ptr<Quantizer> quantizer;
  std::uint64_t period = 1;  ///< exchange every n-th step
  int threads = 1;           ///< of one encode or decode
  bool incremental = false;  ///< the memory is EF21's
  bool verbatim = false;     ///< no memory, and the quantiser copies: see Compressor
};

/// c = memory + gradient; quantise, which leaves c - decoded in the memory.
class DensePipeline : public Compressor {
 public:
  DensePipeline(StateIdentity identity, DenseParts parts);

  std::size_t elements() const override { return identity_.elements; }
  std::size_t max_encoded_size() const override { return max_encoded_size_; }
  EncodeReport encode(const GradientInput& gradient, std::span<std::byte> payload) override;
  void decode_add(std::span<const std::byte> payload, float factor,
                  std::span<float> out) const override;
  Distortion distortion(const GradientInput& gradient,
                        std::span<const std::byte> payload) const override;
  std::span<const float> residual() const override { return parts_.memory->remainder(); }
  std::uint64_t period() const override { return parts_.period; }
  bool incremental() const override { return parts_.incremental; }
  bool shares_scale() const override { return parts_.quantizer->shares_scale(); }
  bool verbatim() const override { return parts_.verbatim; }
  float prepare(const GradientInput& gradient) override;
  int rounds() const override { return parts_.quantizer->rounds(); }
  EncodeReport first_round(const GradientInput& gradient, std::span<std::byte> payload) override;
  std::size_t next_round(std::span<const float> mean, std::span<std::byte> payload) override;
  std::size_t own_payload(std::span<std::byte> payload) const override;
  void hold(const GradientInput& gradient) override;
  void reset() override;
  void save_state(std::vector<std::byte>& state) const override;
  void load_state(std::span<const std::byte> state) override;

 private:
  StateIdentity identity_;
  DenseParts parts_;
  std::size_t max_encoded_size_;
  std::span<const float> prepared_;  ///< c, between prepare() and encode()
  bool is_prepared_ = false;
  std::span<const float> in_rounds_;  ///< c, from first_round() to the last
  int round_ = 0;                     ///< whose floats are under way; 0: none are
  std::size_t floats_ = 0;            ///< of them
  std::vector<std::byte> own_;        ///< own payload, for a memory that mirrors it
};

}  // namespace thinpipe
