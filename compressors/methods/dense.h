// Dense methods: a quantiser combined with the shared memories.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/memory/memory.h"
#include "compressors/methods/common.h"
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

/// Makes a compressor of a memory and a quantiser: c = memory + gradient; the quantiser encodes c
/// and leaves c - decoded in the memory. Adds SharedScale or MultiRound where the quantiser is a
/// ScaleOf or QuantizerRounds.
std::unique_ptr<Compressor> make_dense_compressor(StateIdentity identity, DenseParts parts);

/// Makes a dense method's quantiser for one tensor.
using MakeQuantizer = std::function<std::unique_ptr<Quantizer>(const Parameters&, const TensorInfo&,
                                                               const CompressorSettings&)>;

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
  MakeQuantizer quantizer;
  /// Expected payload bits per element of a large tensor.
  std::function<double(const Parameters&)> expected_bits;
  std::function<EncodeTraffic(const Parameters&)> traffic = {};  ///< without the memory's
};

/// Returns the parameter `bucket` for quantisers that can have several scales: the number of
/// elements that share one scale. 0 means one scale for all elements.
ParameterInfo bucket_parameter(const std::string& default_value);
/// Returns the BucketOptions of the tensor's random stream and of the parameter `bucket`. Without
/// this parameter, the whole tensor is one bucket.
BucketOptions bucket_of(const Parameters& parameters, const TensorInfo& tensor,
                        const CompressorSettings& settings);
/// Returns the maker of a quantiser that encodes a tensor bucket by bucket, with this codec and
/// bucket_of().
MakeQuantizer in_buckets(std::function<std::unique_ptr<BucketCodec>(const Parameters&)> codec);
/// Returns the bits per element that `bits` for every bucket add; 0 for a single bucket.
double bits_per_bucket(const Parameters& parameters, double bits);

/// Returns the traffic of a quantiser that needs its scale before it encodes the first element.
/// Without buckets the scale is known after a whole read. A bucket is still in the cache when it is
/// read again.
EncodeTraffic traffic_of_scales(const Parameters& parameters);

/// Returns `exchange`, for methods whose payloads are all-reduced or all-gathered; read by
/// exchanged_as().
ParameterInfo exchange_parameter(const std::string& help);
Aggregation exchanged_as(const Parameters& parameters);

/// Returns the method whose compressors have this quantiser (make_dense_compressor).
MethodInfo dense_method(const DenseMethod& method);

}  // namespace thinpipe
