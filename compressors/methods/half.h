// Declares a method of 16-bit floats.
#pragma once

#include <string>

#include "compressors/element_type.h"
#include "compressors/registry.h"

namespace thinpipe {

/// Every element as a 16-bit float of this type; summed in it, or gathered.
MethodInfo half_method(const std::string& name, const std::string& summary, ElementType type);

}  // namespace thinpipe
