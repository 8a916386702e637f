// References for what a step ended with, none of which crossed the network: what an outer optimiser
// must make of it, what ranks of one machine sent, and projections of what others sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "workloads/exchange/outer_optimiser.h"
#include "workloads/replay/bucket.h"

namespace thinpipe {

/// Follows an outer optimiser from aggregate to aggregate, by another way and in double:
///   v_t = m v_(t-1) + x_t,  update = rate x_t + rate m v_t.
class OuterReference {
 public:
  explicit OuterReference(const OuterOptions& options) : options_(options) {}

  /// After every exchange that the optimiser has seen since the first one given here, with which it
  /// begins: that one's v is taken as it is. @param velocity  the optimiser's, after it
  void follow(std::span<const float> aggregate, std::span<const float> velocity);

  /// max |update - what it must be| / max |what it must be|, of the last one; NaN where it is that.
  /// 0 before the first.
  double error_of(std::span<const float> update) const;

 private:
  OuterOptions options_;
  std::vector<double> velocity_, expected_;
};

/// How far 16-bit sums are from the means of what was summed.
struct RoundingError {
  double relative = 0;  ///< max |sum - mean| / max |mean|; NaN where a NaN stands in either
  double of_bound = 0;  ///< max over elements of |sum - mean| / what rounding allows there
};

/// Contributions of all ranks, each decoded by its rank, side by side in memory: one file per rank
/// in the sandbox's scratch folder, mapped by all ranks.
class SharedContributions {
 public:
  static constexpr int kNone = -1;

  /// @param rank  whose own this process writes; kNone: it only reads
  /// @param elements  floats of one contribution, the same on every rank
  /// @throws SystemError naming the file when it cannot be made
  SharedContributions(const std::string& folder, int rank, int ranks, std::size_t elements);
  ~SharedContributions();
  SharedContributions(const SharedContributions&) = delete;
  SharedContributions& operator=(const SharedContributions&) = delete;

  /// This rank's own: to be filled before any rank compares.
  std::span<float> own();

  /// The pieces lie one after the other in a contribution. Returns the worst piece's max |piece -
  /// mean of all contributions| / max |mean|, the mean taken in double; without the division where
  /// all means are 0. NaN where a NaN stands in a piece or a contribution.
  double error_of(const std::vector<std::span<const float>>& pieces);
  /// The same against a reference that is not the mean, in place of it.
  double error_of(const std::vector<std::span<const float>>& pieces,
                  std::span<const float> reference) const;

  /// Among n ranks an element is rounded n times at most: at each of up to n - 1 additions, and
  /// when it, or the sum, is divided by n. A rounding changes it by a factor of 1 + u at most, u
  /// half a unit in the last place of 1, or by half the least number of the type where it is below
  /// its normal ones; sums of those are exact. With |c| the magnitudes that are summed, and u' = u
  /// + 2^-23 for the additions in 32 bits, |sum - mean| <= ((1 + u')^n - 1) * sum of |c| / n + (n +
  /// 1) * least / 2.
  RoundingError rounding_error_of(std::span<const float> aggregate,
                                  const std::vector<RoundedSum>& sums);

  /// Every rank's, by rank.
  std::vector<std::span<const float>> all();

  /// Values that belong at some place of a contribution.
  struct Place {
    std::span<const float> values;
    std::size_t from;
  };
  /// max |value - mean of all contributions there| / max |mean| over all elements; NaN likewise.
  double error_of_places(const std::vector<Place>& places);

 private:
  std::span<float> map(int rank);
  double mean(std::size_t element) const;

  std::string folder_;
  int rank_;
  std::size_t elements_;
  std::vector<std::span<float>> contributions_;
};

/// Elements that one sum stands for: few, so that the rounding of single-precision sums, which adds
/// up over a block, stays well below what an error of one element does.
inline constexpr std::size_t kProjectedBlock = 1024;

/// A short message that stands for a long array: what ranks on different machines tell of their
/// contributions, so that the aggregate can be held against them without crossing the network
/// again. One number for each block of up to kProjectedBlock elements: the sum of value times
/// weight in double precision. Weights are 0.5 to 1.5 with either sign, drawn from `seed` and the
/// element's place: the same on every machine. Linear: the mean of several ranks' projections is
/// the projection of their mean, and an error e in one element changes its block's by 0.5 e to 1.5
/// e. Errors in several elements cancel by a chance of about one in a million.
std::vector<double> project(std::span<const float> values, std::uint64_t seed);

/// Compares rank answers: `contributions[rank]` holds the projections of what that rank sent, piece
/// by piece; `results[rank]` those of its result, and `largest[rank]` max |value| of each piece.
/// @returns the greatest |result - mean of contributions| of a block over max |value| of its piece
/// (undivided where that is 0); infinity where a number is missing or not finite.
double projected_error(const std::vector<nlohmann::json>& contributions,
                       const std::vector<nlohmann::json>& results,
                       const std::vector<nlohmann::json>& largest);

}  // namespace thinpipe
