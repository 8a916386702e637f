// Variance-based compression: an element waits until its sum stands out from its variance.
#include "compressors/methods/variance.h"

namespace thinpipe {
namespace {

/// Tsuzuku et al., table 2, momentum SGD: parameters over parameters sent at alpha 1, 1.5 and 2.
double density_of(const Parameters& parameters) {
  const double alpha = parameters.real("alpha");
  return 1 / (alpha < 1.25 ? 103.8 : alpha < 1.75 ? 400.7 : 990.7);
}

const Registration kVariance{sparse_method({
    .name = "variance",
    .summary = "elements whose sum is unambiguous, by the variance over the batch",
    .source = "Tsuzuku et al., Variance-based Gradient Compression, fig. 1, eq. 3",
    .ratio_name = "",
    .memory = "clear",
    .values = "exp4",
    .positions = "index28",
    .parameters = variance_parameters(),
    .needs_squares = true,
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_variance_selector(tensor.elements, variance_options(parameters, tensor));
        },
    .density = density_of,
})};

}  // namespace
}  // namespace thinpipe
