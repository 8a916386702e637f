// Sparse Binary Compression: positions of one side of the distribution and one value.
#include "compressors/select/sbc.h"
#include "compressors/methods/sparse.h"
#include "compressors/random.h"

namespace thinpipe {
namespace {

const Registration kSbc{sparse_method({
    .name = "sbc",
    .summary = "positions of the largest or smallest elements and their mean",
    .source = "Sattler et al., Sparse Binary Compression, alg. 2, eq. 5; p=0.001 is SBC(1), "
              "p=0.01,delay=10 SBC(2), p=0.01,delay=100 SBC(3)",
    .ratio_name = "p",
    .ratio = "0.001",
    .values = "mean",
    .positions = "golomb",
    .parameters = {real_parameter(
        "sample", "0", "share of the elements sampled for the selection; 0: exact", 0, 1)},
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_sbc_selector(tensor.elements,
                                   {.ratio = ratio_of(parameters, "p"),
                                    .sample = parameters.real("sample"),
                                    .seed = settings.seed ^ hash_name(tensor.name)});
        },
})};

}  // namespace
}  // namespace thinpipe
