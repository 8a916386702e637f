// The quantisers of the methods, with their options. Each is defined with its method.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compressors/element_type.h"
#include "compressors/kernels/blocks.h"
#include "compressors/kernels/transforms.h"
#include "compressors/quantize/quantizer.h"
#include "compressors/registry.h"

namespace thinpipe {

/// Makes a quantiser that only copies: the payload is the array itself, 32-bit floats.
std::unique_ptr<Quantizer> make_fp32_quantizer();

// By bucket.

/// Makes a codec that rounds each element to the nearest 16-bit float, two bytes each.
std::unique_ptr<BucketCodec> make_half_bucket(HalfFormat format);

/// Makes the "8-bit int" of 3LC section 5.1: the greatest magnitude is 127 steps. A bucket: the
/// step as a 32-bit float, then one signed byte per element.
std::unique_ptr<BucketCodec> make_int8_bucket();

/// Makes the codec of natural compression (Horvath et al., 2019, definition 1): stochastic rounding
/// to a neighbouring power of two. A bucket: an 8-bit exponent per element, then the sign bits.
std::unique_ptr<BucketCodec> make_natural_bucket();

/// Makes the codec of QSGD (Alistarh et al., 2017, section 3.1). It rounds |c| stochastically to
/// the next lower or higher of the levels norm * l / s, with l = 0, 1, ... s and s = 2^(bits - 1) -
/// 1. A bucket: the step norm / s as a 32-bit float, then codes of `bits` bits.
std::unique_ptr<BucketCodec> make_qsgd_bucket(int bits);

/// Makes a codec of QSGD's levels that writes only levels other than 0, by Elias codes (QSGD
/// appendix A.2): the distance to the element before, the sign and the level. `largest` is the size
/// of the greatest bucket; the codec allocates a buffer for the codes of such a bucket.
std::unique_ptr<BucketCodec> make_qsgd_elias_bucket(int bits, std::size_t largest);

/// Makes the codec of TernGrad (Wen et al., 2017), eqs. 1 to 3 and 6 (clipping). With s the
/// greatest magnitude after clipping, an element becomes +-s (with its own sign) with probability
/// |c| / s, and 0 otherwise. A bucket: s as a 32-bit float, then codes of 2 bits.
/// @param sigmas  limit of magnitudes in standard deviations; 0: no clipping
std::unique_ptr<BucketCodec> make_terngrad_bucket(double sigmas);
/// Makes the quantiser of a whole tensor whose s all workers may share (section 4.3): a ScaleOf.
std::unique_ptr<Quantizer> make_shared_terngrad_quantizer(double sigmas, std::uint64_t stream);

/// Makes the codec of 1-bit SGD (Seide et al., 2014). An element x >= 0 decodes to the mean of all
/// x >= 0 of the bucket, an element x < 0 to the mean of all x < 0. A bucket: both means as 32-bit
/// floats, then the bits. The codec has the least squared error of all two-valued quantisers that
/// split at 0 (MQE in 3LC section 5.1).
std::unique_ptr<BucketCodec> make_two_means_bucket();

/// Makes a codec of mean |x| times the sign (EF-signSGD, Karimireddy et al., 2019). A bucket: the
/// mean magnitude as a 32-bit float, then the bits.
std::unique_ptr<BucketCodec> make_mean_magnitude_bucket();

/// Makes a codec of `scale` times the sign (signSGD, Bernstein et al., 2018). A bucket: the bits.
std::unique_ptr<BucketCodec> make_sign_bucket(float scale);

// By columns.

/// Returns the number of columns of the 2-D view with shape[0] rows; a tensor of fewer than two
/// dimensions is one column.
std::size_t columns_of(const std::vector<std::int64_t>& shape, std::size_t elements);

/// Makes the quantiser of 1-bit SGD by column (Seide et al., 2014, section 3.3). Each column of the
/// 2-D view with shape[0] rows has one mean of its x >= 0 and one of its x < 0. Payload: all means
/// of x >= 0, then those of x < 0, as 32-bit floats, then one bit per element in row-major order. A
/// tensor of fewer than two dimensions is one column.
std::unique_ptr<Quantizer> make_column_means_quantizer(const std::vector<std::int64_t>& shape,
                                                       std::size_t elements);

// Three values, scaled by the greatest magnitude: 3LC's and a stochastic variant.

struct TernaryOptions {
  float sparsity = 1;    ///< s in [1, 2): the scale is s * max |c|
  bool zero_run = true;  ///< zero-run encoding after quartic encoding
  /// +-1 with probability |c| / scale, instead of rounding (3LC section 5.1, "Stoch 3-value").
  bool stochastic = false;
  std::uint64_t stream = 0;  ///< random_stream() of the tensor, for stochastic
  /// Elements per scale, the last bucket may have fewer; 0: the whole tensor. Not with
  /// `stochastic`.
  std::size_t bucket = 0;
};

/// Makes a ternary quantiser. Payload: the scales of the buckets as 32-bit floats, then the quartic
/// bytes of one bucket after the other, zero-run encoded across buckets where that is set.
std::unique_ptr<Quantizer> make_ternary_quantizer(std::size_t elements,
                                                  const TernaryOptions& options);

/// Encodes runs of zeros in quartic bytes (kFirstRunByte): greedy from the left, longest runs
/// first. `out` has at least `count` bytes. @returns bytes written.
std::size_t zero_run_encode(const std::uint8_t* packed, std::size_t count, std::uint8_t* out);

// Blocks of elements with one scale each.

struct BlockOptions {
  BlockFormat format;
  std::uint64_t sign_seed = 1;  ///< of the rotation's signs: the same for all workers
  std::uint64_t stream = 1;     ///< of stochastic rounding: random_stream()
};

/// Makes a block quantiser. Payload: the blocks' scales, then the elements' codes
/// (docs/wire-format.md).
std::unique_ptr<Quantizer> make_block_quantizer(const BlockOptions& options);

/// Returns the format that the shared parameters of block methods give for elements of this type.
BlockFormat block_format_of(const Parameters& parameters, BlockElement element);

/// Returns the additions per element of a block's rotation by the fast Walsh-Hadamard transform; 0
/// for blocks that are not rotated. One rotation is enough, because the residual can be kept
/// rotated.
double rotation_adds(const BlockFormat& format);

// Uniform tensor homomorphic compression: elements are rotated, clamped to a range that all workers
// share, and rounded stochastically to levels. The codes could be summed without decoding.

struct ThcOptions {
  int bits = 4;                 ///< 4 or 8
  std::size_t block = 2048;     ///< elements rotated together: a power of two, 32 to kMaxBlock
  float range = 2.154F;         ///< range in root mean squares of the greatest block
  std::uint64_t sign_seed = 1;  ///< of the rotation's signs: the same for all workers
  std::uint64_t stream = 1;     ///< of stochastic rounding: random_stream()
};

/// Returns the format of blocks whose scale is given.
BlockFormat thc_format(int bits, std::size_t block);

/// Makes THC's quantiser. Payload: the distance between two neighbouring levels as a 32-bit float,
/// then the codes. The quantiser is a ScaleOf, whose scale is the greatest root mean square of any
/// block's rotated elements.
std::unique_ptr<Quantizer> make_thc_quantizer(const ThcOptions& options);

// PowerSGD: a matrix as the product of two thin factors.

struct PowerSgdOptions {
  std::vector<std::int64_t> shape;  ///< rows = shape[0], columns = product of the others
  std::size_t elements = 0;
  std::size_t rank = 4;
  bool warm_start = true;  ///< start from the last step's q (Vogels et al., section 3)
  std::uint64_t seed = 1;  ///< of the first q: the same for all workers
  bool in_rounds = true;   ///< workers share p: one all-reduce of p, one of q (alg. 1)
};

/// Makes PowerSGD's quantiser. Payload: p with orthonormal columns, then q = c^T p. In rounds
/// (QuantizerRounds), each worker first sends c q, and p is the orthonormalised mean over all
/// workers. In the second round, each worker sends c^T p, and q is the mean. A worker's own
/// contribution is the product of p and its own c^T p (alg. 2, line 7); it is subtracted from the
/// worker's memory. A tensor with fewer than two dimensions, or one that its factors would not make
/// smaller, is sent uncompressed (Vogels et al., section 3 and appendix E: biases are aggregated
/// uncompressed).
std::unique_ptr<Quantizer> make_powersgd_quantizer(const PowerSgdOptions& options);

/// Returns a tensor's matrix and the rank of its factors; rank 0 where the tensor is sent
/// uncompressed.
LowRankShape low_rank_shape(std::span<const std::int64_t> sides, std::size_t elements,
                            std::size_t rank);

/// Orthonormalises the columns (arrays of `rows` finite floats), each against the columns before
/// it, as Gram and Schmidt do. A column that depends on those before it, to a float's precision,
/// becomes 0.
///
/// The algorithm is CholeskyQR2 (Fukaya et al., ScalA 2014), with products in double and dependent
/// columns left out. The products of all pairs of columns are computed before the first column
/// changes, so that a GPU has work for all columns at once. They form P^T P = L L^T, whose Cholesky
/// factor L holds the projections: P = Q L^T. Q follows by substitution, row by row. Several
/// columns are orthonormalised twice: the first time leaves errors where columns are nearly
/// dependent, and the second time starts from nearly orthonormal columns, so that only rounding
/// errors remain.
/// @param workspace  orthogonalize_workspace() doubles, which are overwritten
void orthogonalize(std::span<float> columns, std::size_t rows, std::span<double> workspace);
/// Returns the doubles of workspace for so many columns.
std::size_t orthogonalize_workspace(std::size_t columns);

// DeMo: the greatest cosine coefficients of every chunk.

/// A matrix cut into chunks of height x width; chunks at the edges reach beyond the matrix.
struct DemoGrid {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t height = 1;  ///< a power of two, as is the width
  std::size_t width = 1;

  std::size_t across() const { return (columns + width - 1) / width; }
  std::size_t chunks() const { return rows == 0 ? 0 : (rows + height - 1) / height * across(); }
  std::size_t size() const { return height * width; }
  std::size_t coefficients() const { return chunks() * size(); }
};

/// Returns a tensor's grid.
/// @param chunk  side of a chunk: a power of two
inline DemoGrid demo_grid(std::span<const std::int64_t> shape, std::size_t elements,
                          std::size_t chunk) {
  DemoGrid grid;
  if (elements == 0) return grid;
  const bool matrix = shape.size() >= 2;
  grid.rows = matrix ? static_cast<std::size_t>(shape[0]) : 1;
  grid.columns = elements / grid.rows;
  grid.height = std::min(chunk, std::bit_ceil(grid.rows));
  grid.width = std::min(chunk, std::bit_ceil(grid.columns));
  return grid;
}

struct DemoOptions {
  std::vector<std::int64_t> shape;  ///< rows = shape[0], columns = product of the others
  std::size_t elements = 0;
  std::size_t chunk = 64;       ///< side of a chunk: a power of two, at most kMaxDct
  std::size_t k = 32;           ///< coefficients sent per chunk
  std::string values = "fp32";  ///< name of a value codec
};

/// Makes DeMo's quantiser. Payload: that of a sparse method over the coefficients, with `chunked`
/// positions.
std::unique_ptr<Quantizer> make_demo_quantizer(const DemoOptions& options);

}  // namespace thinpipe
