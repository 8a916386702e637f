// Eight-bit integers in blocks.
#include "compressors/methods/block.h"

namespace thinpipe {
namespace {

const Registration kBlockInt8{block_method({
    .name = "blockint8",
    .summary = "8-bit integers with a scale per block",
    .source = "Wang et al., ZeRO++, section 3.1 (qwZ: block-based INT8), arXiv 2306.10209",
    .elements = {{"int8", BlockElement::kInt8}},
})};

}  // namespace
}  // namespace thinpipe
