// Four-bit integers in blocks: qgz is hadamard=false, sdp4bit hadamard=true.
#include "compressors/methods/block.h"

namespace thinpipe {
namespace {

const Registration kBlockInt4{block_method({
    .name = "blockint4",
    .summary = "4-bit integers with a scale per block",
    .source = "Wang et al., ZeRO++, section 3.3 (qgZ: block-based INT4), arXiv 2306.10209",
    .elements = {{"int4", BlockElement::kInt4}},
})};

}  // namespace
}  // namespace thinpipe
