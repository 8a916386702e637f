// Local steps: the sum of several gradients as it is, exchanged at once.
#include "compressors/methods/dense.h"
#include "compressors/quantize/fp32.h"

namespace thinpipe {
namespace {

const Registration kFedAvg{dense_method({
    .name = "fedavg",
    .summary = "every element as a 32-bit float, the sum of several steps at once",
    .source =
        "McMahan et al., 2017, as in SBC section III (delay n); delay=2 is 3LC's `2 local steps`",
    .aggregation = Aggregation::kAllReduce,
    .delay = "100",
    .quantizer = [](const Parameters&, const TensorInfo&,
                    const CompressorSettings&) { return make_fp32_quantizer(); },
    .expected_bits = [](const Parameters&) { return 32.0; },
})};

}  // namespace
}  // namespace thinpipe
