// Methods that each break the contract in one way, named after it. Their other functions send one
// byte and decode to nothing.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "thinpipe_plugin.h"

namespace {

using Error = thinpipe_plugin_error;
using Input = thinpipe_plugin_input;
using Report = thinpipe_plugin_report;
using Setup = thinpipe_plugin_setup;
using Method = thinpipe_plugin_method;

int good_create(const Setup*, void** instance, Error*) {
  *instance = new char;
  return THINPIPE_PLUGIN_OK;
}
void good_destroy(void* instance) { delete static_cast<char*>(instance); }
size_t good_size(const void*, size_t) { return 16; }
int good_encode(void*, const Input*, void* payload, size_t, Report* report, Error*) {
  std::memset(payload, 1, 1);
  report->encoded_bytes = 1;
  return THINPIPE_PLUGIN_OK;
}
int good_decode(const void*, const void*, size_t, float, float*, size_t, Error*) {
  return THINPIPE_PLUGIN_OK;
}
void good_reset(void*) {}
size_t good_state_size(const void*) { return 8; }
int good_save(const void*, void* state, size_t size, Error*) {
  std::memset(state, 7, size);
  return THINPIPE_PLUGIN_OK;
}
int good_load(void*, const void*, size_t, Error*) { return THINPIPE_PLUGIN_OK; }

int fail(Error* error, int status, const char* message) {
  std::snprintf(error->message, sizeof error->message, "%s", message);
  return status;
}

constexpr Method good(const char* name) {
  return {.name = name,
          .summary = "a broken method",
          .source = "a test",
          .aggregation = THINPIPE_PLUGIN_ALL_GATHER,
          .memory = "none",
          .expected_bits = 1,
          .create = good_create,
          .destroy = good_destroy,
          .max_encoded_size = good_size,
          .encode = good_encode,
          .decode_add = good_decode,
          .reset = good_reset,
          .state_size = good_state_size,
          .save = good_save,
          .load = good_load};
}

/// Returns a good method but for one member.
template <auto kMember>
Method broken(const char* name,
              std::remove_reference_t<decltype(std::declval<Method&>().*kMember)> value) {
  Method method = good(name);
  method.*kMember = value;
  return method;
}
constexpr auto creating = broken<&Method::create>;
constexpr auto sized = broken<&Method::max_encoded_size>;
constexpr auto encoding = broken<&Method::encode>;
constexpr auto decoding = broken<&Method::decode_add>;
constexpr auto saving = broken<&Method::save>;
constexpr auto loading = broken<&Method::load>;
constexpr auto summed_as = broken<&Method::aggregation>;

Method between_ranks(const char* name) {
  Method method = good(name);
  method.create = [](const Setup* setup, void** instance, Error*) {
    *instance = new char(static_cast<char>(setup->rank));
    return static_cast<int>(THINPIPE_PLUGIN_OK);
  };
  method.encode = [](void* instance, const Input*, void* payload, size_t, Report* report, Error*) {
    std::memcpy(payload, instance, 1);
    report->encoded_bytes = 1;
    return static_cast<int>(THINPIPE_PLUGIN_OK);
  };
  method.decode_add = [](const void* instance, const void* payload, size_t, float, float*, size_t,
                         Error* error) {
    return std::memcmp(payload, instance, 1) == 0
               ? static_cast<int>(THINPIPE_PLUGIN_OK)
               : fail(error, THINPIPE_PLUGIN_BAD_INPUT, "of another rank");
  };
  return method;
}

const Method kMethods[] = {
    encoding("throws",
             [](void*, const Input*, void*, size_t, Report*, Error*) -> int {
               throw std::runtime_error("out of ideas");
             }),
    encoding("throws-anything",
             [](void*, const Input*, void*, size_t, Report*, Error*) -> int { throw 5; }),
    encoding("writes-after",
             [](void* instance, const Input* input, void* payload, size_t size, Report* report,
                Error* error) {
               std::memset(payload, 0, size + 1);
               return good_encode(instance, input, payload, size, report, error);
             }),
    encoding("writes-before",
             [](void* instance, const Input* input, void* payload, size_t size, Report* report,
                Error* error) {
               static_cast<char*>(payload)[-1] = 0;
               return good_encode(instance, input, payload, size, report, error);
             }),
    encoding("says-too-much",
             [](void*, const Input*, void*, size_t size, Report* report, Error*) {
               report->encoded_bytes = size + 1;
               return 0;
             }),
    encoding("says-nothing", [](void*, const Input*, void*, size_t, Report*, Error*) { return 0; }),
    encoding("selects-too-many",
             [](void*, const Input* input, void*, size_t, Report* report, Error*) {
               report->encoded_bytes = 0;
               report->selected_elements = input->elements + 1;
               return 0;
             }),
    encoding("fails",
             [](void*, const Input*, void*, size_t, Report*, Error* error) {
               return fail(error, THINPIPE_PLUGIN_FAILED, "too tired");
             }),
    encoding("fails-silently",
             [](void*, const Input*, void*, size_t, Report*, Error*) -> int {
               return THINPIPE_PLUGIN_FAILED;
             }),
    encoding("fails-endlessly",
             [](void*, const Input*, void*, size_t, Report*, Error* error) -> int {
               std::memset(error->message, 'x', sizeof error->message);
               return THINPIPE_PLUGIN_FAILED;
             }),
    encoding("invents-a-status",
             [](void*, const Input*, void*, size_t, Report*, Error*) { return -3; }),
    decoding("cannot-decode",
             [](const void*, const void*, size_t, float, float*, size_t, Error* error) {
               return fail(error, THINPIPE_PLUGIN_BAD_INPUT, "never seen such a payload");
             }),
    // A worker's payloads are fine as long as nobody else gets them.
    between_ranks("cannot-decode-others"),
    decoding("decode-throws",
             [](const void*, const void*, size_t, float, float*, size_t, Error*) -> int {
               throw std::out_of_range("index");
             }),
    decoding("decodes-too-much",
             [](const void*, const void*, size_t, float, float* out, size_t elements, Error*) {
               out[elements] = 1;
               return 0;
             }),
    decoding("decodes-to-nan",
             [](const void*, const void*, size_t, float, float* out, size_t, Error*) {
               out[2] = std::nanf("");
               return 0;
             }),
    // The same payload to something else every time.
    decoding("decodes-otherwise",
             [](const void*, const void*, size_t, float, float* out, size_t, Error*) {
               static float calls = 0;
               out[0] += ++calls;
               return 0;
             }),
    creating("create-throws",
             [](const Setup*, void**, Error*) -> int { throw std::runtime_error("not today"); }),
    creating("refuses",
             [](const Setup*, void**, Error* error) {
               return fail(error, THINPIPE_PLUGIN_BAD_INPUT, "matrices only");
             }),
    creating("makes-nothing", [](const Setup*, void**, Error*) { return 0; }),
    creating("asks-wrongly",
             [](const Setup* setup, void** instance, Error* error) {
               setup->real(setup, "ratio");
               return good_create(setup, instance, error);
             }),
    creating("asks-for-null",
             [](const Setup* setup, void** instance, Error* error) {
               setup->choice(setup, nullptr);
               return good_create(setup, instance, error);
             }),
    summed_as("sums-no-floats", THINPIPE_PLUGIN_ALL_REDUCE),
    sized("wants-everything", [](const void*, size_t) { return ~size_t{0}; }),
    sized("size-throws", [](const void*, size_t) -> size_t { throw 1; }),
    saving("saves-too-much",
           [](const void*, void* state, size_t size, Error*) {
             std::memset(state, 1, size + 4);
             return 0;
           }),
    loading("cannot-load",
            [](void*, const void*, size_t, Error* error) {
              return fail(error, THINPIPE_PLUGIN_FAILED, "the disk is gone");
            }),
};

}  // namespace

const thinpipe_plugin* thinpipe_plugin_get(uint32_t) {
  static const thinpipe_plugin plugin = {THINPIPE_PLUGIN_HEAD, sizeof kMethods / sizeof kMethods[0],
                                         kMethods};
  return &plugin;
}
