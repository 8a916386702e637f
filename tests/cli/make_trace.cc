// A small trace for the snapshot tests: always the same bytes but for times of capture.
#include <cstdio>
#include <exception>

#include "tests/trace/sample_trace.h"
int main(int count, char** words) {
  if (count != 2) {
    std::fprintf(stderr, "usage: thinpipe-make-trace DIR\n");
    return 2;
  }
  try {
    thinpipe::write_sample_trace(words[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "thinpipe-make-trace: %s\n", error.what());
    return 4;
  }
  return 0;
}
