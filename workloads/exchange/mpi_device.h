// GPU support of the MPI library.
#pragma once

namespace thinpipe {

/// Whether it takes addresses in a GPU's memory where it takes buffers: Open MPI that was built
/// with CUDA, and says so when it runs. THINPIPE_CUDA_MPI=0 in the environment: no.
bool mpi_takes_device_addresses();

}  // namespace thinpipe
