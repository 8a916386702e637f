// GPU support of the MPI library.
#pragma once

namespace thinpipe {

/// Returns whether the MPI library takes device pointers as buffers: an Open MPI that was built
/// with CUDA and reports CUDA support at run time. False with THINPIPE_CUDA_MPI=0 in the
/// environment.
bool mpi_takes_device_addresses();

}  // namespace thinpipe
