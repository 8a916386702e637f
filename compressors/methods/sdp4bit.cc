// SDP4Bit's gradients between nodes: 4 bits after a Hadamard transform.
#include "compressors/methods/block.h"

namespace thinpipe {
namespace {

const Registration kSdp4Bit{block_method({
    .name = "sdp4bit",
    .summary = "4-bit integers with a scale per rotated block (blockint4:hadamard=true)",
    .source = "Jia et al., SDP4Bit, section 3.2 (Hadamard smoother), arXiv 2410.15526",
    .elements = {{"int4", BlockElement::kInt4}},
    .block = "128",
    .hadamard = "true",
})};

}  // namespace
}  // namespace thinpipe
