#include "compressors/compressor.h"

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

int rounds_of(const Compressor& compressor) {
  const auto* const several = dynamic_cast<const MultiRound*>(&compressor);
  return several == nullptr ? 1 : several->rounds();
}

}  // namespace thinpipe
