// Strom's method: steps of a fixed size where the residual exceeds it.
#include "compressors/encode/value_tau.h"
#include "compressors/methods/variance.h"

namespace thinpipe {
namespace {

const Registration kStrom{sparse_method({
    .name = "strom",
    .summary = "steps of a fixed size where the sum is larger, one bit each",
    .source = "Strom, Scalable distributed DNN training using commodity GPU cloud computing, "
              "Interspeech 2015",
    .ratio_name = "",
    .values = "tau",
    .parameters = {tau_parameter()},
    .own =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          const auto tau = static_cast<float>(parameters.real("tau"));
          return OwnParts{.selector = make_strom_selector(tensor.elements, tau),
                          .values = make_tau_codec(tau)};
        },
    // Tsuzuku et al., table 2, momentum SGD, the middle of three thresholds.
    .density = [](const Parameters&) { return 1 / 35.2; },
})};

}  // namespace
}  // namespace thinpipe
