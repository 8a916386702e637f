// A plug-in's method as a Compressor: the calls into the plug-in, the checks of their results, and
// the memory around them. As DensePipeline, but for a codec that is not trusted.
#include "compressors/plugin/plugin_compressor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/visible.h"
#include "compressors/kernels/buffer.h"
#include "compressors/kernels/parallel.h"
#include "compressors/kernels/sums.h"
#include "compressors/memory/memory.h"
#include "compressors/methods/common.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {
namespace {

// The innermost ExitGuard of this thread. exit() runs its handlers in the thread that calls it, so
// a plug-in's code in another thread is not blamed.
thread_local const std::string* running_plugin = nullptr;
thread_local const char* running_function = nullptr;

void refuse_exit() {
  if (running_plugin == nullptr) return;
  print_message("thinpipe: " + *running_plugin + ": " + running_function +
                " called exit() instead of returning");
  std::_Exit(kExitFailed);
}

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

// Calls: every error of a plug-in's functions is reported with the function's name.

/// Runs `work`, which calls `function` of the plug-in. @throws PluginError for its exceptions.
template <class Work>
auto call_plugin(const PluginMethod& method, const char* function, Work&& work) {
  const ExitGuard guard(method.label, function);
  try {
    return std::forward<Work>(work)();
  } catch (const std::exception& error) {
    throw PluginError(method, function, std::string("threw an exception: ") + error.what());
  } catch (...) {
    throw PluginError(method, function, "threw an exception that is not a std::exception");
  }
}

/// Runs `work(error)` for functions that return a status and leave a message.
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

/// Source of the parameters that `create` reads. Exceptions cannot pass through a C function, so a
/// wrong request is stored until `create` returns.
struct Setup : thinpipe_plugin_setup {
  const Parameters* parameters = nullptr;
  mutable std::string misuse;
};

template <class Value, class Read>
Value read(const thinpipe_plugin_setup* setup, const char* name, Value otherwise, Read value) {
  const Setup& full = *static_cast<const Setup*>(setup);
  try {
    return value(*full.parameters, std::string(name == nullptr ? "" : name));
  } catch (const std::exception& error) {
    full.misuse = error.what();
    return otherwise;
  }
}

double read_real(const thinpipe_plugin_setup* setup, const char* name) {
  return read(setup, name, std::numeric_limits<double>::quiet_NaN(),
              [](const Parameters& all, const std::string& key) { return all.real(key); });
}
std::int64_t read_integer(const thinpipe_plugin_setup* setup, const char* name) {
  return read(setup, name, std::int64_t{0}, [](const Parameters& all, const std::string& key) {
    return std::int64_t{all.integer(key)};
  });
}
const char* read_choice(const thinpipe_plugin_setup* setup, const char* name) {
  return read(setup, name, "", [](const Parameters& all, const std::string& key) {
    return all.choice(key).c_str();
  });
}
int read_flag(const thinpipe_plugin_setup* setup, const char* name) {
  return read(setup, name, 0,
              [](const Parameters& all, const std::string& key) { return int{all.flag(key)}; });
}

void* create(const PluginMethod& method, const Parameters& parameters, const TensorInfo& tensor,
             const CompressorSettings& settings) {
  if (method.functions.create == nullptr) return nullptr;
  Setup setup;
  setup.struct_size = sizeof(thinpipe_plugin_setup);
  setup.tensor = tensor.name.c_str();
  setup.shape = tensor.shape.empty() ? nullptr : tensor.shape.data();
  setup.dimensions = tensor.shape.size();
  setup.elements = tensor.elements;
  setup.seed = settings.seed;
  setup.rank = settings.rank;
  setup.threads = settings.threads;
  setup.real = read_real;
  setup.integer = read_integer;
  setup.choice = read_choice;
  setup.flag = read_flag;
  setup.parameters = &parameters;
  void* instance = nullptr;
  call_plugin_status<InputError>(method, "create", [&](thinpipe_plugin_error* error) {
    return method.functions.create(&setup, &instance, error);
  });
  if (instance == nullptr) throw PluginError(method, "create", "made no instance");
  if (setup.misuse.empty()) return instance;
  call_plugin(method, "destroy", [&] { method.functions.destroy(instance); });
  throw PluginError(method, "create", "read a parameter wrongly: " + setup.misuse);
}

// Limits of the sizes that a plug-in may return. A larger size is a mistake of the plug-in; without
// the limits, the system would report it by a less helpful error.
constexpr std::size_t kPayloadBytesAnElement = 64;
constexpr std::size_t kPayloadBytes = std::size_t{1} << 16;
constexpr std::size_t kStateBytesAnElement = 256;
constexpr std::size_t kStateBytes = std::size_t{1} << 20;

std::size_t check_most(const PluginMethod& method, const char* function, std::size_t size,
                       std::size_t most) {
  if (size <= most) return size;
  throw PluginError(method, function, fmt::format("returned {}; expected at most {}", size, most));
}

std::size_t payload_size(const PluginMethod& method, const void* instance, std::size_t elements) {
  const std::size_t size = call_plugin(method, "max_encoded_size", [&] {
    return method.functions.max_encoded_size(instance, elements);
  });
  const bool dense = method.functions.aggregation == THINPIPE_PLUGIN_ALL_REDUCE;
  if (dense && size != elements * sizeof(float)) {
    throw PluginError(method, "max_encoded_size",
                      fmt::format("returned {}; expected {}, d floats that can be summed", size,
                                  elements * sizeof(float)));
  }
  return check_most(method, "max_encoded_size", size,
                    elements * kPayloadBytesAnElement + kPayloadBytes);
}

std::size_t state_size_of(const PluginMethod& method, const void* instance, std::size_t elements) {
  if (method.functions.state_size == nullptr) return 0;
  const std::size_t size =
      call_plugin(method, "state_size", [&] { return method.functions.state_size(instance); });
  return check_most(method, "state_size", size, elements * kStateBytesAnElement + kStateBytes);
}

/// Calls the functions of one tensor's instance. Every call is guarded, whatever its result is used
/// for. @throws PluginError for errors of the plug-in.
class PluginInstance {
 public:
  /// Creates the instance. @throws InputError when `create` refuses parameters or tensor.
  PluginInstance(std::shared_ptr<const PluginMethod> method, const Parameters& parameters,
                 const TensorInfo& tensor, const CompressorSettings& settings)
      : method_(std::move(method)),
        elements_(tensor.elements),
        instance_(create(*method_, parameters, tensor, settings), Destroy{method_.get()}),
        room_(payload_size(*method_, instance_.get(), elements_)),
        decoded_(elements_ * sizeof(float)),
        state_size_(state_size_of(*method_, instance_.get(), elements_)) {}

  std::size_t max_encoded_size() const { return room_.size(); }

  /// Compresses `c`. Returns the payload, valid until the next call.
  /// @throws InputError when the plug-in refuses the input.
  std::span<const std::byte> encode(std::span<const float> c, const GradientInput& gradient,
                                    EncodeReport& report) {
    thinpipe_plugin_input input;
    input.struct_size = sizeof input;
    input.values = c.data();
    input.squares = gradient.squares.empty() ? nullptr : gradient.squares.data();
    input.elements = c.size();
    input.step = gradient.step;
    input.epoch = gradient.epoch;
    thinpipe_plugin_report found;
    found.struct_size = sizeof found;
    found.encoded_bytes = std::numeric_limits<std::size_t>::max();  // must be set
    found.target_elements = 0;
    found.selected_elements = c.size();
    found.threshold = std::numeric_limits<double>::quiet_NaN();
    found.passes = 1;
    call_plugin_status<InputError>(*method_, "encode", [&](thinpipe_plugin_error* error) {
      return method_->functions.encode(instance_.get(), &input, room_.data(), room_.size(), &found,
                                       error);
    });
    check_report(found);
    report = {.encoded_bytes = found.encoded_bytes,
              .target_elements = found.target_elements,
              .selected_elements = found.selected_elements,
              .threshold = found.threshold,
              .passes = found.passes};
    return std::span(room_.data(), found.encoded_bytes);
  }

  /// Adds the decoded payload to `out`. @throws PayloadError when the plug-in refuses the payload.
  void decode_add(std::span<const std::byte> payload, float factor, std::span<float> out) const {
    call_plugin_status<PayloadError>(*method_, "decode_add", [&](thinpipe_plugin_error* error) {
      return method_->functions.decode_add(instance_.get(), payload.data(), payload.size(), factor,
                                           out.data(), out.size(), error);
    });
  }

  /// Decodes a payload of encode() into a guarded buffer. Returns it, valid until the next call.
  std::span<const float> decode_own(std::span<const std::byte> payload) const {
    std::fill_n(decoded_.data(), decoded_.size(), std::byte{0});  // floats of 0
    const std::span<float> out(reinterpret_cast<float*>(decoded_.data()), elements_);
    try {
      decode_add(payload, 1.0F, out);
    } catch (const PayloadError& error) {
      fail("decode_add", std::string("cannot decode what encode wrote: ") + error.what());
    }
    if (!decoded_.intact())
      fail("decode_add", fmt::format("wrote outside of the {} elements of its output", elements_));
    return out;
  }

  void reset() {
    if (method_->functions.reset == nullptr) return;
    call_plugin(*method_, "reset", [&] { method_->functions.reset(instance_.get()); });
  }

  std::size_t state_size() const { return state_size_; }
  /// Writes state_size() bytes.
  void save(std::span<std::byte> state) const {
    if (method_->functions.save == nullptr) return;
    GuardedRoom room(state.size());
    std::fill_n(room.data(), room.size(), std::byte{0});
    call_plugin_status<InputError>(*method_, "save", [&](thinpipe_plugin_error* error) {
      return method_->functions.save(instance_.get(), room.data(), room.size(), error);
    });
    if (!room.intact())
      fail("save", fmt::format("wrote outside of the {} bytes of its state", room.size()));
    std::copy_n(room.data(), room.size(), state.data());
  }
  /// Restores a state. @throws InputError when the plug-in refuses the bytes.
  void load(std::span<const std::byte> state) {
    if (method_->functions.load == nullptr) return;
    call_plugin_status<InputError>(*method_, "load", [&](thinpipe_plugin_error* error) {
      return method_->functions.load(instance_.get(), state.data(), state.size(), error);
    });
  }

 private:
  struct Destroy {
    const PluginMethod* method;
    void operator()(void* instance) const {
      try {
        call_plugin(*method, "destroy", [&] { method->functions.destroy(instance); });
      } catch (...) {
        // Called from destructors, which must not throw.
      }
    }
  };

  void check_report(const thinpipe_plugin_report& report) const {
    if (!room_.intact())
      fail("encode", fmt::format("wrote outside of the {} bytes of its payload", room_.size()));
    if (report.encoded_bytes > room_.size())
      fail("encode", fmt::format("reported a payload of {} bytes; max_encoded_size is {}",
                                 report.encoded_bytes, room_.size()));
    if (method_->functions.aggregation == THINPIPE_PLUGIN_ALL_REDUCE &&
        report.encoded_bytes != room_.size())
      fail("encode", fmt::format("reported a payload of {} bytes; expected {}, d floats",
                                 report.encoded_bytes, room_.size()));
    if (report.selected_elements > elements_ || report.target_elements > elements_)
      fail("encode", fmt::format("reported {} selected and {} target elements of {}",
                                 report.selected_elements, report.target_elements, elements_));
    if (report.passes < 0) fail("encode", fmt::format("reported {} passes", report.passes));
  }
  [[noreturn]] void fail(const char* function, const std::string& problem) const {
    throw PluginError(*method_, function, problem);
  }

  std::shared_ptr<const PluginMethod> method_;
  std::size_t elements_;
  std::unique_ptr<void, Destroy> instance_;
  GuardedRoom room_;             ///< of the payload
  mutable GuardedRoom decoded_;  ///< d floats
  std::size_t state_size_;
};

// Passes that leave c - decoded in a memory: clear, decode, subtract, find non-finite values.
constexpr int kKeepPasses = 4;

/// Sets c to c - decoded. Non-finite results become 0, so that an infinity does not stay.
void subtract(std::span<const float> decoded, std::span<float> c) {
  add_scaled(decoded, -1.0F, c);
  for (std::size_t at = first_non_finite(c); at != kAllFinite; at = first_non_finite(c)) {
    c[at] = 0.0F;
    c = c.subspan(at + 1);
  }
}

struct PluginParts {
  std::unique_ptr<Memory> memory;
  std::unique_ptr<PluginInstance> instance;
  std::uint64_t period = 1;  ///< exchange in every n-th step
  bool incremental = false;  ///< the memory is EF21's
  int threads = 1;           ///< of the memory's passes
};

class PluginCompressor : public Compressor {
 public:
  PluginCompressor(StateIdentity identity, PluginParts parts)
      : identity_(std::move(identity)), parts_(std::move(parts)) {}

  std::size_t elements() const override { return identity_.elements; }
  std::size_t max_encoded_size() const override { return parts_.instance->max_encoded_size(); }

  EncodeReport encode(const GradientInput& gradient, std::span<std::byte> payload) override {
    check_gradient(gradient);
    check_room(identity_, payload.size(), max_encoded_size());
    const UseThreads threads(parts_.threads);
    const auto c = parts_.memory->add(gradient.values, 1.0F);
    EncodeReport report;
    const auto bytes = parts_.instance->encode(c, gradient, report);
    std::copy(bytes.begin(), bytes.end(), payload.begin());
    report.passes += parts_.memory->passes() + keep(bytes);
    return report;
  }

  void decode_add(std::span<const std::byte> payload, float factor,
                  std::span<float> out) const override {
    check_size(identity_, "the output", out.size());
    parts_.instance->decode_add(payload, factor, out);
  }

  // A plug-in with its own memory does not report its c, so the gradient takes its place.
  Distortion distortion(const GradientInput& gradient,
                        std::span<const std::byte> payload) const override {
    check_gradient(gradient);
    return parts_.memory->distortion(gradient.values, parts_.instance->decode_own(payload));
  }

  std::span<const float> residual() const override { return parts_.memory->remainder(); }
  std::uint64_t period() const override { return parts_.period; }
  bool incremental() const override { return parts_.incremental; }
  void hold(const GradientInput& gradient) override {
    check_gradient(gradient);
    const UseThreads threads(parts_.threads);
    parts_.memory->hold(gradient.values, 1.0F);
  }

  void reset() override {
    parts_.memory->reset();
    parts_.instance->reset();
  }
  void save_state(std::vector<std::byte>& state) const override {
    ByteWriter out = begin_state(identity_, state_size(), state);
    parts_.memory->save(out);
    parts_.instance->save(out.free());
  }
  void load_state(std::span<const std::byte> state) override {
    ByteReader in = open_state(identity_, state_size(), state);
    parts_.memory->load(in);
    parts_.instance->load(in.rest());
  }

 private:
  /// Updates the memory with the values that receivers decode. Returns the number of passes.
  int keep(std::span<const std::byte> payload) {
    const auto remainder = parts_.memory->remainder();
    const auto mirror = parts_.memory->mirror();
    const bool kept = !remainder.empty() || !mirror.empty();
    // Without a memory the decoded values are not needed. The first payload is decoded
    // nevertheless, to detect a decoder that writes out of bounds before it gets the caller's
    // array.
    if (!kept && tried_) return 0;
    const auto decoded = parts_.instance->decode_own(payload);
    tried_ = true;
    if (!remainder.empty()) subtract(decoded, remainder);
    if (!mirror.empty()) add_scaled(decoded, 1.0F, mirror);
    return kept ? kKeepPasses : 0;
  }

  std::size_t state_size() const {
    return parts_.memory->state_size() + parts_.instance->state_size();
  }
  void check_gradient(const GradientInput& gradient) const {
    check_size(identity_, "the gradient", gradient.values.size());
    if (!gradient.squares.empty())
      check_size(identity_, "the second moments", gradient.squares.size());
  }

  StateIdentity identity_;
  PluginParts parts_;
  bool tried_ = false;  ///< one of its payloads was decoded into a guarded buffer
};

}  // namespace

ExitGuard::ExitGuard(const std::string& plugin, const char* function) {
  static const bool kRegistered =
      std::atexit(refuse_exit) == 0 && std::at_quick_exit(refuse_exit) == 0;
  if (!kRegistered) throw RunError(plugin + ": no handler of exit() can be registered");
  running_plugin = &plugin;
  running_function = function;
}

ExitGuard::~ExitGuard() { running_plugin = nullptr; }

std::unique_ptr<Compressor> make_plugin_compressor(std::shared_ptr<const PluginMethod> method,
                                                   const Parameters& parameters,
                                                   const TensorInfo& tensor,
                                                   const CompressorSettings& settings) {
  const bool wrapped = method->functions.memory != nullptr;
  PluginParts parts;
  parts.memory =
      wrapped ? make_memory(parameters, tensor.elements) : make_no_memory(tensor.elements, false);
  parts.period = wrapped ? period_of(parameters) : 1;
  parts.incremental = wrapped && parameters.choice("memory") == "ef21";
  parts.threads = settings.threads;
  parts.instance =
      std::make_unique<PluginInstance>(std::move(method), parameters, tensor, settings);
  return std::make_unique<PluginCompressor>(identity_of(parameters, tensor), std::move(parts));
}

}  // namespace thinpipe
