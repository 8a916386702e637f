// How long codes of gaps are: the parameter of Golomb-Rice codes, and the bound that position
// codecs are reported beside.
#pragma once

namespace thinpipe {

/// The most bits of a remainder.
constexpr int kMaxGolombBits = 31;

/// b* = 1 + floor(log2(ln(phi - 1) / ln(1 - p))) of SBC eq. 5, phi the golden ratio, in
/// [0, kMaxGolombBits].
int golomb_bits(double density);

/// Mean bits a gap at density p with remainders of b bits: b + 1 / (1 - (1 - p)^(2^b)).
/// (SBC eq. 5: the mean of the unary part is the mean of floor((n - 1) / 2^b) plus its stop bit.)
double golomb_mean_bits(double density, int bits);

/// H(p)/p: bits a position that no code can go below on average when each element is selected with
/// probability p = `density`, independently (Shannon). H(p) = -p log2 p - (1-p) log2(1-p).
/// 0 at density 1; grows without bound towards 0.
/// @param density in (0, 1]
double position_entropy_bits(double density);

}  // namespace thinpipe
