// One instance of a plug-in's method: every call of it is guarded, whatever is done with the
// result.
#pragma once

#include <memory>
#include <span>

#include "compressors/plugin/guarded_room.h"
#include "compressors/plugin/plugin_method.h"
#include "compressors/registry.h"

namespace thinpipe {

/// Calls of one tensor's instance. @throws PluginError for what the plug-in does wrong.
class PluginInstance {
 public:
  /// @throws InputError when `create` refuses parameters or tensor.
  PluginInstance(std::shared_ptr<const PluginMethod> method, const Parameters& parameters,
                 const TensorInfo& tensor, const CompressorSettings& settings);
  PluginInstance(const PluginInstance&) = delete;
  PluginInstance& operator=(const PluginInstance&) = delete;

  std::size_t max_encoded_size() const { return room_.size(); }

  /// Compresses `c`; the payload is valid until the next call.
  /// @throws InputError when the plug-in refuses the input.
  std::span<const std::byte> encode(std::span<const float> c, const GradientInput& gradient,
                                    EncodeReport& report);

  /// Adds into `out` itself. @throws PayloadError when the plug-in refuses the payload.
  void decode_add(std::span<const std::byte> payload, float factor, std::span<float> out) const;

  /// Decodes a payload of encode() into guarded room; valid until the next call.
  std::span<const float> decode_own(std::span<const std::byte> payload) const;

  void reset();
  std::size_t state_size() const { return state_size_; }
  void save(std::span<std::byte> state) const;  ///< state_size() bytes
  /// @throws InputError when the plug-in refuses the bytes.
  void load(std::span<const std::byte> state);

 private:
  struct Destroy {
    const PluginMethod* method;
    void operator()(void* instance) const;
  };
  void check_report(const thinpipe_plugin_report& report) const;
  [[noreturn]] void fail(const char* function, const std::string& problem) const;

  std::shared_ptr<const PluginMethod> method_;
  std::size_t elements_;
  std::unique_ptr<void, Destroy> instance_;
  GuardedRoom room_;             ///< payload
  mutable GuardedRoom decoded_;  ///< d floats
  std::size_t state_size_;
};

}  // namespace thinpipe
