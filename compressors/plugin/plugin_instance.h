// One method of a loaded plug-in and one instance of it. Every call is guarded, whatever its result
// is used for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "compressors/kernels/buffer.h"
#include "compressors/plugin/thinpipe_plugin.h"
#include "compressors/registry.h"

namespace thinpipe {

/// A method as described by its plug-in, checked.
struct PluginMethod {
  thinpipe_plugin_method functions;  ///< members that the plug-in's header lacks are 0
  std::string label;                 ///< "plug-in 'sign.so', method 'example-sign'"
};

/// Reports that a plug-in broke its contract: it threw, wrote out of bounds, or returned an
/// impossible value.
class PluginError : public RunError {
 public:
  PluginError(const PluginMethod& method, const char* function, const std::string& problem)
      : RunError(method.label + ": " + function + " " + problem) {}
};

/// Buffer into which a plug-in writes, with bytes before and after it that must not change. It is
/// allocated once; unwritten pages cost address space only.
class GuardedRoom {
 public:
  explicit GuardedRoom(std::size_t bytes) : bytes_(bytes), all_(bytes + 2 * kGuard) {
    std::fill_n(all_.data(), kGuard, kMark);
    std::fill_n(all_.data() + kGuard + bytes, kGuard, kMark);
  }

  std::size_t size() const { return bytes_; }
  std::byte* data() { return all_.data() + kGuard; }

  /// Returns false when something was written outside the buffer.
  bool intact() const {
    const auto marked = [](const std::byte* from) {
      return std::all_of(from, from + kGuard, [](std::byte found) { return found == kMark; });
    };
    return marked(all_.data()) && marked(all_.data() + kGuard + bytes_);
  }

 private:
  // The guard is a page: a loop that overruns by a few elements, or by one row, stays within it.
  static constexpr std::size_t kGuard = 4096;
  static constexpr std::byte kMark{0xa5};

  std::size_t bytes_;
  Buffer<std::byte> all_;
};

/// Calls the functions of one tensor's instance. @throws PluginError for errors of the plug-in.
class PluginInstance {
 public:
  /// Creates the instance. @throws InputError when `create` refuses parameters or tensor.
  PluginInstance(std::shared_ptr<const PluginMethod> method, const Parameters& parameters,
                 const TensorInfo& tensor, const CompressorSettings& settings);
  PluginInstance(const PluginInstance&) = delete;
  PluginInstance& operator=(const PluginInstance&) = delete;

  std::size_t max_encoded_size() const { return room_.size(); }

  /// Compresses `c`. Returns the payload, valid until the next call.
  /// @throws InputError when the plug-in refuses the input.
  std::span<const std::byte> encode(std::span<const float> c, const GradientInput& gradient,
                                    EncodeReport& report);

  /// Adds the decoded payload to `out`. @throws PayloadError when the plug-in refuses the payload.
  void decode_add(std::span<const std::byte> payload, float factor, std::span<float> out) const;

  /// Decodes a payload of encode() into a guarded buffer. Returns it, valid until the next call.
  std::span<const float> decode_own(std::span<const std::byte> payload) const;

  void reset();
  std::size_t state_size() const { return state_size_; }
  void save(std::span<std::byte> state) const;  ///< state_size() bytes
  /// Restores a state. @throws InputError when the plug-in refuses the bytes.
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
  GuardedRoom room_;             ///< of the payload
  mutable GuardedRoom decoded_;  ///< d floats
  std::size_t state_size_;
};

}  // namespace thinpipe
