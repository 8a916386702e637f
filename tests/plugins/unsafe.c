/* Methods that end or stop the process that runs them. */
#include <stdlib.h>
#include <unistd.h>

#include "thinpipe_plugin.h"

static size_t max_size(const void* instance, size_t d) {
  (void)instance, (void)d;
  return 1;
}

static int crash(void* instance, const thinpipe_plugin_input* input, void* payload, size_t size,
                 thinpipe_plugin_report* report, thinpipe_plugin_error* error) {
  (void)instance, (void)input, (void)payload, (void)size, (void)report, (void)error;
  abort();
}

static int hang(void* instance, const thinpipe_plugin_input* input, void* payload, size_t size,
                thinpipe_plugin_report* report, thinpipe_plugin_error* error) {
  (void)instance, (void)input, (void)payload, (void)size, (void)report, (void)error;
  for (;;) pause();
  return THINPIPE_PLUGIN_FAILED;
}

static int leave(void* instance, const thinpipe_plugin_input* input, void* payload, size_t size,
                 thinpipe_plugin_report* report, thinpipe_plugin_error* error) {
  (void)instance, (void)input, (void)payload, (void)size, (void)report, (void)error;
  exit(0);
}

static int decode_add(const void* instance, const void* payload, size_t size, float factor,
                      float* out, size_t d, thinpipe_plugin_error* error) {
  (void)instance, (void)payload, (void)size, (void)factor, (void)out, (void)d, (void)error;
  return THINPIPE_PLUGIN_OK;
}

#define METHOD(method_name, function)                                                \
  {                                                                                  \
    .name = method_name, .summary = "unsafe", .source = "a test",                    \
    .aggregation = THINPIPE_PLUGIN_ALL_GATHER, .memory = "none", .expected_bits = 1, \
    .max_encoded_size = max_size, .encode = function, .decode_add = decode_add       \
  }

static const thinpipe_plugin_method methods[] = {METHOD("crashes", crash), METHOD("hangs", hang),
                                                 METHOD("exits", leave)};

const thinpipe_plugin* thinpipe_plugin_get(uint32_t host_abi) {
  static const thinpipe_plugin plugin = {THINPIPE_PLUGIN_HEAD, 3, methods};
  return host_abi == THINPIPE_PLUGIN_ABI ? &plugin : NULL;
}
