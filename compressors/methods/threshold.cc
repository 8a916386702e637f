// Hard threshold: what exceeds a fixed magnitude is sent.
#include "compressors/select/threshold.h"

#include <limits>

#include "compressors/methods/sparse.h"

namespace thinpipe {
namespace {

const Registration kThreshold{sparse_method({
    .name = "threshold",
    .summary = "every magnitude above a fixed threshold",
    .source = "Dutta et al., AAAI 2020, and Sahu et al., NeurIPS 2021 (hard threshold)",
    .ratio_name = "",
    .parameters = {real_parameter("tau", "0.01", "magnitude that must be exceeded", 0,
                                  std::numeric_limits<float>::max())},
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_threshold_selector(tensor.elements, parameters.real("tau"));
        },
    // What listings assume: it depends on the gradient alone.
    .density = [](const Parameters&) { return 0.01; },
})};

}  // namespace
}  // namespace thinpipe
