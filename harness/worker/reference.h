// References for a step's results, none of which crossed the network: the expected update of an
// outer optimiser, contributions of ranks on one machine, and projections of other ranks'
// contributions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "workloads/collectives/outer_optimiser.h"
#include "workloads/replay/bucket.h"

namespace thinpipe {

/// Follows an outer optimiser from aggregate to aggregate, by another formula and in double:
///   v_t = m v_(t-1) + x_t,  update = rate x_t + rate m v_t.
class OuterReference {
 public:
  explicit OuterReference(const OuterOptions& options) : options_(options) {}

  /// Advances v by an aggregate. The first call takes v from the optimiser. From then on it must be
  /// called after every exchange.
  /// @param velocity  the optimiser's, after the exchange
  /// @param turn  the elements that were exchanged
  void follow(std::span<const float> aggregate, std::span<const float> velocity, ElementRange turn);

  /// Returns max |update - expected| / max |expected| of the last exchange; NaN if any value is
  /// NaN. 0 before the first exchange.
  double error_of(std::span<const float> update) const;

 private:
  OuterOptions options_;
  std::vector<double> velocity_, expected_;
};

/// The error of 16-bit sums, relative to the means of the contributions.
struct RoundingError {
  double relative = 0;  ///< max |sum - mean| / max |mean|; NaN if any value is NaN
  double of_bound = 0;  ///< max over elements of |sum - mean| / the element's rounding bound
};

/// Contributions of all ranks in shared memory, each decoded by its rank: one file per rank in the
/// sandbox's scratch folder, mapped by all ranks.
class SharedContributions {
 public:
  static constexpr int kNone = -1;

  /// @param rank  whose contribution this process writes; kNone: it only reads
  /// @param elements  floats of one contribution, the same on every rank
  /// @throws SystemError naming a file that cannot be made
  SharedContributions(const std::string& folder, int rank, int ranks, std::size_t elements);
  ~SharedContributions();
  SharedContributions(const SharedContributions&) = delete;
  SharedContributions& operator=(const SharedContributions&) = delete;

  /// Returns this rank's contribution, to be filled before any rank compares.
  std::span<float> own();

  /// Returns the greatest error of the results in `pieces`. A result's error is max |result - mean
  /// of all contributions| / max |mean|, with the mean taken in double. It is not divided where all
  /// means are 0. NaN if any value is NaN.
  /// @param pieces  results, one after the other as in a contribution
  double error_of(const std::vector<std::span<const float>>& pieces);
  /// Returns the same for a reference instead of the mean.
  double error_of(const std::vector<std::span<const float>>& pieces,
                  std::span<const float> reference) const;

  /// Returns the error of 16-bit sums. Among n ranks an element is rounded at most n times: at each
  /// of up to n - 1 additions, and when the element or the sum is divided by n. A rounding changes
  /// a value by a factor of at most 1 + u, where u is half a unit in the last place of 1. It
  /// changes a value below the type's normal numbers by at most half of `least`, the smallest
  /// positive number. Sums of such values are exact. Let |c| be the magnitudes that are summed, and
  /// u' = u + 2^-23, to include the additions in 32 bits. Then |sum - mean| <= ((1 + u')^n - 1) *
  /// sum of |c| / n + (n + 1) * least / 2.
  RoundingError rounding_error_of(std::span<const float> aggregate,
                                  const std::vector<RoundedSum>& sums);

  /// Returns all contributions, by rank.
  std::vector<std::span<const float>> all();

  /// Values from one element of a contribution on.
  struct Place {
    std::span<const float> values;
    std::size_t from;
  };
  /// Returns max |value - mean of all contributions| over the values / max |mean| over all
  /// elements. NaN if any value is NaN.
  double error_of_places(const std::vector<Place>& places);

 private:
  std::span<float> map(int rank);
  double mean(std::size_t element) const;

  std::string folder_;
  int rank_;
  std::size_t elements_;
  std::vector<std::span<float>> contributions_;
};

/// Number of elements that one projected sum covers. It is small: the rounding of single-precision
/// sums adds up over a block, and must stay well below the effect of an error in one element.
inline constexpr std::size_t kProjectedBlock = 1024;

/// Returns a projection of a long array to a short message. Ranks on different machines exchange
/// projections of their contributions, so that the aggregate can be compared with them without a
/// second exchange of the arrays. A projection has one number for each block of up to
/// kProjectedBlock elements: the sum of value times weight in double precision. Weights are 0.5 to
/// 1.5 with either sign, drawn from `seed` and the element's position, the same on every machine.
/// Projections are linear: the mean of several ranks' projections is the projection of their mean,
/// and an error e in one element changes its block's number by 0.5 e to 1.5 e. Errors in several
/// elements cancel with a probability of about one in a million.
std::vector<double> project(std::span<const float> values, std::uint64_t seed);

/// Compares rank answers: `contributions[rank]` has the projections of a rank's contribution, piece
/// by piece, `results[rank]` those of its result, and `largest[rank]` max |value| of each piece.
/// @returns the greatest |result - mean of contributions| of a block over max |value| of its piece
/// (undivided where that is 0); infinity where a number is missing or not finite
double projected_error(const std::vector<nlohmann::json>& contributions,
                       const std::vector<nlohmann::json>& results,
                       const std::vector<nlohmann::json>& largest);

}  // namespace thinpipe
