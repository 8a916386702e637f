// OpenBLAS by the CPU there is, where it does not know it.
#pragma once

namespace thinpipe {

/// OpenBLAS (Debian's 0.3.21) takes processors that are newer than itself for ones without AVX and
/// multiplies matrices two to four times slower than it could. Where it does, this starts the
/// program anew with OPENBLAS_CORETYPE set, which OpenBLAS reads only when it is loaded. For the
/// first line of main(); it does nothing without OpenBLAS, on other processors, where the variable
/// is set already, or when the program cannot be started anew.
void start_with_fitting_blas(char** argv);

/// The kernels to ask OpenBLAS for when it chose those named; nullptr: it chose well.
const char* better_blas_kernels(const char* chosen, bool avx2, bool avx512);

}  // namespace thinpipe
