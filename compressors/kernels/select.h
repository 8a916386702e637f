// Passes of selections: elements that reach a limit are compacted, counted and filtered further.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/keys.h"
#include "compressors/kernels/parallel.h"
#include "compressors/kernels/sums.h"

namespace thinpipe {

constexpr int kMaxCompactThreads = 4;
/// Elements past the tensor's size that compact() may overwrite in both of its outputs: one of the
/// widest vectors for each of its threads.
constexpr std::size_t kCompactSlack = 256;

/// Compacts in one pass: writes position and value of every x with key_of(x, order) >= limit, in
/// order of position. Both outputs need space for x.size() + kCompactSlack elements. Runs on up to
/// kMaxCompactThreads threads (kernels/parallel.h). @returns the count.
std::size_t compact(std::span<const float> x, KeyOrder order, std::int32_t limit,
                    std::uint32_t* positions, float* values);

/// Compacts the sum by magnitude; the sum is computed and stored in the same pass.
std::size_t compact_sum(const PendingSum& sum, std::int32_t limit, std::uint32_t* positions,
                        float* values);

/// Compacts by magnitude, and sets `tail` to tail_moments(x, tail_limit) in the same pass, on one
/// thread.
std::size_t compact_with_tail(std::span<const float> x, std::int32_t limit,
                              std::uint32_t* positions, float* values, std::int32_t tail_limit,
                              TailMoments& tail);

/// Greatest number of limits of one pass: as many counters as fit into registers beside the data.
constexpr std::size_t kMaxLimits = 8;

/// Sets counts[j] to the number of x with key_of(x, KeyOrder::kMagnitude) >= limits[j]. There are
/// at most kMaxLimits limits, none of them negative, and `counts` has one entry for each.
void count_magnitudes(std::span<const float> x, std::span<const std::int32_t> limits,
                      std::span<std::size_t> counts);

// Cuts filter compacted elements: fewer elements, in the caches.

/// Selects pairs of position and value by the value's key. A pair with an index in [begin, end) is
/// selected if its key is greater than `below_within`, any other pair if its key is greater than
/// `below`.
struct Cut {
  KeyOrder order = KeyOrder::kMagnitude;
  std::int32_t below = 0;
  std::int32_t below_within = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Returns the cut of keys of at least `limit`, at any position.
constexpr Cut cut_at(KeyOrder order, std::int32_t limit) {
  return {.order = order, .below = just_below(limit), .below_within = just_below(limit)};
}

/// Returns the cut that selects all keys greater than `most`, and `take` of the keys in [low,
/// most]. Among the keys in [low, most], counted from 0, these are start, start + 1, ..., start +
/// take - 1; so many keys must lie there.
Cut cut_between(KeyOrder order, std::int32_t low, std::int32_t most, std::size_t start,
                std::size_t take, std::span<const float> values);

/// Returns the number of pairs that a cut selects.
std::size_t count_kept(const Cut& cut, std::span<const float> values);

/// Keeps the pairs of a cut, in their order, in place. @returns their number.
std::size_t filter(const Cut& cut, std::size_t count, std::uint32_t* positions, float* values);

/// Writes the pairs of a cut, `kept` of them, to another location: a payload has no alignment.
void filter_into(const Cut& cut, std::span<const std::uint32_t> positions,
                 std::span<const float> values, std::size_t kept, std::byte* out_positions,
                 std::byte* out_values);

/// Returns the number of x with key_of(x, order) >= limit.
std::size_t count_at_least(std::span<const float> x, KeyOrder order, std::int32_t limit);

// Passes over the keys of compacted elements.

/// Sets keys[i] = key_of(values[i], order).
void keys_of(std::span<const float> values, KeyOrder order, std::int32_t* keys);

/// Number of keys of `values` in [low, high], and above.
struct KeysBetween {
  std::size_t kept = 0;
  std::size_t above = 0;
};
/// Writes the keys in [low, high] to `keys`, which has space for all. low <= high.
KeysBetween keys_between(std::span<const float> values, KeyOrder order, std::int32_t low,
                         std::int32_t high, std::int32_t* keys);

/// Returns the number of keys >= limit.
std::size_t count_keys(std::span<const std::int32_t> keys, std::int32_t limit);

/// Keeps the keys in [low, high], in place. @returns their number.
std::size_t keep_keys(std::span<std::int32_t> keys, std::int32_t low, std::int32_t high);

// The criterion of variance-based compression, with the update of the variances.

struct AmbiguityOptions {
  float alpha = 1;         ///< variances that r^2 must exceed
  float zeta = 0.999F;     ///< decay of the variances
  std::int32_t limit = 0;  ///< magnitude key that r must reach too
};

/// Sets v = v + q for every element. Chooses the element if r^2 > alpha v and |r| reaches the
/// limit. Then sets v = zeta v for every element (Tsuzuku et al., fig. 1). Writes the position, r
/// and v (before the decay) of each chosen element, in order of position, to outputs with space for
/// r.size() entries. All products and sums are in float, each rounded once. For an element whose r
/// or v is not finite, the limit alone decides, so that the element can be sent and forgotten. If
/// `sum` is not null, r is its array, and the pass also computes and stores it.
/// @returns the number chosen.
std::size_t choose_unambiguous(std::span<const float> r, std::span<const float> q,
                               const AmbiguityOptions& options, std::span<float> v,
                               std::uint32_t* positions, float* values, float* variances,
                               const PendingSum* sum = nullptr);

/// Returns the number of set bits.
std::size_t count_bits(std::span<const std::uint64_t> words);

/// Ranges of a pass, one per thread. Each thread moves the elements that it keeps to the beginning
/// of its own range. No kernel may store a vector past the end of the elements that it has read.
class Stretches {
 public:
  explicit Stretches(std::size_t n)
      : n_(n), parts_(static_cast<std::size_t>(std::min(threads_for(n), kMaxCompactThreads))) {}

  /// Sets the kept number of each range to body(begin, size).
  template <class Body>
  void run(Body body) {
    parallel_parts(parts_, static_cast<int>(parts_), [&](std::size_t part) {
      kept_[part] = body(begin(part), begin(part + 1) - begin(part));
    });
  }
  /// Moves the kept elements of all ranges together. @returns their number.
  template <class T>
  std::size_t join(T* data) const {
    std::size_t count = kept_[0];
    for (std::size_t part = 1; part < parts_; ++part) {
      copy_bytes(data + count, data + begin(part), kept_[part] * sizeof(T));
      count += kept_[part];
    }
    return count;
  }

 private:
  std::size_t begin(std::size_t part) const { return n_ * part / parts_; }

  std::size_t n_, parts_;
  std::array<std::size_t, kMaxCompactThreads> kept_{};
};

}  // namespace thinpipe
