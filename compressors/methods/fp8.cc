// Floats of eight bits in blocks; scale=e8m0,block=32 is MXFP8.
#include "compressors/methods/block.h"

namespace thinpipe {
namespace {

const Registration kFp8{block_method({
    .name = "fp8",
    .summary = "8-bit floats with a scale per block",
    .source = "Micikevicius et al., FP8 formats, arXiv 2209.05433; OCP OFP8 (2023)",
    .elements = {{"e4m3", BlockElement::kE4M3}, {"e5m2", BlockElement::kE5M2}},
    .block = "128",
})};

}  // namespace
}  // namespace thinpipe
