#include "workloads/trace/import/arrays.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "workloads/trace/import/npy.h"
#include "workloads/trace/import/zip.h"
#include "workloads/trace/json_fields.h"
#include "workloads/trace/safetensors.h"

namespace thinpipe {

NamedArray read_npy_array(std::span<const std::byte> file, const std::string& shown,
                          const std::string& name) {
  const NpyArray npy = parse_npy(file, shown);
  NamedArray array{name, npy.dtype, npy.shape, floats_of(npy.dtype, npy.bytes, shown)};
  if (npy.fortran_order && npy.shape.size() > 1) array.values = row_major(array.values, npy.shape);
  return array;
}

std::vector<NamedArray> read_npz_arrays(std::span<const std::byte> file, const std::string& shown) {
  static constexpr std::string_view kExtension = ".npy";
  std::vector<NamedArray> arrays;
  for (const ZipMember& member : parse_zip(file, shown)) {
    const std::string where = shown + ": member '" + printable(member.name) + "'";
    if (!member.name.ends_with(kExtension)) {
      throw InputError(where + ": expected only members whose names end in .npy");
    }
    std::vector<std::byte> storage;
    const auto bytes = unpack(member, shown, storage);
    const std::string name = member.name.substr(0, member.name.size() - kExtension.size());
    arrays.push_back(read_npy_array(bytes, where, name));
  }
  return arrays;
}

std::vector<NamedArray> read_safetensors_arrays(std::span<const std::byte> file,
                                                const std::string& shown) {
  const auto entries = parse_safetensors(file, shown);
  std::vector<std::pair<const std::byte*, const std::string*>> order;
  for (const auto& [name, entry] : entries) {
    const bool floats = entry.dtype == "F64" || entry.dtype == "F32" || entry.dtype == "F16" ||
                        entry.dtype == "BF16";
    if (floats) order.emplace_back(entry.bytes.data(), &name);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<NamedArray> arrays;
  for (const auto& [begin, name] : order) {
    const SafetensorsEntry& entry = entries.at(*name);
    const std::string where = shown + ": tensor '" + printable(*name) + "'";
    arrays.push_back({*name, entry.dtype, entry.shape, floats_of(entry.dtype, entry.bytes, where)});
  }
  return arrays;
}

}  // namespace thinpipe
