// One method of a loaded plug-in, and how its functions are called: nothing that they do wrong
// passes unnamed.
#pragma once

#include <cstddef>
#include <cstring>
#include <exception>
#include <string>
#include <utility>

#include "base/error.h"
#include "compressors/plugin/thinpipe_plugin.h"

namespace thinpipe {

/// A method as its plug-in described it, checked.
struct PluginMethod {
  thinpipe_plugin_method functions;  ///< members that the plug-in's header did not have are 0
  std::string label;                 ///< "plug-in 'sign.so', method 'example-sign'"
};

/// A plug-in broke its contract: it threw, wrote where it must not, or returned what cannot be.
class PluginError : public RunError {
 public:
  PluginError(const PluginMethod& method, const char* function, const std::string& problem)
      : RunError(method.label + ": " + function + " " + problem) {}
};

/// Runs `work`, which calls `function` of the plug-in. @throws PluginError for what it throws.
template <class Work>
auto call_plugin(const PluginMethod& method, const char* function, Work&& work) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::exception& error) {
    throw PluginError(method, function, std::string("threw an exception: ") + error.what());
  } catch (...) {
    throw PluginError(method, function, "threw an exception that is no std::exception");
  }
}

/// The same for functions that return a status and leave a message: `work(error)`.
/// @throws Refusal for THINPIPE_PLUGIN_BAD_INPUT, PluginError for any other failure.
template <class Refusal, class Work>
void call_plugin_status(const PluginMethod& method, const char* function, Work&& work) {
  thinpipe_plugin_error error;
  error.message[0] = '\0';
  const int status = call_plugin(method, function, [&] { return work(&error); });
  if (status == THINPIPE_PLUGIN_OK) return;
  const std::string message(error.message, ::strnlen(error.message, sizeof error.message));
  const std::string said = message.empty() ? "without a message" : ": " + message;
  if (status == THINPIPE_PLUGIN_BAD_INPUT) {
    throw Refusal(method.label + ": " + function + " refused its input" +
                  (message.empty() ? "" : said));
  }
  if (status == THINPIPE_PLUGIN_FAILED) {
    throw PluginError(method, function, "failed" + (message.empty() ? " " + said : said));
  }
  throw PluginError(method, function,
                    "returned " + std::to_string(status) + "; expected 0, 1 or 2");
}

}  // namespace thinpipe
