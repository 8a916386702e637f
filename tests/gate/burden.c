/* A codec whose pass can be made longer by a known share, to see whether a gate finds it: one bit an
   element, its sign; TEST_BURDEN=0.05 in the environment reads 5 % of the elements twice. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "thinpipe_plugin.h"

static size_t max_size(const void* instance, size_t d) {
  (void)instance;
  return sizeof(float) + (d + 7) / 8;
}

/* Adds up magnitudes and sets the bits of negative elements. */
static double pass(const float* values, size_t count, unsigned char* bits) {
  double sum = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += fabs(values[i]);
    if (values[i] < 0) bits[i / 8] |= (unsigned char)(1u << i % 8);
  }
  return sum;
}

static int encode(void* instance, const thinpipe_plugin_input* input, void* payload, size_t size,
                  thinpipe_plugin_report* report, thinpipe_plugin_error* error) {
  (void)instance, (void)error;
  static volatile double sink;
  const char* burden = getenv("TEST_BURDEN");
  unsigned char* bits = (unsigned char*)payload + sizeof(float);
  memset(payload, 0, size);
  const double sum = pass(input->values, input->elements, bits);
  for (double left = burden ? atof(burden) : 0; left > 0; left -= 1)
    sink = pass(input->values, (size_t)((left < 1 ? left : 1) * (double)input->elements), bits);
  float scale = input->elements > 0 ? (float)(sum / (double)input->elements) : 0;
  if (!isfinite(scale)) scale = 0;
  memcpy(payload, &scale, sizeof scale);
  report->encoded_bytes = size;
  return THINPIPE_PLUGIN_OK;
}

static int decode_add(const void* instance, const void* payload, size_t size, float factor,
                      float* out, size_t d, thinpipe_plugin_error* error) {
  (void)error;
  const unsigned char* bits = (const unsigned char*)payload + sizeof(float);
  float scale = NAN;
  if (size == max_size(instance, d)) memcpy(&scale, payload, sizeof scale);
  if (!isfinite(scale) || signbit(scale)) return THINPIPE_PLUGIN_BAD_INPUT;
  const float value[2] = {factor * scale, -factor * scale};
  for (size_t i = 0; i < d; ++i) out[i] += value[bits[i / 8] >> i % 8 & 1];
  return THINPIPE_PLUGIN_OK;
}

static const thinpipe_plugin_method method = {"test-burden",
                                              "signs, and as much more work as is asked for",
                                              "none",
                                              THINPIPE_PLUGIN_ALL_GATHER,
                                              .memory = "none",
                                              .expected_bits = 1,
                                              .max_encoded_size = max_size,
                                              .encode = encode,
                                              .decode_add = decode_add};

const thinpipe_plugin* thinpipe_plugin_get(uint32_t host_abi) {
  static const thinpipe_plugin plugin = {THINPIPE_PLUGIN_HEAD, 1, &method};
  return host_abi == THINPIPE_PLUGIN_ABI ? &plugin : NULL;
}
