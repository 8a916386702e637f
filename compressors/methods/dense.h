// Dense methods: a quantiser combined with the shared memories.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/memory/memory.h"
#include "compressors/methods/common.h"
#include "compressors/quantize/bucketed.h"
#include "compressors/quantize/quantizer.h"
#include "compressors/wire/states.h"

namespace thinpipe {

/// The parts of a dense method; memory and quantiser are required.
struct DenseParts {
  std::unique_ptr<Memory> memory;
  std::unique_ptr<Quantizer> quantizer;
  std::uint64_t period = 1;  ///< exchange in every n-th step
  int threads = 1;           ///< of one encode or decode
  bool incremental = false;  ///< the memory is EF21's
  bool verbatim = false;     ///< no memory, and the quantiser copies: see Compressor
};

/// A compressor made of a memory and a quantiser: c = memory + gradient; the quantiser encodes c
/// and leaves c - decoded in the memory. make_dense_compressor() adds SharedScale or MultiRound
/// where the quantiser is a ScaleOf or QuantizerRounds.
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
  bool verbatim() const override { return parts_.verbatim; }
  void hold(const GradientInput& gradient) override;
  void reset() override;
  void save_state(std::vector<std::byte>& state) const override;
  void load_state(std::span<const std::byte> state) override;

 protected:
  StateIdentity identity_;
  DenseParts parts_;
  std::size_t max_encoded_size_;
  std::optional<std::span<const float>> prepared_;  ///< c, where it was computed before encode()
};

/// Makes a DensePipeline with what its quantiser can do.
std::unique_ptr<Compressor> make_dense_compressor(StateIdentity identity, DenseParts parts);

/// The declaration of a dense method.
struct DenseMethod {
  std::string name;
  std::string summary;
  std::string source;
  Aggregation aggregation = Aggregation::kAllGather;
  std::function<Aggregation(const Parameters&)> aggregation_with = {};  ///< where parameters decide
  std::function<Summation(const Parameters&)> summation = {};           ///< empty: 32-bit floats
  bool needs_whole = false;                                             ///< MethodInfo
  std::string memory = "none";                 ///< default of the shared parameter
  std::string delay = "1";                     ///< default of the shared parameter
  std::string decay = "1";                     ///< of the residual
  std::vector<ParameterInfo> parameters = {};  ///< its own
  std::function<std::unique_ptr<Quantizer>(const Parameters&, const TensorInfo&,
                                           const CompressorSettings&)>
      quantizer;
  /// Expected payload bits per element of a large tensor.
  std::function<double(const Parameters&)> expected_bits;
};

/// Returns the parameter `bucket` for quantisers that can have several scales: the number of
/// elements that share one scale. 0 means one scale for all elements.
ParameterInfo bucket_parameter(const std::string& default_value);
/// Returns the BucketOptions of the parameter `bucket` and of the tensor's random stream.
BucketOptions bucket_of(const Parameters& parameters, const TensorInfo& tensor,
                        const CompressorSettings& settings);
/// Returns the BucketOptions of a single bucket.
BucketOptions whole_tensor(const TensorInfo& tensor, const CompressorSettings& settings);
/// Returns the bits per element that `bits` for every bucket add; 0 for a single bucket.
double bits_per_bucket(const Parameters& parameters, double bits);

/// Returns `exchange`, for methods whose payloads are all-reduced or all-gathered; read by
/// exchanged_as().
ParameterInfo exchange_parameter(const std::string& help);
Aggregation exchanged_as(const Parameters& parameters);

/// Returns the method whose compressors have this quantiser (make_dense_compressor).
MethodInfo dense_method(const DenseMethod& method);

}  // namespace thinpipe
