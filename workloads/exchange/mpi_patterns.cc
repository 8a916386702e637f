#include "workloads/exchange/mpi_patterns.h"

#include "workloads/exchange/mpi_collectives.h"
#include "workloads/exchange/mpi_transport.h"

namespace thinpipe {

std::unique_ptr<Pattern> make_mpi_pattern(const Spec& spec, MPI_Comm communicator,
                                          std::size_t capacity, bool device_addresses) {
  check_pattern(spec);
  if (spec.name == "openmpi")
    return std::make_unique<MpiCollectives>(communicator, capacity, device_addresses);
  return make_pattern(spec, std::make_unique<MpiTransport>(communicator), capacity);
}

}  // namespace thinpipe
