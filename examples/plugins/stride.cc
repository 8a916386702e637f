// Sends every n-th element, starting at another element in each step. Positions cost nothing, and
// with thinpipe's residual memory each element is sent in full every n steps.
// Payload: u32 first element, then an f32 for each element sent.
#include <cstring>

#include "thinpipe_plugin.h"

struct Stride {
  size_t n;
  size_t count(size_t first, size_t d) const { return (d + n - 1 - first) / n; }
};
static const Stride& self(const void* p) { return *static_cast<const Stride*>(p); }

static int create(const thinpipe_plugin_setup* setup, void** instance, thinpipe_plugin_error*) {
  *instance = new Stride{static_cast<size_t>(setup->integer(setup, "n"))};
  return THINPIPE_PLUGIN_OK;
}
static void destroy(void* p) { delete static_cast<Stride*>(p); }
static size_t max_size(const void* p, size_t d) { return 4 + 4 * self(p).count(0, d); }

static int encode(void* p, const thinpipe_plugin_input* input, void* payload, size_t,
                  thinpipe_plugin_report* report, thinpipe_plugin_error*) {
  const auto first = static_cast<uint32_t>(input->step % self(p).n);
  auto* out = static_cast<float*>(payload);
  std::memcpy(out, &first, 4);
  for (size_t i = first; i < input->elements; i += self(p).n) *++out = input->values[i];
  report->selected_elements = self(p).count(first, input->elements);
  report->encoded_bytes = 4 + 4 * report->selected_elements;
  return THINPIPE_PLUGIN_OK;
}

static int decode_add(const void* p, const void* payload, size_t size, float factor, float* out,
                      size_t d, thinpipe_plugin_error*) {
  uint32_t first = 0;
  if (size >= 4) std::memcpy(&first, payload, 4);
  const bool good = first < self(p).n && size == 4 + 4 * self(p).count(first, d);
  if (!good) return THINPIPE_PLUGIN_BAD_INPUT;
  for (size_t i = first, at = 4; i < d; i += self(p).n, at += 4) {
    float value;  // the payload is not aligned
    std::memcpy(&value, static_cast<const char*>(payload) + at, 4);
    out[i] += factor * value;
  }
  return THINPIPE_PLUGIN_OK;
}

static const thinpipe_plugin_parameter kParameters[] = {
    {"n", THINPIPE_PLUGIN_INTEGER, 0, "100", "distance between sent elements", 1, 1e6, nullptr}};

const thinpipe_plugin* thinpipe_plugin_get(uint32_t) {
  // clang-format off
  static const thinpipe_plugin_method method = {
      .name = "example-stride", .summary = "every n-th element, rotating", .source = "an example",
      .aggregation = THINPIPE_PLUGIN_ALL_GATHER, .parameter_count = 1, .parameters = kParameters,
      .memory = "residual", .expected_bits = 0.32, .create = create, .destroy = destroy,
      .max_encoded_size = max_size, .encode = encode, .decode_add = decode_add};
  // clang-format on
  static const thinpipe_plugin plugin = {THINPIPE_PLUGIN_HEAD, 1, &method};
  return &plugin;
}
