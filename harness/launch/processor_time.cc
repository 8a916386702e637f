#include "harness/launch/processor_time.h"

#include <fstream>
#include <string>

namespace thinpipe {

ProcessorTime processor_time() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;  // "cpu": user nice system idle iowait irq softirq steal (guests are in user)
  ProcessorTime time;
  double value = 0;
  for (int column = 0; column < 8 && file >> value; ++column) {
    time.all += value;
    if (column == 3 || column == 4) time.idle += value;
  }
  return time;
}

}  // namespace thinpipe
