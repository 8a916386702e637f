// Any exchange pattern, over MPI.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>

#include "workloads/exchange/patterns.h"

namespace thinpipe {

/// @param capacity  the longest message all_gather may carry, in bytes
/// @param device_addresses  may be handed to MPI (mpi_device.h), where the pattern is of its own
/// @throws InputError as check_pattern.
std::unique_ptr<Pattern> make_mpi_pattern(const Spec& spec, MPI_Comm communicator,
                                          std::size_t capacity, bool device_addresses = false);

}  // namespace thinpipe
