// Declares a method that quantises in blocks with a scale each: what such methods share.
#pragma once

#include <string>
#include <vector>

#include "compressors/kernels/block_format.h"
#include "compressors/methods/dense.h"

namespace thinpipe {

struct BlockMethod {
  std::string name;
  std::string summary;
  std::string source;
  /// For `format=`, which the method has where there is more than one.
  std::vector<std::pair<std::string, BlockElement>> elements;
  // Defaults of the shared parameters.
  std::string block = "256";
  std::string scale = "f32";
  std::string hadamard = "false";
  std::string rounding = "nearest";
};

/// What the shared parameters say, of such elements.
BlockFormat block_format_of(const Parameters& parameters, BlockElement element);

/// The method with the parameters block, scale, hadamard, rounding, those of the memory, and
/// `format` where there is a choice.
MethodInfo block_method(const BlockMethod& method);

}  // namespace thinpipe
