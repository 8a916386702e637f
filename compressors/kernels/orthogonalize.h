// The columns of a tall array made orthonormal, the same bits on every machine.
#pragma once

#include <cstddef>
#include <span>

namespace thinpipe {

/// Orthonormalises the columns (arrays of `rows` finite floats), each against those before it, as
/// Gram and Schmidt do. One that depends on those before it, to a float's precision, becomes 0.
///
/// Products of all pairs of columns are known before the first is changed, so that a GPU has work
/// for all of it at once: their Cholesky factor L has the shares (P = Q L^T), and Q comes by
/// substitution, row by row. Of several columns all of it twice, since the first time leaves errors
/// where columns are nearly dependent: CholeskyQR2 (Fukaya et al., ScalA 2014), products in double
/// and dependent columns left out.
/// @param room  orthogonalize_room() doubles of so many columns, which are overwritten
void orthogonalize(std::span<float> columns, std::size_t rows, std::span<double> room);
std::size_t orthogonalize_room(std::size_t columns);

}  // namespace thinpipe
