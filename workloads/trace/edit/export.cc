#include "workloads/trace/edit/export.h"

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/output_file.h"
#include "workloads/trace/edit/edit.h"
#include "workloads/trace/import/arrays.h"
#include "workloads/trace/import/names.h"
#include "workloads/trace/safetensors.h"
#include "workloads/trace/trace_format.h"

namespace thinpipe {

namespace {

/// One array to be written.
struct ExportedArray {
  std::string name;
  const std::vector<std::int64_t>* shape;
  std::span<const float> values;
};

std::vector<ExportedArray> arrays_of(const Trace& trace, std::size_t rank, std::size_t step,
                                     const std::vector<std::size_t>& tensors) {
  std::vector<ExportedArray> arrays;
  for (const std::size_t i : tensors) {
    const TraceTensor& tensor = trace.tensors()[i];
    arrays.push_back({tensor.name, &tensor.shape, trace.gradient(rank, step, i)});
  }
  for (const std::size_t i : tensors) {
    const TraceTensor& tensor = trace.tensors()[i];
    const auto squares = trace.squares(rank, step, i);
    if (squares.empty()) continue;
    arrays.push_back({kSquaresPrefix + tensor.name, &tensor.shape, squares});
  }
  return arrays;
}

template <class T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// The fields that a member's local header and its entry in the central directory share.
struct MemberFields {
  std::string name;
  std::uint32_t crc = 0;
  std::uint32_t size = 0;
  std::uint32_t offset = 0;

  std::string common() const {
    constexpr std::uint16_t kVersion = 20, kUtf8 = 1 << 11, kStored = 0;
    // 1980-01-01, 0:00: the same trace gives the same bytes.
    constexpr std::uint16_t kTime = 0, kDate = (1 << 5) | 1;
    std::string bytes;
    for (const std::uint16_t value : {kVersion, kUtf8, kStored, kTime, kDate}) put(bytes, value);
    for (const std::uint32_t value : {crc, size, size}) put(bytes, value);
    put(bytes, static_cast<std::uint16_t>(name.size()));
    put(bytes, std::uint16_t{0});  // no extra field
    return bytes;
  }
};

void write_npz(OutputFile& file, const std::vector<ExportedArray>& arrays,
               const std::string& shown) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  constexpr std::uint16_t kMostMembers = 0xfffe;
  std::uint64_t total = 0;
  for (const ExportedArray& array : arrays) total += array.values.size_bytes() + 2048;
  if (total > kMost || arrays.size() > kMostMembers) {
    throw InputError(
        fmt::format("{}: {} arrays of {} bytes do not fit a .npz file without ZIP64, which is not "
                    "written; --format npy or safetensors has no such limit",
                    shown, arrays.size(), total));
  }
  std::vector<MemberFields> members;
  for (const ExportedArray& array : arrays) {
    const std::string prologue = npy_prologue(*array.shape);
    const auto values = std::as_bytes(array.values);
    auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(prologue.data()), prologue.size());
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(values.data()), values.size());
    const MemberFields member{array.name + ".npy", static_cast<std::uint32_t>(crc),
                              static_cast<std::uint32_t>(prologue.size() + values.size()),
                              static_cast<std::uint32_t>(file.size())};
    file.write("PK\3\4" + member.common() + member.name);
    file.write(prologue);
    file.write(values);
    members.push_back(member);
  }
  const auto begin = static_cast<std::uint32_t>(file.size());
  for (const MemberFields& member : members) {
    std::string entry = "PK\1\2";
    put(entry, std::uint16_t{20});  // made by: as needed to extract
    entry += member.common();
    // No comment, disk 0, no attributes.
    for (const std::uint16_t zero : {0, 0, 0, 0, 0}) put(entry, zero);
    put(entry, member.offset);
    file.write(entry + member.name);
  }
  const auto size = static_cast<std::uint32_t>(file.size()) - begin;
  const auto count = static_cast<std::uint16_t>(members.size());
  std::string end = "PK\5\6";
  for (const std::uint16_t value : {std::uint16_t{0}, std::uint16_t{0}, count, count}) {
    put(end, value);
  }
  put(end, size);
  put(end, begin);
  put(end, std::uint16_t{0});
  file.write(end);
}

void write_safetensors(OutputFile& file, const std::vector<ExportedArray>& arrays) {
  std::vector<SafetensorsTensor> tensors;
  for (const ExportedArray& array : arrays) tensors.push_back({array.name, *array.shape});
  file.write(safetensors_prologue(tensors, {}));
  for (const ExportedArray& array : arrays) file.write(std::as_bytes(array.values));
}

}  // namespace

std::size_t export_trace(const Trace& trace, const SliceParts& parts, ExportFormat format,
                         const std::filesystem::path& out) {
  NewFolder folder(out);
  std::size_t files = 0;
  for (const std::size_t step : parts.steps) {
    for (const std::size_t rank : parts.ranks) {
      const auto arrays = arrays_of(trace, rank, step, parts.tensors);
      const std::string place =
          fmt::format("rank-{:03d}/step-{:08d}", rank, trace.training_step(step));
      if (format == ExportFormat::kNpy) {
        for (const ExportedArray& array : arrays) {
          OutputFile file(folder.file(place + "/" + escaped_file_name(array.name) + ".npy"));
          file.write(npy_prologue(*array.shape));
          file.write(std::as_bytes(array.values));
          file.commit();
        }
        files += arrays.size();
        continue;
      }
      const bool npz = format == ExportFormat::kNpz;
      OutputFile file(folder.file(place + (npz ? ".npz" : ".safetensors")));
      if (npz) {
        write_npz(file, arrays, (out / place).string());
      } else {
        write_safetensors(file, arrays);
      }
      file.commit();
      ++files;
    }
  }
  folder.keep();
  return files;
}

}  // namespace thinpipe
