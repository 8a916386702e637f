// Random-k: sender and receivers draw the same positions, which therefore cost no bytes.
#include "compressors/methods/sparse.h"
#include "compressors/random.h"
#include "compressors/select/random_k.h"

namespace thinpipe {
namespace {

OwnParts make_parts(const Parameters& parameters, const TensorInfo& tensor,
                    const CompressorSettings& settings) {
  const bool unbiased = parameters.flag("scale");
  if (unbiased && parameters.choice("memory") != "none") {
    throw InputError("compressor randomk: scale=true needs memory=none, found memory=" +
                     parameters.choice("memory") +
                     "; what a memory adds again must not be multiplied as well");
  }
  if (parameters.choice("values") == "exp4" && parameters.choice("positions") == "seeded") {
    throw InputError(
        "compressor randomk: values=exp4 leaves out small values, so that receivers cannot know "
        "what was sent from positions=seeded; expected other values or positions");
  }
  auto drawn =
      std::make_shared<SeededPositions>(tensor.elements, settings.seed ^ hash_name(tensor.name));
  return {
      .selector = make_random_k_selector(tensor.elements, ratio_of(parameters), unbiased, drawn),
      .positions = make_seeded_codec(drawn)};
}

const Registration kRandomK{sparse_method({
    .name = "randomk",
    .summary = "random elements, the same positions for all workers",
    .source = "Stich et al., Sparsified SGD with memory, NeurIPS 2018; scale=true,memory=none is "
              "unbiased (Wangni et al., 2018)",
    .ratio = "0.01",
    .positions = "seeded",
    .parameters = {flag_parameter("scale", "false", "multiply values by d / k (memory=none only)")},
    .own = make_parts,
})};

}  // namespace
}  // namespace thinpipe
