// Which instruction set the kernels use: chosen at run time, the CPU's best unless told otherwise.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

/// The instruction sets that were compiled in and that this CPU has, by Highway's names in lower
/// case ("avx3", "avx2", "sse4", "ssse3", "neon", "emu128"), best first. Never empty.
std::vector<std::string> simd_targets();

/// The one the kernels use now; one of simd_targets().
std::string simd_target();

/// From now on the kernels of the whole process use this instruction set; "best" undoes it. Not
/// while another thread runs a kernel.
/// @throws InputError for a name that is not among simd_targets().
void set_simd_target(const std::string& name);

}  // namespace thinpipe
