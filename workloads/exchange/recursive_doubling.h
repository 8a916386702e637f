// Recursive doubling: partners at distances 1, 2, 4, ...
#pragma once

#include "workloads/exchange/all_gather_flow.h"
#include "workloads/exchange/all_reduce_plan.h"

namespace thinpipe {

/// Ranks folded to a power of two: of the first 2 (n - n'), n' = 2^floor(log2 n), the even ones
/// hand theirs to the next rank and get the result from it in the end (Rabenseifner 2004, as in
/// MPICH).
struct FoldedRanks {
  FoldedRanks(int ranks, int rank);
  int folded;       ///< n'
  int extra;        ///< n - n'
  bool hands_over;  ///< this rank is one of those that take no part in between
  int partner;      ///< to whom or for whom this rank hands over; -1: nobody
  int id;           ///< among those that take part; -1 where this one hands over
  /// The rank that takes part as `id`.
  int rank_of(int id) const;
};

/// Steps k = 0 to log2 n' - 1: ranks 2^k apart exchange all they have and add it. The fewest steps;
/// every rank sends and receives log2 n' * 4d bytes.
AllReducePlan recursive_doubling_all_reduce(int ranks, int rank);

/// Bruck's algorithm (Bruck et al. 1997): in step k a rank sends the min(2^k, n - 2^k) messages
/// from its own on to the rank 2^k before it. Any number of ranks, ceil(log2 n) steps, no message
/// twice.
AllGatherPlan recursive_doubling_all_gather(int ranks, int rank);

}  // namespace thinpipe
