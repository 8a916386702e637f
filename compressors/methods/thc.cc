// THC with evenly spread levels; its payloads are gathered here, not summed by a switch.
#include "compressors/quantize/thc.h"
#include "compressors/kernels/counter_random.h"
#include "compressors/methods/dense.h"

namespace thinpipe {
namespace {

const Registration kThc{dense_method({
    .name = "thc",
    .summary = "rotated, clamped to a shared range, stochastic levels",
    .source = "Li et al., THC, NSDI 2024, sections 4 and 5 (Uniform THC), arXiv 2302.08545",
    .memory = "residual",
    .parameters = {choice_parameter("bits", "4", "bits an element", {"4", "8"}),
                   choice_parameter("block", "2048", "elements rotated together",
                                    {"32", "64", "128", "256", "512", "1024", "2048"}),
                   // Of a normal distribution, 1 in 32 lies outside 2.154 standard deviations: the
                   // paper's share p.
                   above_minimum(real_parameter(
                       "range", "2.154", "root mean squares at which rotated elements are clamped",
                       0, 1000))},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_thc_quantizer(
              {.bits = std::stoi(parameters.choice("bits")),
               .block = std::stoul(parameters.choice("block")),
               .range = static_cast<float>(parameters.real("range")),
               .sign_seed = settings.seed ^ hash_name(tensor.name),
               .stream = random_stream(settings.seed, settings.rank, tensor.name)});
        },
    .expected_bits =
        [](const Parameters& parameters) { return std::stod(parameters.choice("bits")); },
})};

}  // namespace
}  // namespace thinpipe
