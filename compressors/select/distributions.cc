// Distribution functions by Boost.Math, to a few units in the last place of a double.
#include "compressors/select/distributions.h"

#include <boost/math/special_functions/erf.hpp>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>
#include <numbers>

namespace thinpipe {
namespace {

/// Boost.Math policy under which arguments out of range give NaN or infinity, as in the C library.
/// So no exception interrupts a training step, and the selection decides what to do with such
/// values.
using Quiet = boost::math::policies::policy<
    boost::math::policies::domain_error<boost::math::policies::ignore_error>,
    boost::math::policies::pole_error<boost::math::policies::ignore_error>,
    boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::underflow_error<boost::math::policies::ignore_error>,
    boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;

}  // namespace

double normal_quantile(double p) {
  return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * p, Quiet());
}

double gamma_below(double shape, double x) { return boost::math::gamma_p(shape, x, Quiet()); }

double normal_below(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

}  // namespace thinpipe
