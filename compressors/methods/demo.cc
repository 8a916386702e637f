// DeMo: what is left of a decaying momentum after its greatest cosine coefficients were sent.
#include <algorithm>
#include <cmath>

#include "compressors/encode/value_codec.h"
#include "compressors/methods/dense.h"
#include "compressors/quantize/demo.h"

namespace thinpipe {
namespace {

const Registration kDemo{dense_method({
    .name = "demo",
    .summary = "the greatest cosine coefficients of every chunk of a decaying momentum",
    .source = "Peng, Quesnelle and Kingma, DeMo, alg. 1, arXiv 2411.19870",
    .needs_whole = true,
    .memory = "residual",
    .decay = "0.999",
    .parameters = {choice_parameter("chunk", "64", "side of a chunk of a matrix, or its length",
                                    {"16", "32", "64"}),
                   integer_parameter("topk", "32", "coefficients sent of each chunk", 1, 4096),
                   choice_parameter("values", "fp32", "how coefficients are written",
                                    value_codec_names())},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_demo_quantizer({.shape = tensor.shape,
                                      .elements = tensor.elements,
                                      .chunk = std::stoul(parameters.choice("chunk")),
                                      .k = static_cast<std::size_t>(parameters.integer("topk")),
                                      .values = parameters.choice("values")});
        },
    // Of a matrix; of a vector's chunks, which are as long as a matrix's are wide, more is sent.
    .expected_bits =
        [](const Parameters& parameters) {
          const double side = std::stod(parameters.choice("chunk"));
          const double size = side * side;
          const double sent = std::min(static_cast<double>(parameters.integer("topk")), size);
          const auto codec = make_value_codec(parameters.choice("values"));
          return sent / size * (codec->expected_bits() + std::log2(size));
        },
})};

}  // namespace
}  // namespace thinpipe
