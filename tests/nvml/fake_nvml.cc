// A fake of NVIDIA's management library: one GPU, whose memory clock cannot be read.
#include <cstdio>
#include <cstring>

extern "C" {
int nvmlInit_v2();
int nvmlSystemGetDriverVersion(char* version, unsigned length);
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device);
int nvmlDeviceGetClockInfo(void* device, int clock, unsigned* megahertz);

int nvmlInit_v2() { return 0; }
int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return std::snprintf(version, length, "580.1") > 0 ? 0 : 1;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  static int card = 0;
  *device = &card;
  return std::strcmp(bus, "0000:0a:00.0") == 0 ? 0 : 6;  // 6: not found
}
int nvmlDeviceGetClockInfo(void* /*device*/, int clock, unsigned* megahertz) {
  *megahertz = 1980;
  return clock == 1 ? 0 : 3;  // 3: not supported
}
}
