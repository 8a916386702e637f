// SIDCo: the threshold follows from a distribution fitted to the gradient.
#include "compressors/select/sidco.h"
#include "compressors/methods/sparse.h"

namespace thinpipe {
namespace {

SidcoDistribution distribution_of(const std::string& name) {
  if (name == "gamma") return SidcoDistribution::kGamma;
  return name == "gpareto" ? SidcoDistribution::kPareto : SidcoDistribution::kExponential;
}

const Registration kSidco{sparse_method({
    .name = "sidco",
    .summary = "magnitudes above a threshold from a fitted distribution, in stages",
    .source = "Abdelmoniem et al., SIDCo, section 2 and alg. 1; error feedback as in appendix B.2; "
              "dist=exp|gamma|gpareto are its E, GP and P",
    .ratio = "0.001",
    .parameters = {choice_parameter("dist", "exp", "distribution of the magnitudes",
                                    {"exp", "gamma", "gpareto"}),
                   choice_parameter("inverse", "approx",
                                    "the gamma distribution's quantile (dist=gamma)",
                                    {"approx", "exact"}),
                   choice_parameter("location", "threshold",
                                    "where a later stage's tail begins; min, of the published "
                                    "code: at the least magnitude in it",
                                    {"threshold", "min"}),
                   share_parameter("first", "0.25", "share that the first stage keeps"),
                   integer_parameter("stages", "0", "fixed number of stages; 0: adapted", 0, 32),
                   choice_parameter("adapt", "paper", "direction of the adaptation of stages",
                                    {"paper", "climb"}),
                   real_parameter("eps", "0.2", "tolerated deviation of the count from k", 0, 1),
                   integer_parameter("q", "5", "compressions between adaptations", 1, 1e6)},
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_sidco_selector(
              tensor.elements, {.ratio = ratio_of(parameters),
                                .distribution = distribution_of(parameters.choice("dist")),
                                .exact_gamma = parameters.choice("inverse") == "exact",
                                .location_min = parameters.choice("location") == "min",
                                .first_ratio = parameters.real("first"),
                                .fixed_stages = static_cast<int>(parameters.integer("stages")),
                                .climb = parameters.choice("adapt") == "climb",
                                .tolerance = parameters.real("eps"),
                                .every = static_cast<int>(parameters.integer("q"))});
        },
})};

}  // namespace
}  // namespace thinpipe
