// Defaults of the Compressor interface.
#include "compressors/compressor.h"

#include <stdexcept>

namespace thinpipe {

const char* to_string(Aggregation aggregation) {
  switch (aggregation) {
    case Aggregation::kAllReduce:
      return "allreduce";
    case Aggregation::kAllGather:
      return "allgather";
  }
  return "unknown";
}

float Compressor::prepare(const GradientInput& /*gradient*/) {
  throw std::logic_error("prepare() of a compressor that shares no scale");
}

// A driver only calls hold() between the exchanges of a period longer than 1.
void Compressor::hold(const GradientInput& /*gradient*/) {
  throw std::logic_error("hold() of a compressor that exchanges in every step");
}

}  // namespace thinpipe
