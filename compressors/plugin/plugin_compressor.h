// A plug-in's method as a Compressor, with thinpipe's memory around it where the method declares
// one.
#pragma once

#include <memory>

#include "compressors/plugin/plugin_instance.h"
#include "compressors/registry.h"

namespace thinpipe {

/// Makes a compressor of a plug-in's method. The plug-in's errors become a PluginError naming file
/// and method: exceptions, writes outside the payload, impossible sizes and counts, a payload of
/// its own that it cannot decode.
/// @throws InputError when `create` refuses parameters or tensor.
std::unique_ptr<Compressor> make_plugin_compressor(std::shared_ptr<const PluginMethod> method,
                                                   const Parameters& parameters,
                                                   const TensorInfo& tensor,
                                                   const CompressorSettings& settings);

}  // namespace thinpipe
