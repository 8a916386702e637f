// The parameter of Golomb-Rice codes and what it costs.
#pragma once

#include <cstddef>

namespace thinpipe {

/// The most bits of a remainder.
constexpr int kMaxGolombBits = 31;

/// b* = 1 + floor(log2(ln(phi - 1) / ln(1 - p))) of SBC eq. 5, phi the golden ratio, in
/// [0, kMaxGolombBits].
int golomb_bits(double density);

/// Mean bits a gap at density p with remainders of b bits: b + 1 / (1 - (1 - p)^(2^b)).
/// (SBC eq. 5: the mean of the unary part is the mean of floor((n - 1) / 2^b) plus its stop bit.)
double golomb_mean_bits(double density, int bits);

}  // namespace thinpipe
