// The arrays of a .npy, .npz or safetensors file, all as FP32 in row-major order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace thinpipe {

/// One array of a file.
struct NamedArray {
  std::string name;
  std::string dtype;  ///< as the file holds it: "F16", "BF16", "F32" or "F64"
  std::vector<std::int64_t> shape;
  std::vector<float> values;  ///< row-major
};

/// The array of a .npy file, under a name of the caller's. @throws InputError
NamedArray read_npy_array(std::span<const std::byte> file, const std::string& shown,
                          const std::string& name);

/// The arrays of a .npz file in the order of the archive; names without ".npy". @throws InputError
std::vector<NamedArray> read_npz_arrays(std::span<const std::byte> file, const std::string& shown);

/// The floating-point tensors of a safetensors file in the order in which they lie in it. Tensors
/// of other dtypes are left out. @throws InputError
std::vector<NamedArray> read_safetensors_arrays(std::span<const std::byte> file,
                                                const std::string& shown);

}  // namespace thinpipe
