// The C interface: every function locks the compressor, checks its arguments, calls the C++
// interface, and turns exceptions into a result and a message.
#include "compressors/c/thinpipe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "compressors/compressor.h"
#include "compressors/plugin/loader.h"
#include "compressors/registry.h"
#include "compressors/spec.h"

struct thinpipe_compressor {
  std::mutex mutex;
  std::unique_ptr<thinpipe::Compressor> compressor;
  thinpipe_properties properties;
  std::string tensor;
  std::string spec;
  std::vector<std::byte> state;  ///< of the last thinpipe_save
};

namespace thinpipe {
namespace {

void set_message(thinpipe_error* error, const char* text) {
  if (error == nullptr) return;
  const std::size_t length = std::min(std::strlen(text), sizeof error->message - 1);
  std::memcpy(error->message, text, length);
  error->message[length] = '\0';
}

/// Runs `work` and returns its result: exceptions must not leave a C function.
template <class Work>
int guarded(thinpipe_error* error, const Work& work) {
  try {
    set_message(error, "");
    work();
    return THINPIPE_OK;
  } catch (const PayloadError& refused) {
    set_message(error, refused.what());
    return THINPIPE_BAD_PAYLOAD;
  } catch (const InputError& refused) {
    set_message(error, refused.what());
    return THINPIPE_BAD_INPUT;
  } catch (const std::logic_error& misused) {  // calls in another order than the header's
    set_message(error, misused.what());
    return THINPIPE_BAD_INPUT;
  } catch (const std::exception& failed) {
    set_message(error, failed.what());
  } catch (...) {
    set_message(error, "an exception that is not a std::exception");
  }
  return THINPIPE_FAILED;
}

/// Runs `work` with the compressor locked. Frees the last thinpipe_save's state after it: the work
/// may still read that state.
template <class Work>
int locked(thinpipe_compressor* handle, thinpipe_error* error, const Work& work) {
  return guarded(error, [&] {
    if (handle == nullptr) throw InputError("compressor: found NULL, expected thinpipe_open's");
    const std::lock_guard lock(handle->mutex);
    const std::vector<std::byte> freed = std::exchange(handle->state, {});
    work(*handle->compressor);
  });
}

template <class Pointer>
void require(Pointer pointer, const char* name) {
  if (pointer == nullptr) throw InputError(fmt::format("{}: found NULL", name));
}

/// Returns an array of the caller's. A NULL pointer is an empty array.
template <class T>
std::span<T> array(T* values, std::size_t elements, const char* name) {
  if (elements > 0) require(values, name);
  return {values, values == nullptr ? 0 : elements};
}
std::span<const std::byte> bytes(const void* data, std::size_t size, const char* name) {
  return array(static_cast<const std::byte*>(data), size, name);
}
std::span<std::byte> bytes(void* data, std::size_t size, const char* name) {
  return array(static_cast<std::byte*>(data), size, name);
}

/// Checks a struct that the caller passes in. A smaller one is of an older header.
/// @param oldest  the size of version 1 of this interface
template <class Struct>
void check_struct(const Struct* given, const char* name, std::size_t oldest) {
  require(given, name);
  if (given->struct_size >= oldest && given->struct_size <= sizeof(Struct)) return;
  throw InputError(
      fmt::format("{}: struct_size: found {}, expected {} to {}: the program was "
                  "compiled with the header of another version of thinpipe",
                  name, given->struct_size, oldest, sizeof(Struct)));
}

/// Copies as many members of `result` as the caller's struct has.
template <class Struct>
void fill(Struct* given, const Struct& result) {
  static_assert(std::is_trivially_copyable_v<Struct>);
  const std::size_t size = given->struct_size;
  std::memcpy(given, &result, size);
  given->struct_size = size;
}

// The sizes of the structs in version 1. They stay as they are when a struct grows.
constexpr std::size_t kSetupSize = sizeof(thinpipe_setup);
constexpr std::size_t kPropertiesSize = offsetof(thinpipe_properties, max_pairs);
constexpr std::size_t kGradientSize = sizeof(thinpipe_gradient);
constexpr std::size_t kReportSize = sizeof(thinpipe_report);

TensorInfo tensor_of(const thinpipe_setup& setup) {
  require(setup.tensor, "setup: tensor");
  TensorInfo tensor{.name = setup.tensor, .shape = {}, .elements = 1};
  const auto shape = array(setup.shape, setup.dimensions, "setup: shape");
  const bool is_empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  for (const std::int64_t size : shape) {
    if (size < 0 || (!is_empty && tensor.elements > std::numeric_limits<std::uint32_t>::max() /
                                                        static_cast<std::uint64_t>(size))) {
      throw InputError(
          fmt::format("tensor '{}': shape: found {}, expected sizes of at least 0 and "
                      "a product of at most {}",
                      tensor.name, size, std::numeric_limits<std::uint32_t>::max()));
    }
    tensor.shape.push_back(size);
    tensor.elements *= static_cast<std::size_t>(size);
  }
  return tensor;
}

CompressorSettings settings_of(const thinpipe_setup& setup) {
  if (setup.rank < 0)
    throw InputError(fmt::format("rank: found {}, expected at least 0", setup.rank));
  if (setup.threads < 1 || setup.threads > kMaxThreads)
    throw InputError(
        fmt::format("threads: found {}, expected 1 to {}", setup.threads, kMaxThreads));
  return {.seed = setup.seed, .rank = setup.rank, .threads = setup.threads};
}

std::int32_t number_of(ElementType type) {
  if (type == ElementType::kFloat32) return THINPIPE_FLOAT32;
  return type == ElementType::kFloat16 ? THINPIPE_FLOAT16 : THINPIPE_BFLOAT16;
}

thinpipe_properties describe(const thinpipe_compressor& handle, const Spec& spec) {
  const Compressor& compressor = *handle.compressor;
  const MethodInfo& method = find_method(spec.name);
  const Summation summation = summation_of(spec);
  const bool gathers = aggregation_of(spec) == Aggregation::kAllGather;
  const auto* const sparse = dynamic_cast<const SparsePayload*>(&compressor);
  return {.struct_size = sizeof(thinpipe_properties),
          .spec = handle.spec.c_str(),
          .elements = compressor.elements(),
          .max_encoded_size = compressor.max_encoded_size(),
          .period = compressor.period(),
          .aggregation = gathers ? THINPIPE_ALL_GATHER : THINPIPE_ALL_REDUCE,
          .element = number_of(summation.element),
          .predivides = summation.predivides ? 1 : 0,
          .rounds = rounds_of(compressor),
          .shares_scale = dynamic_cast<const SharedScale*>(&compressor) == nullptr ? 0 : 1,
          .needs_squares = method.needs_squares ? 1 : 0,
          .needs_whole = method.needs_whole ? 1 : 0,
          .incremental = compressor.incremental() ? 1 : 0,
          .has_target = method.has_target ? 1 : 0,
          .max_pairs = sparse == nullptr ? 0 : sparse->max_pairs()};
}

GradientInput input_of(const Compressor& compressor, const thinpipe_gradient* gradient) {
  check_struct(gradient, "gradient", kGradientSize);
  if (gradient->elements != compressor.elements()) {
    throw InputError(fmt::format("gradient: elements: found {}, expected {}", gradient->elements,
                                 compressor.elements()));
  }
  return {.values = array(gradient->values, gradient->elements, "gradient: values"),
          .squares = gradient->squares == nullptr
                         ? std::span<const float>{}
                         : std::span(gradient->squares, gradient->elements),
          .step = gradient->step,
          .epoch = gradient->epoch,
          .shared_scale = gradient->shared_scale};
}

std::span<std::byte> payload_of(const Compressor& compressor, void* payload, std::size_t capacity) {
  if (capacity < compressor.max_encoded_size()) {
    throw InputError(
        fmt::format("payload: capacity: found {}, expected at least {} bytes "
                    "(max_encoded_size)",
                    capacity, compressor.max_encoded_size()));
  }
  return bytes(payload, capacity, "payload");
}

void write_report(thinpipe_report* given, const EncodeReport& report) {
  if (given == nullptr) return;
  fill(given, {.struct_size = sizeof(thinpipe_report),
               .encoded_bytes = report.encoded_bytes,
               .target_elements = report.target_elements,
               .selected_elements = report.selected_elements,
               .threshold = report.threshold,
               .passes = report.passes});
}

/// Returns the compressor as one that can do more. @throws InputError if it cannot.
template <class Ability>
Ability& as(Compressor& compressor, const char* member) {
  auto* const able = dynamic_cast<Ability*>(&compressor);
  if (able == nullptr) {
    throw InputError(
        fmt::format("this compressor cannot do that: see {} of thinpipe_properties", member));
  }
  return *able;
}

}  // namespace
}  // namespace thinpipe

using namespace thinpipe;

extern "C" {

uint32_t thinpipe_api(void) { return THINPIPE_API; }

const char* thinpipe_version(void) { return THINPIPE_VERSION; }

int thinpipe_open(const char* spec, const thinpipe_setup* setup, thinpipe_compressor** compressor,
                  thinpipe_error* error) {
  return guarded(error, [&] {
    require(spec, "spec");
    require(compressor, "compressor");
    *compressor = nullptr;
    check_struct(setup, "setup", kSetupSize);
    const Spec parsed = parse_spec(spec);
    auto handle = std::make_unique<thinpipe_compressor>();
    handle->spec = parameters_of(parsed).text();
    handle->compressor = make_compressor(parsed, tensor_of(*setup), settings_of(*setup));
    handle->properties = describe(*handle, parsed);
    *compressor = handle.release();
  });
}

void thinpipe_close(thinpipe_compressor* compressor) { delete compressor; }

int thinpipe_load_plugin(const char* file, thinpipe_error* error) {
  return guarded(error, [&] {
    require(file, "file");
    load_plugin(file);
  });
}

int thinpipe_describe(thinpipe_compressor* compressor, thinpipe_properties* properties,
                      thinpipe_error* error) {
  return locked(compressor, error, [&](const Compressor&) {
    check_struct(properties, "properties", kPropertiesSize);
    fill(properties, compressor->properties);
  });
}

int thinpipe_encode(thinpipe_compressor* compressor, const thinpipe_gradient* gradient,
                    void* payload, size_t capacity, thinpipe_report* report,
                    thinpipe_error* error) {
  return locked(compressor, error, [&](Compressor& own) {
    if (report != nullptr) check_struct(report, "report", kReportSize);
    write_report(report, own.encode(input_of(own, gradient), payload_of(own, payload, capacity)));
  });
}

int thinpipe_hold(thinpipe_compressor* compressor, const thinpipe_gradient* gradient,
                  thinpipe_error* error) {
  return locked(compressor, error, [&](Compressor& own) {
    if (own.period() == 1)
      throw InputError("this compressor exchanges in every step (period 1): call thinpipe_encode");
    own.hold(input_of(own, gradient));
  });
}

int thinpipe_decode_add(thinpipe_compressor* compressor, const void* payload, size_t size,
                        float factor, float* out, size_t elements, thinpipe_error* error) {
  return locked(compressor, error, [&](const Compressor& own) {
    if (elements != own.elements())
      throw InputError(
          fmt::format("out: elements: found {}, expected {}", elements, own.elements()));
    own.decode_add(bytes(payload, size, "payload"), factor, array(out, elements, "out"));
  });
}

int thinpipe_distortion(thinpipe_compressor* compressor, const thinpipe_gradient* gradient,
                        const void* payload, size_t size, double* error_squares,
                        double* input_squares, thinpipe_error* error) {
  return locked(compressor, error, [&](const Compressor& own) {
    require(error_squares, "error_squares");
    require(input_squares, "input_squares");
    const Distortion found =
        own.distortion(input_of(own, gradient), bytes(payload, size, "payload"));
    *error_squares = found.error_squares;
    *input_squares = found.input_squares;
  });
}

int thinpipe_prepare(thinpipe_compressor* compressor, const thinpipe_gradient* gradient,
                     float* scale, thinpipe_error* error) {
  return locked(compressor, error, [&](Compressor& own) {
    require(scale, "scale");
    *scale = as<SharedScale>(own, "shares_scale").prepare(input_of(own, gradient));
  });
}

int thinpipe_first_round(thinpipe_compressor* compressor, const thinpipe_gradient* gradient,
                         void* payload, size_t capacity, thinpipe_report* report,
                         thinpipe_error* error) {
  return locked(compressor, error, [&](Compressor& own) {
    if (report != nullptr) check_struct(report, "report", kReportSize);
    write_report(report,
                 as<MultiRound>(own, "rounds")
                     .first_round(input_of(own, gradient), payload_of(own, payload, capacity)));
  });
}

int thinpipe_next_round(thinpipe_compressor* compressor, const float* mean, size_t floats,
                        void* payload, size_t capacity, size_t* encoded_bytes,
                        thinpipe_error* error) {
  return locked(compressor, error, [&](Compressor& own) {
    require(encoded_bytes, "encoded_bytes");
    *encoded_bytes =
        as<MultiRound>(own, "rounds")
            .next_round(array(mean, floats, "mean"), payload_of(own, payload, capacity));
  });
}

int thinpipe_own_payload(thinpipe_compressor* compressor, void* payload, size_t capacity,
                         size_t* encoded_bytes, thinpipe_error* error) {
  return locked(compressor, error, [&](Compressor& own) {
    require(encoded_bytes, "encoded_bytes");
    *encoded_bytes = as<MultiRound>(own, "rounds").own_payload(payload_of(own, payload, capacity));
  });
}

int thinpipe_decode_pairs(thinpipe_compressor* compressor, const void* payload, size_t size,
                          uint32_t* positions, float* values, size_t capacity, size_t* pairs,
                          thinpipe_error* error) {
  return locked(compressor, error, [&](Compressor& own) {
    require(pairs, "pairs");
    const auto& sparse = as<SparsePayload>(own, "max_pairs");
    if (capacity < sparse.max_pairs())
      throw InputError(fmt::format("capacity: found {}, expected at least {} pairs (max_pairs)",
                                   capacity, sparse.max_pairs()));
    *pairs = sparse.decode_pairs(bytes(payload, size, "payload"),
                                 array(positions, capacity, "positions"),
                                 array(values, capacity, "values"));
  });
}

int thinpipe_give_back(thinpipe_compressor* compressor, const uint32_t* positions,
                       const float* values, size_t pairs, thinpipe_error* error) {
  return locked(compressor, error, [&](Compressor& own) {
    auto& sparse = as<SparsePayload>(own, "max_pairs");
    const std::span<const std::uint32_t> where = array(positions, pairs, "positions");
    // With the last position in range, as give_back() checks, all are.
    const auto found = std::adjacent_find(where.begin(), where.end(), std::greater_equal<>());
    if (found != where.end())
      throw InputError(fmt::format("positions: found {} after {}, expected ascending positions",
                                   *std::next(found), *found));
    sparse.give_back(where, array(values, pairs, "values"));
  });
}

int thinpipe_slices(const char* spec, size_t elements, int32_t workers, size_t* ends,
                    int32_t* count, thinpipe_error* error) {
  return guarded(error, [&] {
    require(spec, "spec");
    require(ends, "ends");
    require(count, "count");
    if (workers < 1)
      throw InputError(fmt::format("workers: found {}, expected at least 1", workers));
    const std::vector<std::size_t> found =
        slice_ends(parse_spec(spec), elements, static_cast<std::size_t>(workers));
    std::copy(found.begin(), found.end(), ends);
    *count = static_cast<std::int32_t>(found.size());
  });
}

int thinpipe_reset(thinpipe_compressor* compressor, thinpipe_error* error) {
  return locked(compressor, error, [](Compressor& own) { own.reset(); });
}

int thinpipe_save(thinpipe_compressor* compressor, const void** state, size_t* size,
                  thinpipe_error* error) {
  return locked(compressor, error, [&](const Compressor& own) {
    require(state, "state");
    require(size, "size");
    own.save_state(compressor->state);
    *state = compressor->state.data();
    *size = compressor->state.size();
  });
}

int thinpipe_load(thinpipe_compressor* compressor, const void* state, size_t size,
                  thinpipe_error* error) {
  return locked(compressor, error, [&](Compressor& own) {
    try {
      own.load_state(bytes(state, size, "state"));
    } catch (const InputError& refused) {
      own.reset();
      throw InputError(refused.what());  // not a PayloadError
    } catch (...) {
      own.reset();
      throw;
    }
  });
}

}  // extern "C"
