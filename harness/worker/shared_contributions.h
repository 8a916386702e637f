// What every rank sent, decoded by itself, side by side in memory: a reference for the aggregate
// that did not cross the network.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "workloads/replay/bucket.h"

namespace thinpipe {

/// How far 16-bit sums are from the means of what was summed.
struct RoundingError {
  double relative = 0;  ///< max |sum - mean| / max |mean|; NaN where a NaN stands in either
  double of_bound = 0;  ///< max over elements of |sum - mean| / what rounding allows there
};

/// One file per rank in the sandbox's scratch folder, mapped by all ranks.
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

  /// The pieces lie one after the other in a contribution. Of the worst piece: max |piece - mean of
  /// all contributions| / max |mean|, the mean taken in double; without the division where all
  /// means are 0. NaN where a NaN stands in a piece or a contribution.
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

}  // namespace thinpipe
