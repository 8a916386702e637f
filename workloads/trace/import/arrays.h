// Readers of .npy, .npz and safetensors files. All values become FP32 in row-major order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace thinpipe {

/// An array in NumPy's .npy container: a magic, a Python dictionary and the elements
/// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html). `bytes` are the
/// elements, in the mapped file.
struct NpyArray {
  std::string dtype;                ///< safetensors' name: "F16", "F32" or "F64"
  std::vector<std::int64_t> shape;  ///< row-major unless `fortran_order`
  bool fortran_order = false;       ///< true: the first index runs fastest
  std::span<const std::byte> bytes;
};

/// Parses a whole file of format version 1, 2 or 3. Checks the magic, the header's three members
/// and the number of bytes after the header. Accepts little-endian floating-point numbers of 2, 4
/// or 8 bytes only.
/// @param name the file's name in messages.
/// @throws InputError naming file and field.
NpyArray parse_npy(std::span<const std::byte> file, const std::string& name);

/// Converts elements to FP32: exact for "F16", "BF16" and "F32"; "F64" is rounded to the nearest.
/// @param bytes elements of `dtype`, at any alignment.
/// @throws InputError for another dtype; `where` opens the message.
std::vector<float> floats_of(const std::string& dtype, std::span<const std::byte> bytes,
                             const std::string& where);

/// Returns the values in row-major order, given an array whose first index runs fastest.
std::vector<float> row_major(std::span<const float> values, std::span<const std::int64_t> shape);

/// Returns the beginning of a .npy file with a row-major FP32 array: all bytes before the elements.
/// The format version is 1. Padding makes the elements begin at a multiple of 64 bytes.
std::string npy_prologue(std::span<const std::int64_t> shape);

/// One array of a file.
struct NamedArray {
  std::string name;
  std::string dtype;  ///< in the file: "F16", "BF16", "F32" or "F64"
  std::vector<std::int64_t> shape;
  std::vector<float> values;  ///< row-major
};

/// Reads the array of a .npy file and gives it the name `name`. @throws InputError
NamedArray read_npy_array(std::span<const std::byte> file, const std::string& shown,
                          const std::string& name);

/// Reads the arrays of a .npz file in the order of the archive; names are without ".npy".
/// @throws InputError
std::vector<NamedArray> read_npz_arrays(std::span<const std::byte> file, const std::string& shown);

/// Reads the floating-point tensors of a safetensors file in the order of their offsets. Tensors of
/// other dtypes are left out. @throws InputError
std::vector<NamedArray> read_safetensors_arrays(std::span<const std::byte> file,
                                                const std::string& shown);

}  // namespace thinpipe
