// Lengths of codes of gaps: the parameter of Golomb-Rice codes, and the entropy bound that is
// reported beside position codecs.
#pragma once

namespace thinpipe {

/// Greatest number of bits of a remainder.
constexpr int kMaxGolombBits = 31;

/// Returns b* = 1 + floor(log2(ln(phi - 1) / ln(1 - p))) of SBC eq. 5, phi the golden ratio, in
/// [0, kMaxGolombBits].
int golomb_bits(double density);

/// Returns the mean bits per gap at density p with remainders of b bits:
/// b + 1 / (1 - (1 - p)^(2^b)). (SBC eq. 5: the mean of the unary part is the mean of floor((n - 1)
/// / 2^b) plus its stop bit.)
double golomb_mean_bits(double density, int bits);

/// Returns H(p)/p: the bits per position below which no code can go on average when each element is
/// selected with probability p = `density`, independently (Shannon).
/// H(p) = -p log2 p - (1-p) log2(1-p). 0 at density 1; grows without bound towards 0.
/// @param density in (0, 1]
double position_entropy_bits(double density);

}  // namespace thinpipe
