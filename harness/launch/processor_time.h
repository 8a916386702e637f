// How busy this machine's processors have been.
#pragma once

namespace thinpipe {

/// Time of all processors of the machine since it booted, in clock ticks.
struct ProcessorTime {
  double idle = 0, all = 0;
};
ProcessorTime processor_time();

}  // namespace thinpipe
