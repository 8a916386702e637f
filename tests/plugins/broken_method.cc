// A good method and one without functions: neither may be registered.
#include "thinpipe_plugin.h"

static size_t max_size(const void*, size_t) { return 4; }
static int encode(void*, const thinpipe_plugin_input*, void*, size_t, thinpipe_plugin_report*,
                  thinpipe_plugin_error*) {
  return THINPIPE_PLUGIN_FAILED;
}
static int decode_add(const void*, const void*, size_t, float, float*, size_t,
                      thinpipe_plugin_error*) {
  return THINPIPE_PLUGIN_FAILED;
}

const thinpipe_plugin* thinpipe_plugin_get(uint32_t) {
  static const thinpipe_plugin_method methods[] = {
      {.name = "half-good",
       .summary = "complete",
       .source = "a test",
       .aggregation = THINPIPE_PLUGIN_ALL_GATHER,
       .expected_bits = 1,
       .max_encoded_size = max_size,
       .encode = encode,
       .decode_add = decode_add},
      {.name = "half-bad", .summary = "without functions", .source = "a test"}};
  static const thinpipe_plugin plugin = {THINPIPE_PLUGIN_HEAD, 2, methods};
  return &plugin;
}
