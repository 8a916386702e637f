/* Compiled for a version of the interface that is not this one. */
#include "thinpipe_plugin.h"

const thinpipe_plugin* thinpipe_plugin_get(uint32_t host_abi) {
  static const thinpipe_plugin plugin = {.abi = 7};
  (void)host_abi;
  return &plugin;
}
