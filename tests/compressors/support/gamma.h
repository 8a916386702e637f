// Quantiles of gamma distributions by Boost.Math: the reference of exact_math.h's.
#pragma once

#include <boost/math/special_functions/gamma.hpp>

namespace thinpipe::testing {

/// Returns the x that a gamma variable of this shape and scale 1 exceeds with probability p in
/// (0, 1]. Arguments out of range give NaN or infinity, as in the C library.
inline double gamma_exceeded(double shape, double p) {
  using Quiet = boost::math::policies::policy<
      boost::math::policies::domain_error<boost::math::policies::ignore_error>,
      boost::math::policies::pole_error<boost::math::policies::ignore_error>,
      boost::math::policies::overflow_error<boost::math::policies::ignore_error>,
      boost::math::policies::underflow_error<boost::math::policies::ignore_error>,
      boost::math::policies::evaluation_error<boost::math::policies::ignore_error>>;
  return boost::math::gamma_q_inv(shape, p, Quiet());
}

}  // namespace thinpipe::testing
