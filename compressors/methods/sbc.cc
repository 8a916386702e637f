// Sparse Binary Compression: positions of one side of the distribution and one value.
#include "compressors/select/sbc.h"
#include "compressors/methods/sparse.h"

namespace thinpipe {
namespace {

const Registration kSbc{sparse_method({
    .name = "sbc",
    .summary = "positions of the largest or smallest elements and their mean",
    .source = "Sattler et al., Sparse Binary Compression, alg. 2, eq. 5; delay=10,p=0.01 is SBC(2)",
    .ratio_name = "p",
    .ratio = "0.001",
    .values = "mean",
    .positions = "golomb",
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_sbc_selector(tensor.elements, ratio_of(parameters, "p"));
        },
})};

}  // namespace
}  // namespace thinpipe
