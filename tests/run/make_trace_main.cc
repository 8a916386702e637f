// make_trace FOLDER RANKS STEPS ELEMENTS COMPUTE_SECONDS: a synthetic trace for the tests beside it.
#include <cstdlib>

#include "tests/trace/sample_trace.h"

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  thinpipe::SampleTrace what;
  what.ranks = std::strtoul(argv[2], nullptr, 10);
  what.steps = std::strtoul(argv[3], nullptr, 10);
  const auto elements = static_cast<std::int64_t>(std::strtol(argv[4], nullptr, 10));
  what.shapes = {{elements / 3}, {elements - elements / 3}};
  what.compute_seconds = std::strtod(argv[5], nullptr);
  thinpipe::write_sample_trace(argv[1], what);
  return 0;
}
