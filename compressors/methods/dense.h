// Declares a dense method: a quantiser with the shared memories around it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compressors/methods/common.h"
#include "compressors/quantize/bucketed.h"
#include "compressors/quantize/quantizer.h"

namespace thinpipe {

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

/// `bucket`, for quantisers that may have a scale for every so many elements; 0: one for all.
ParameterInfo bucket_parameter(const std::string& default_value);
/// BucketOptions of the parameter `bucket`, and the tensor's random stream.
BucketOptions bucket_of(const Parameters& parameters, const TensorInfo& tensor,
                        const CompressorSettings& settings);
BucketOptions whole_tensor(const TensorInfo& tensor, const CompressorSettings& settings);
/// Bits an element that `bits` for every bucket make.
double bits_per_bucket(const Parameters& parameters, double bits);

/// `exchange`, for methods whose payloads are summed or gathered; read by exchanged_as().
ParameterInfo exchange_parameter(const std::string& help);
Aggregation exchanged_as(const Parameters& parameters);

/// The method that puts the quantiser into a DensePipeline.
MethodInfo dense_method(const DenseMethod& method);

}  // namespace thinpipe
