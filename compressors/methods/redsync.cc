// RedSync: a threshold between the mean and the greatest magnitude.
#include "compressors/select/redsync.h"
#include "compressors/methods/sparse.h"

namespace thinpipe {
namespace {

const Registration kRedSync{sparse_method({
    .name = "redsync",
    .summary = "magnitudes above a threshold bisected between mean and maximum",
    .source = "Fang et al., RedSync, 2019, algs. 2 (variant=trim) and 3; error feedback as in "
              "SIDCo appendix B.2",
    .parameters = {choice_parameter("variant", "bisect", "how the threshold is found",
                                    {"bisect", "trim"})},
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_redsync_selector(
              tensor.elements,
              {.ratio = ratio_of(parameters), .trim = parameters.choice("variant") == "trim"});
        },
})};

}  // namespace
}  // namespace thinpipe
