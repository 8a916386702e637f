// Gradient dropping: one threshold on the magnitudes, what is dropped is added to the next
// gradient.
#include "compressors/methods/sparse.h"
#include "compressors/random.h"
#include "compressors/select/threshold.h"
#include "compressors/select/top_k.h"

namespace thinpipe {
namespace {

const Registration kGradientDropping{sparse_method({
    .name = "gradientdropping",
    .summary = "largest magnitudes by one threshold, exact or from a sample",
    .source = "Aji and Heafield, EMNLP 2017, alg. 1; section 3 samples 0.1 % (sample=0.001)",
    .ratio = "0.01",
    .parameters = {real_parameter(
        "sample", "0", "share of the elements sampled for the threshold; 0: exact", 0, 1)},
    .selector = [](const Parameters& parameters, const TensorInfo& tensor,
                   const CompressorSettings& settings) -> std::unique_ptr<Selector> {
      const double sample = parameters.real("sample");
      if (sample == 0) return make_top_k_selector(tensor.elements, ratio_of(parameters));
      return make_sampled_threshold_selector(tensor.elements,
                                             {.ratio = ratio_of(parameters),
                                              .sample = sample,
                                              .seed = settings.seed ^ hash_name(tensor.name)});
    },
})};

}  // namespace
}  // namespace thinpipe
