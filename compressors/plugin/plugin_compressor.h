// A method of a loaded plug-in, and compressors of it, with thinpipe's memory around them where the
// method declares one.
#pragma once

#include <memory>
#include <string>

#include "compressors/plugin/thinpipe_plugin.h"
#include "compressors/registry.h"

namespace thinpipe {

/// A method as described by its plug-in, checked.
struct PluginMethod {
  thinpipe_plugin_method functions;  ///< members that the plug-in's header lacks are 0
  std::string label;                 ///< "plug-in 'sign.so', method 'example-sign'"
};

/// Exists while a plug-in's code runs. If that code calls exit(), the program ends with a message
/// and kExitFailed, whatever status the plug-in gave: half a result must not look like a success.
/// A plug-in's exit() in a thread of its own and its _exit() are not noticed.
class ExitGuard {
 public:
  /// Names the code in the message. The names must live as long as the guard.
  ExitGuard(const std::string& plugin, const char* function);
  ~ExitGuard();
  ExitGuard(const ExitGuard&) = delete;
  ExitGuard& operator=(const ExitGuard&) = delete;
};

/// Makes a compressor of a plug-in's method. The plug-in's errors become a RunError naming file and
/// method: exceptions, writes outside the payload, impossible sizes and counts, a payload of its
/// own that it cannot decode.
/// @throws InputError when `create` refuses parameters or tensor.
std::unique_ptr<Compressor> make_plugin_compressor(std::shared_ptr<const PluginMethod> method,
                                                   const Parameters& parameters,
                                                   const TensorInfo& tensor,
                                                   const CompressorSettings& settings);

}  // namespace thinpipe
