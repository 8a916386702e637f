// Calls into a plug-in, and the checks of their results.
#include "compressors/plugin/plugin_instance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <limits>
#include <string>
#include <utility>

#include "compressors/wire/bytes.h"

namespace thinpipe {
namespace {

// Calls: every error of a plug-in's functions is reported with the function's name.

/// Runs `work`, which calls `function` of the plug-in. @throws PluginError for its exceptions.
template <class Work>
auto call_plugin(const PluginMethod& method, const char* function, Work&& work) {
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

}  // namespace

void PluginInstance::Destroy::operator()(void* instance) const {
  try {
    method->functions.destroy(instance);
  } catch (...) {
    // Called from destructors, which must not throw.
  }
}

PluginInstance::PluginInstance(std::shared_ptr<const PluginMethod> method,
                               const Parameters& parameters, const TensorInfo& tensor,
                               const CompressorSettings& settings)
    : method_(std::move(method)),
      elements_(tensor.elements),
      instance_(create(*method_, parameters, tensor, settings), Destroy{method_.get()}),
      room_(payload_size(*method_, instance_.get(), elements_)),
      decoded_(elements_ * sizeof(float)),
      state_size_(state_size_of(*method_, instance_.get(), elements_)) {}

void PluginInstance::fail(const char* function, const std::string& problem) const {
  throw PluginError(*method_, function, problem);
}

std::span<const std::byte> PluginInstance::encode(std::span<const float> c,
                                                  const GradientInput& gradient,
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

void PluginInstance::check_report(const thinpipe_plugin_report& report) const {
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

void PluginInstance::decode_add(std::span<const std::byte> payload, float factor,
                                std::span<float> out) const {
  call_plugin_status<PayloadError>(*method_, "decode_add", [&](thinpipe_plugin_error* error) {
    return method_->functions.decode_add(instance_.get(), payload.data(), payload.size(), factor,
                                         out.data(), out.size(), error);
  });
}

std::span<const float> PluginInstance::decode_own(std::span<const std::byte> payload) const {
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

void PluginInstance::reset() {
  if (method_->functions.reset == nullptr) return;
  call_plugin(*method_, "reset", [&] { method_->functions.reset(instance_.get()); });
}

void PluginInstance::save(std::span<std::byte> state) const {
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

void PluginInstance::load(std::span<const std::byte> state) {
  if (method_->functions.load == nullptr) return;
  call_plugin_status<InputError>(*method_, "load", [&](thinpipe_plugin_error* error) {
    return method_->functions.load(instance_.get(), state.data(), state.size(), error);
  });
}

}  // namespace thinpipe
