// Declares a sparse method: a selector with the shared memories and encodings around it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compressors/methods/common.h"
#include "compressors/select/selector.h"

namespace thinpipe {

struct SparseMethod {
  std::string name;
  std::string summary;
  std::string source;
  // Defaults of the shared parameters. An empty ratio_name: the method aims at no ratio.
  std::string ratio_name = "ratio";
  std::string ratio = "0.001";
  std::string memory = "residual";
  std::string values = "fp32";
  std::string positions = "raw32";
  std::vector<ParameterInfo> parameters = {};  ///< its own
  std::function<std::unique_ptr<Selector>(const Parameters&, const TensorInfo&,
                                          const CompressorSettings&)>
      selector;
  /// Share of the elements it is expected to send, for listings; needed without a ratio only.
  std::function<double(const Parameters&)> density = {};
};

/// The method that puts the selector into a SparsePipeline.
MethodInfo sparse_method(const SparseMethod& method);

}  // namespace thinpipe
