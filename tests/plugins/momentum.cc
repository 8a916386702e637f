// Keeps its own memory: sends the running mean m = (m + g) / 2 as floats, so payloads can be
// summed.
#include <cstring>
#include <vector>

#include "thinpipe_plugin.h"

namespace {

using Mean = std::vector<float>;
Mean& self(void* instance) { return *static_cast<Mean*>(instance); }
const Mean& self(const void* instance) { return *static_cast<const Mean*>(instance); }

int create(const thinpipe_plugin_setup* setup, void** instance, thinpipe_plugin_error*) {
  *instance = new Mean(setup->elements, 0.0F);
  return THINPIPE_PLUGIN_OK;
}
void destroy(void* instance) { delete &self(instance); }
size_t max_size(const void*, size_t elements) { return 4 * elements; }

int encode(void* instance, const thinpipe_plugin_input* input, void* payload, size_t capacity,
           thinpipe_plugin_report* report, thinpipe_plugin_error*) {
  Mean& mean = self(instance);
  for (size_t i = 0; i < mean.size(); ++i) mean[i] = (mean[i] + input->values[i]) / 2;
  if (capacity > 0) std::memcpy(payload, mean.data(), capacity);
  report->encoded_bytes = capacity;
  return THINPIPE_PLUGIN_OK;
}
int decode_add(const void*, const void* payload, size_t size, float factor, float* out,
               size_t elements, thinpipe_plugin_error*) {
  if (size != 4 * elements) return THINPIPE_PLUGIN_BAD_INPUT;
  for (size_t i = 0; i < elements; ++i) {
    float value;
    std::memcpy(&value, static_cast<const char*>(payload) + 4 * i, 4);
    out[i] += factor * value;
  }
  return THINPIPE_PLUGIN_OK;
}

void reset(void* instance) { self(instance).assign(self(instance).size(), 0.0F); }
size_t state_size(const void* instance) { return 4 * self(instance).size(); }
int save(const void* instance, void* state, size_t size, thinpipe_plugin_error*) {
  if (size > 0) std::memcpy(state, self(instance).data(), size);
  return THINPIPE_PLUGIN_OK;
}
int load(void* instance, const void* state, size_t size, thinpipe_plugin_error* error) {
  if (size > 0) std::memcpy(self(instance).data(), state, size);
  for (float value : self(instance)) {
    if (value == value) continue;
    std::strcpy(error->message, "a mean is NaN");
    return THINPIPE_PLUGIN_BAD_INPUT;
  }
  return THINPIPE_PLUGIN_OK;
}

}  // namespace

const thinpipe_plugin* thinpipe_plugin_get(uint32_t) {
  static const thinpipe_plugin_method method = {.name = "test-momentum",
                                                .summary = "a running mean",
                                                .source = "a test",
                                                .aggregation = THINPIPE_PLUGIN_ALL_REDUCE,
                                                .expected_bits = 32,
                                                .create = create,
                                                .destroy = destroy,
                                                .max_encoded_size = max_size,
                                                .encode = encode,
                                                .decode_add = decode_add,
                                                .reset = reset,
                                                .state_size = state_size,
                                                .save = save,
                                                .load = load};
  static const thinpipe_plugin plugin = {THINPIPE_PLUGIN_HEAD, 1, &method};
  return &plugin;
}
