/* What no compressor may do: every rank decodes something else. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "thinpipe_plugin.h"

static size_t max_size(const void* instance, size_t d) {
  (void)instance, (void)d;
  return sizeof(float);
}

static int encode(void* instance, const thinpipe_plugin_input* input, void* payload, size_t size,
                  thinpipe_plugin_report* report, thinpipe_plugin_error* error) {
  (void)instance, (void)error;
  const float first = input->elements > 0 && isfinite(input->values[0]) ? input->values[0] : 0;
  memcpy(payload, &first, size);
  report->encoded_bytes = size;
  return THINPIPE_PLUGIN_OK;
}

static int decode_add(const void* instance, const void* payload, size_t size, float factor,
                      float* out, size_t d, thinpipe_plugin_error* error) {
  (void)error;
  const char* rank = getenv("OMPI_COMM_WORLD_RANK");
  float first = NAN;
  if (size == max_size(instance, d)) memcpy(&first, payload, size);
  if (!isfinite(first)) return THINPIPE_PLUGIN_BAD_INPUT;
  if (d > 0) out[0] += factor * (first + 1e-3F * (float)(rank ? atoi(rank) : 0));
  return THINPIPE_PLUGIN_OK;
}

static const thinpipe_plugin_method method = {"uneven",
                                              "one element, another on every rank",
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
