// Export of gradients to NumPy and safetensors files (edit.h).
#include <cstddef>
#include <cstdint>
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
#include "workloads/trace/trace_writer.h"
#include "workloads/trace/zip.h"

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

void write_npz(const std::filesystem::path& file, const std::vector<ExportedArray>& arrays) {
  std::vector<std::string> prologues;
  for (const ExportedArray& array : arrays) prologues.push_back(npy_prologue(*array.shape));
  std::vector<ZipMember> members;
  for (std::size_t i = 0; i < arrays.size(); ++i)
    members.push_back({arrays[i].name + ".npy",
                       {std::as_bytes(std::span(prologues[i])), std::as_bytes(arrays[i].values)}});
  write_zip(file, members);
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
      ++files;
      if (format == ExportFormat::kNpz) {
        write_npz(folder.file(place + ".npz"), arrays);
        continue;
      }
      OutputFile file(folder.file(place + ".safetensors"));
      write_safetensors(file, arrays);
      file.commit();
    }
  }
  folder.keep();
  return files;
}

}  // namespace thinpipe
