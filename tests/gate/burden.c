/* A codec whose pass can be made longer by a known share, to see whether a gate finds it: it sends the
   mean magnitude; TEST_BURDEN=0.05 in the environment reads 5 % of the elements twice. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "thinpipe_plugin.h"

static size_t max_size(const void* instance, size_t d) {
  (void)instance, (void)d;
  return sizeof(float);
}

static double sum_of(const float* values, size_t count) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) sum += fabs(values[i]);
  return sum;
}

static int encode(void* instance, const thinpipe_plugin_input* input, void* payload, size_t size,
                  thinpipe_plugin_report* report, thinpipe_plugin_error* error) {
  (void)instance, (void)error;
  static volatile double sink;
  const char* burden = getenv("TEST_BURDEN");
  const double d = (double)input->elements;
  const double sum = sum_of(input->values, input->elements);
  for (double left = burden ? atof(burden) : 0; left > 0; left -= 1)
    sink = sum_of(input->values, (size_t)((left < 1 ? left : 1) * d));
  float mean = d > 0 ? (float)(sum / d) : 0;
  if (!isfinite(mean)) mean = 0;
  memcpy(payload, &mean, size);
  report->encoded_bytes = size;
  return THINPIPE_PLUGIN_OK;
}

static int decode_add(const void* instance, const void* payload, size_t size, float factor,
                      float* out, size_t d, thinpipe_plugin_error* error) {
  (void)error;
  float mean = NAN;
  if (size == max_size(instance, d)) memcpy(&mean, payload, size);
  if (!isfinite(mean)) return THINPIPE_PLUGIN_BAD_INPUT;
  for (size_t i = 0; i < d; ++i) out[i] += factor * mean;
  return THINPIPE_PLUGIN_OK;
}

static const thinpipe_plugin_method method = {"test-burden",
                                              "a mean, and as much more work as is asked for",
                                              "none",
                                              THINPIPE_PLUGIN_ALL_GATHER,
                                              .memory = "none",
                                              .expected_bits = 0.01,
                                              .max_encoded_size = max_size,
                                              .encode = encode,
                                              .decode_add = decode_add};

const thinpipe_plugin* thinpipe_plugin_get(uint32_t host_abi) {
  static const thinpipe_plugin plugin = {THINPIPE_PLUGIN_HEAD, 1, &method};
  return host_abi == THINPIPE_PLUGIN_ABI ? &plugin : NULL;
}
