// Deep Gradient Compression: sampled threshold, momentum correction, masked momentum.
#include "compressors/select/dgc.h"
#include "compressors/methods/sparse.h"
#include "compressors/random.h"

namespace thinpipe {
namespace {

Sampling sampling_of(const std::string& name) {
  if (name == "lines") return Sampling::kLines;
  return name == "strided" ? Sampling::kStrided : Sampling::kUniform;
}

const Registration kDgc{sparse_method({
    .name = "dgc",
    .summary = "largest magnitudes by a sampled threshold, with momentum correction",
    .source = "Lin et al., Deep Gradient Compression, sections 3 and 5, alg. 1 (encode)",
    .ratio = "0.001",
    .memory = "momentum",
    .positions = "run16",
    .parameters = {share_parameter("sample", "0.01", "share of the elements sampled"),
                   choice_parameter("sampling", "uniform", "how elements are sampled",
                                    {"uniform", "strided", "lines"})},
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_dgc_selector(tensor.elements,
                                   {.ratio = ratio_of(parameters),
                                    .sample = parameters.real("sample"),
                                    .sampling = sampling_of(parameters.choice("sampling")),
                                    .seed = settings.seed ^ hash_name(tensor.name)});
        },
})};

}  // namespace
}  // namespace thinpipe
