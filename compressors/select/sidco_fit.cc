// The fits.
#include "compressors/select/sidco_fit.h"

#include <cmath>

#include "compressors/select/sidco_excess.h"

namespace thinpipe {

FittedShape fit_pareto(double mean, double variance) { return pareto_shape(mean, variance); }

FittedShape fit_gamma(double mean, double mean_log) { return gamma_shape(mean, mean_log); }

double exponential_excess(double mean, double delta) { return mean * -std::log(delta); }

double pareto_excess(double mean, double variance, double delta) {
  return pareto_excess_of(mean, variance, -std::log(delta));
}

double gamma_excess(double mean, double mean_log, double delta, bool exact) {
  const double rarity = -std::log(delta);
  return exact ? gamma_exact_excess_of(mean, mean_log, delta, rarity)
               : gamma_excess_of(mean, mean_log, rarity);
}

}  // namespace thinpipe
