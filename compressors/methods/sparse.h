// Declares a sparse method: a selector combined with the shared memories and encodings.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compressors/encode/position_codec.h"
#include "compressors/encode/value_codec.h"
#include "compressors/methods/common.h"
#include "compressors/registry.h"
#include "compressors/select/selector.h"

namespace thinpipe {

/// Parts of one compressor, for a method with a selector or codecs of its own.
struct OwnParts {
  std::unique_ptr<Selector> selector;
  std::unique_ptr<ValueCodec> values = nullptr;        ///< for a default of `values` of its own
  std::unique_ptr<PositionCodec> positions = nullptr;  ///< for a default of `positions` of its own
};

/// The declaration of a sparse method.
struct SparseMethod {
  std::string name;
  std::string summary;
  std::string source;
  // Defaults of the shared parameters. An empty ratio_name: the method has no target ratio.
  std::string ratio_name = "ratio";
  std::string ratio = "0.001";
  std::string memory = "residual";
  std::string delay = "1";
  std::string decay = "1";
  std::string values = "fp32";
  std::string positions = "raw32";
  std::vector<ParameterInfo> parameters = {};  ///< its own
  bool counted = false;                        ///< has a target number without a ratio
  bool needs_squares = false;                  ///< GradientInput::squares is required
  std::function<std::unique_ptr<Selector>(const Parameters&, const TensorInfo&,
                                          const CompressorSettings&)>
      selector = {};
  /// Makes the selector and codecs of one compressor; used instead of `selector`. A method needs it
  /// where its default codec of values or positions is not in the lists of codecs, because that
  /// codec depends on the method's parameters or shares something with its selector.
  std::function<OwnParts(const Parameters&, const TensorInfo&, const CompressorSettings&)> own = {};
  /// Expected fraction of the elements sent, for listings; needed only without a ratio.
  std::function<double(const Parameters&)> density = {};
  std::function<EncodeTraffic(const Parameters&)> traffic = {};  ///< without the memory's
};

/// Returns the method whose compressors are SparsePipelines with this selector.
MethodInfo sparse_method(const SparseMethod& method);

}  // namespace thinpipe
