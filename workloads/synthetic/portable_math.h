// Mathematical functions whose results have the same bits on every machine. The functions of libm
// differ between systems in the last bit. The tables of synthetic gradients are made with these
// portable functions, so that a seed gives the same values everywhere.
#pragma once

namespace thinpipe {

// The functions use only +, -, x, /, floor, fabs and changes of the exponent in double, all of which
// IEEE 754 defines to the bit. Relative errors are below 1e-14.

double portable_log(double x);        ///< x > 0 and normal
double portable_exp(double y);        ///< 0 if below 1e-300; |y| < 700
double portable_log1p(double y);      ///< log(1 + y), y > -1
double portable_expm1(double y);      ///< exp(y) - 1
double portable_log_gamma(double x);  ///< x > 0

/// Probabilities of lying below and above. The smaller one is not computed as 1 minus the other.
struct Tails {
  double lower = 0;
  double upper = 1;
};

/// Returns the lower and the upper tail of a gamma distribution of scale 1 at x >= 0. These are the
/// regularised incomplete gamma functions P(a, x) and Q(a, x), where a is `shape`.
Tails gamma_tails(double shape, double x);
/// Returns the tails of the magnitude of a standard normal number; x >= 0.
Tails normal_magnitude_tails(double x);
/// Returns the tails of the magnitude of Student's t; x >= 0.
Tails student_magnitude_tails(double degrees_of_freedom, double x);

/// Returns the standard normal's P(Z > z).
double normal_upper(double z);
/// Returns the z with normal_upper(z) = p, p in (0, 1).
double normal_upper_inverse(double p);

/// Returns the x > 0 at which the upper tail of a distribution equals p, or the lower tail if
/// `upper` is false. `tails` is the function of x that returns both tails, for x in 1e-290 ...
/// 1e290.
template <class Function>
double invert_tail(Function tails, double p, bool upper) {
  double low = -667, high = 667;  // of log x
  for (int i = 0; i < 64; ++i) {
    const double middle = 0.5 * (low + high);
    const Tails at = tails(portable_exp(middle));
    const bool too_small = upper ? at.upper > p : at.lower < p;
    (too_small ? low : high) = middle;
  }
  return portable_exp(0.5 * (low + high));
}

}  // namespace thinpipe
