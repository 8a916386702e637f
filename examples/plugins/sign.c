/* Sends the sign of each element and the mean magnitude; thinpipe's residual memory has the rest.
   Payload: f32 scale, then ceil(d / 8) bytes, element i in bit i % 8 of byte i / 8, 1 for c < 0. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "thinpipe_plugin.h"

static size_t max_size(const void* instance, size_t d) {
  (void)instance;
  return sizeof(float) + (d + 7) / 8;
}

static int encode(void* instance, const thinpipe_plugin_input* input, void* payload, size_t size,
                  thinpipe_plugin_report* report, thinpipe_plugin_error* error) {
  (void)instance, (void)error;
  unsigned char* bits = (unsigned char*)payload + sizeof(float);
  double sum = 0;
  memset(payload, 0, size);
  for (size_t i = 0; i < input->elements; ++i) {
    sum += fabs(input->values[i]);
    if (input->values[i] < 0) bits[i / 8] |= (unsigned char)(1u << i % 8);
  }
  float scale = input->elements > 0 ? (float)(sum / (double)input->elements) : 0;
  if (!isfinite(scale)) scale = 0; /* a NaN would spread to every element */
  memcpy(payload, &scale, sizeof scale);
  report->encoded_bytes = size;
  return THINPIPE_PLUGIN_OK;
}

static int decode_add(const void* instance, const void* payload, size_t size, float factor,
                      float* out, size_t d, thinpipe_plugin_error* error) {
  const unsigned char* bits = (const unsigned char*)payload + sizeof(float);
  float scale = NAN;
  if (size == max_size(instance, d)) memcpy(&scale, payload, sizeof scale);
  if (!isfinite(scale) || signbit(scale)) {
    snprintf(error->message, sizeof error->message, "%zu bytes or scale %g is wrong", size, scale);
    return THINPIPE_PLUGIN_BAD_INPUT;
  }
  const float value[2] = {factor * scale, -factor * scale};
  for (size_t i = 0; i < d; ++i) out[i] += value[bits[i / 8] >> i % 8 & 1];
  return THINPIPE_PLUGIN_OK;
}

static const thinpipe_plugin_method method = {"example-sign",
                                              "signs and their mean magnitude",
                                              "Karimireddy et al., 2019, algorithm 2",
                                              THINPIPE_PLUGIN_ALL_GATHER,
                                              .memory = "residual",
                                              .expected_bits = 1,
                                              .max_encoded_size = max_size,
                                              .encode = encode,
                                              .decode_add = decode_add};

const thinpipe_plugin* thinpipe_plugin_get(uint32_t host_abi) {
  static const thinpipe_plugin plugin = {THINPIPE_PLUGIN_HEAD, 1, &method};
  return host_abi == THINPIPE_PLUGIN_ABI ? &plugin : NULL;
}
