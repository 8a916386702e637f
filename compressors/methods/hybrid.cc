// Variance-based compression with Strom's steps as values.
#include "compressors/encode/value_tau.h"
#include "compressors/methods/variance.h"

namespace thinpipe {
namespace {

const Registration kHybrid{sparse_method({
    .name = "hybrid",
    .summary = "steps of a fixed size where the sum is large and unambiguous",
    .source = "Tsuzuku et al., Variance-based Gradient Compression, section 4.5, fig. 2",
    .ratio_name = "",
    .values = "tau",
    .parameters = join({{tau_parameter()}, variance_parameters()}),
    .needs_squares = true,
    .own =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          const auto tau = static_cast<float>(parameters.real("tau"));
          return OwnParts{.selector = make_hybrid_selector(tensor.elements, tau,
                                                           variance_options(parameters, tensor)),
                          .values = make_tau_codec(tau)};
        },
    // Table 2, momentum SGD, the smaller of two thresholds.
    .density = [](const Parameters&) { return 1 / 470.9; },
})};

}  // namespace
}  // namespace thinpipe
