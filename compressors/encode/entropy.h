// The bound that position codecs are reported beside.
#pragma once

namespace thinpipe {

/// H(p)/p: bits a position that no code can go below on average when each element is selected with
/// probability p = `density`, independently (Shannon). H(p) = -p log2 p - (1-p) log2(1-p).
/// 0 at density 1; grows without bound towards 0.
/// @param density in (0, 1]
double position_entropy_bits(double density);

}  // namespace thinpipe
