// Units that parameter servers average and answer piece by piece.
#pragma once

#include <cstddef>

#include "compressors/spec.h"
#include "workloads/exchange/push_pull_options.h"

namespace thinpipe {

/// Bytes of each element's code where a method codes every element by itself, whatever the others
/// are, one code after the other: a part of a payload is then the payload of a part of the tensor.
/// 0 for all other methods, plug-ins among them: they need the tensor as a whole.
/// @throws InputError as check_spec
std::size_t element_bytes(const Spec& spec);

/// How a unit crosses the network: as a whole, or in pieces of a segment each, of which servers
/// answer the first while workers push the next.
struct Pieces {
  std::size_t count = 1;
  std::size_t elements = 0;    ///< of each but the last
  std::size_t push_bytes = 0;  ///< of the payload of each but the last; 0 where there is but one

  /// Where a piece begins in the unit, in elements and in bytes of what is pushed.
  std::size_t first_element(std::size_t piece) const { return piece * elements; }
  std::size_t first_byte(std::size_t piece) const { return piece * push_bytes; }
};

/// Pieces where what is pushed and what is pulled are coded element by element, and there are
/// elements for more than one of them.
Pieces pieces_of(std::size_t elements, const Spec& push, const PushPullOptions& options);

}  // namespace thinpipe
