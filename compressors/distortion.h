// How far what receivers decode is from what was to be sent.
#pragma once

#include <cmath>

namespace thinpipe {

/// Sums of squares, so that the distortions of several tensors add up to that of all of them.
struct Distortion {
  double error_squares = 0;  ///< |decoded - c|^2
  double input_squares = 0;  ///< |c|^2, c being what was compressed: gradient plus memory

  /// |decoded - c| / |c| (L2); 0 when c is all zeros.
  double relative() const {
    return input_squares == 0 ? 0 : std::sqrt(error_squares / input_squares);
  }
  Distortion& operator+=(const Distortion& other) {
    error_squares += other.error_squares;
    input_squares += other.input_squares;
    return *this;
  }
};

}  // namespace thinpipe
