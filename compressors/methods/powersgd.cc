// PowerSGD: factors that all workers share, by all-reduces; or every worker's own, gathered.
#include "compressors/quantize/powersgd.h"
#include "compressors/methods/dense.h"
#include "compressors/random.h"

namespace thinpipe {
namespace {

const Registration kPowerSgd{dense_method({
    .name = "powersgd",
    .summary = "matrices as products of two thin ones, warm-started; the rest as it is",
    .source = "Vogels, Karimireddy and Jaggi, PowerSGD, alg. 1 and 2, arXiv 1905.13727",
    .aggregation_with = exchanged_as,
    .needs_whole = true,
    .memory = "residual",
    .parameters =
        {integer_parameter("rank", "4", "columns of the factors; the paper's 1 to 4", 1, 256),
         flag_parameter("warm", "true", "begin with the last step's factor"),
         exchange_parameter("allreduce: the means of P, then of Q (alg. 1); allgather: every "
                            "worker's own P and Q")},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_powersgd_quantizer(
              {.shape = tensor.shape,
               .elements = tensor.elements,
               .rank = static_cast<std::size_t>(parameters.integer("rank")),
               .warm_start = parameters.flag("warm"),
               .seed = settings.seed ^ hash_name(tensor.name),
               .in_rounds = exchanged_as(parameters) == Aggregation::kAllReduce});
        },
    // Of a square matrix of 16 million elements; others depend on their shape.
    .expected_bits =
        [](const Parameters& parameters) {
          return 32 * 2 * static_cast<double>(parameters.integer("rank")) / 4096;
        },
})};

}  // namespace
}  // namespace thinpipe
