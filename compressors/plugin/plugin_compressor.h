// A plug-in's method as a Compressor, with thinpipe's memory around it where it wants one.
#pragma once

#include <memory>

#include "compressors/plugin/plugin_instance.h"
#include "compressors/registry.h"

namespace thinpipe {

/// The plug-in's errors become a PluginError naming file and method: exceptions, writing outside of
/// the payload, sizes and counts that cannot be, a payload of its own that it cannot decode.
/// @throws InputError when `create` refuses parameters or tensor.
std::unique_ptr<Compressor> make_plugin_compressor(std::shared_ptr<const PluginMethod> method,
                                                   const Parameters& parameters,
                                                   const TensorInfo& tensor,
                                                   const CompressorSettings& settings);

}  // namespace thinpipe
