// The exchange patterns a run may choose from, over MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "workloads/exchange/pattern.h"

namespace thinpipe {

/// `ring`: our pipelined rings. `openmpi`: MPI_Allreduce and MPI_Allgatherv as the library decides,
/// which do not tell what they sent.
std::vector<std::string> pattern_names();

/// @param capacity  the longest message all_gather may carry, in bytes
/// @throws InputError for an unknown name.
std::unique_ptr<Pattern> make_pattern(const std::string& name, MPI_Comm communicator,
                                      std::size_t capacity);

}  // namespace thinpipe
