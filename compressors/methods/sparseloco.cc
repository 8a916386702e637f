// SparseLoCo: the largest of every chunk of a decayed error feedback, two bits each.
#include "compressors/methods/chunks.h"
#include "compressors/methods/sparse.h"

namespace thinpipe {
namespace {

// The paper's 30 local steps are delay=30; a trace of plain gradients then sums 30 of them.
const Registration kSparseLoCo{sparse_method({
    .name = "sparseloco",
    .summary = "the k largest of every chunk, two bits each, decaying error feedback",
    .source = "Sarfi et al., SparseLoCo, section 3, alg. 1, arXiv 2508.15706",
    .ratio_name = "",
    .decay = "0.95",
    .values = "int2",
    .positions = "chunked",
    .parameters = {choice_parameter("chunk", "4096", "elements of a chunk",
                                    {"64", "256", "1024", "4096", "16384", "65536"}),
                   integer_parameter("k", "64", "elements sent of each chunk", 1, 65536)},
    .counted = true,
    .own =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          const Chunks chunks = chunks_of(parameters);
          return OwnParts{.selector = make_chunked_top_k_selector(tensor.elements, chunks),
                          .positions = make_chunked_codec(chunks)};
        },
    .density =
        [](const Parameters& parameters) {
          const Chunks chunks = chunks_of(parameters);
          return static_cast<double>(std::min(chunks.k, chunks.size)) /
                 static_cast<double>(chunks.size);
        },
})};

}  // namespace
}  // namespace thinpipe
