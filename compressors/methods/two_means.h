// Declares a method of one bit and two means: what such methods share.
#pragma once

#include <string>

#include "compressors/methods/dense.h"

namespace thinpipe {

struct TwoMeansMethod {
  std::string name;
  std::string source;
  std::string columns;  ///< default of the parameter: means of every column, not of the tensor
};

/// The method with the parameters columns, bucket and those of the memory, which is a residual.
MethodInfo two_means_method(const TwoMeansMethod& method);

}  // namespace thinpipe
