// Declares a sparse method: a selector with the shared memories and encodings around it.
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

/// Parts of one compressor of a method that brings its own selector or codecs.
struct OwnParts {
  std::unique_ptr<Selector> selector;
  std::unique_ptr<ValueCodec> values = nullptr;        ///< for the default of `values`, if own
  std::unique_ptr<PositionCodec> positions = nullptr;  ///< for the default of `positions`, if own
};

/// The declaration of a sparse method.
struct SparseMethod {
  std::string name;
  std::string summary;
  std::string source;
  // Defaults of the shared parameters. An empty ratio_name: the method aims at no ratio.
  std::string ratio_name = "ratio";
  std::string ratio = "0.001";
  std::string memory = "residual";
  std::string delay = "1";
  std::string decay = "1";
  std::string values = "fp32";
  std::string positions = "raw32";
  std::vector<ParameterInfo> parameters = {};  ///< its own
  bool counted = false;                        ///< aims at a number though at no ratio
  bool needs_squares = false;                  ///< GradientInput::squares must be there
  std::function<std::unique_ptr<Selector>(const Parameters&, const TensorInfo&,
                                          const CompressorSettings&)>
      selector = {};
  /// Instead of `selector`, where the default values or positions are in no list: codecs of its own
  /// that know its parameters or share something with its selector.
  std::function<OwnParts(const Parameters&, const TensorInfo&, const CompressorSettings&)> own = {};
  /// Share of the elements it is expected to send, for listings; needed without a ratio only.
  std::function<double(const Parameters&)> density = {};
};

/// The method that puts the selector into a SparsePipeline.
MethodInfo sparse_method(const SparseMethod& method);

}  // namespace thinpipe
