// Floats of four bits, 32 to a power of two.
#include "compressors/methods/block.h"

namespace thinpipe {
namespace {

const Registration kMxFp4{block_method({
    .name = "mxfp4",
    .summary = "4-bit floats (E2M1) with a power of two per 32",
    .source = "OCP Microscaling Formats (MX) v1.0, sections 5.3 and 6.3; arXiv 2310.10537",
    .elements = {{"e2m1", BlockElement::kE2M1}},
    .block = "32",
    .scale = "e8m0",
})};

}  // namespace
}  // namespace thinpipe
