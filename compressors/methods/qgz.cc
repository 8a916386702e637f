// ZeRO++ qgZ, as far as the payload goes: its two-hop all-to-all is an exchange of its own.
#include "compressors/methods/block.h"

namespace thinpipe {
namespace {

const Registration kQgz{block_method({
    .name = "qgz",
    .summary = "4-bit integers with a scale per block (blockint4)",
    .source = "Wang et al., ZeRO++, section 3.3 (qgZ), arXiv 2306.10209",
    .elements = {{"int4", BlockElement::kInt4}},
})};

}  // namespace
}  // namespace thinpipe
