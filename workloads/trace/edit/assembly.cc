#include "workloads/trace/edit/assembly.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/output_file.h"
#include "workloads/trace/edit/new_folder.h"
#include "workloads/trace/mapped_file.h"
#include "workloads/trace/safetensors.h"
#include "workloads/trace/sha256.h"
#include "workloads/trace/trace_format.h"

namespace thinpipe {

namespace {

using nlohmann::json;

const json& worker_json(const WorkerOf& worker) {
  return worker.trace->metadata()["steps"][worker.step]["workers"][worker.rank];
}

/// Second moments go before gradients of 16 bits, so that all lie at multiples of their size.
std::vector<SafetensorsTensor> entries_of(const Assembly& assembly) {
  const auto& all = assembly.like->tensors();
  const GradientType type = assembly.like->gradient_type();
  std::vector<SafetensorsTensor> gradients, squares;
  for (const std::size_t i : assembly.tensors) {
    gradients.push_back({all[i].name, all[i].shape, gradient_type_name(type)});
    if (assembly.like->squares(0, 0, i).empty()) continue;
    squares.push_back({kSquaresPrefix + all[i].name, all[i].shape, "F32"});
  }
  auto& first = type == GradientType::kF32 ? gradients : squares;
  auto& last = type == GradientType::kF32 ? squares : gradients;
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

json copy_worker(const WorkerOf& worker, const Assembly& assembly,
                 const std::vector<SafetensorsTensor>& entries, const std::string& name,
                 const std::filesystem::path& place) {
  const json& from = worker_json(worker);
  const auto source = worker.trace->folder() / from["file"].get<std::string>();
  const MappedFile mapped(source);
  // What is copied gets a new hash: damage must not get one, too.
  if (const std::string found = sha256_hex(mapped.bytes()); found != from["sha256"]) {
    throw InputError(fmt::format(
        "{}: sha256: found {}, expected {} ({}); the file was changed after the trace was written",
        source.string(), found, from["sha256"].get<std::string>(), kTraceFile));
  }
  const auto found = parse_safetensors(mapped.bytes(), source.string());
  Sha256 hash;
  OutputFile file(place);
  const auto write = [&](std::span<const std::byte> bytes) {
    hash.update(bytes);
    file.write(bytes);
  };
  const std::string prologue = safetensors_prologue(entries, {{"format", kTraceFormat}});
  write(std::as_bytes(std::span(prologue)));
  for (const SafetensorsTensor& entry : entries) write(found.at(entry.name).bytes);
  file.commit();
  const TraceStepTimes& times = worker.trace->times(worker.rank, worker.step);
  json ready = json::array();
  for (const std::size_t i : assembly.tensors) ready.push_back(times.ready[i]);
  return {{"file", name},
          {"bytes", file.size()},
          {"sha256", hash.finish()},
          {"forward", from["forward"]},
          {"backward", from["backward"]},
          {"loss", from["loss"]},
          {"ready", ready}};
}

/// The tensors with ready orders that have no gaps.
json tensors_json(const Assembly& assembly) {
  const auto& all = assembly.like->tensors();
  json tensors = json::array();
  for (const std::size_t i : assembly.tensors) {
    const auto earlier = std::count_if(
        assembly.tensors.begin(), assembly.tensors.end(),
        [&](std::size_t other) { return all[other].ready_order < all[i].ready_order; });
    tensors.push_back({{"name", all[i].name}, {"shape", all[i].shape}, {"ready_order", earlier}});
  }
  return tensors;
}

// One element a line, as TraceWriter writes them.
std::string json_lines(const json& array) {
  std::string text = "[";
  for (std::size_t i = 0; i < array.size(); ++i) {
    text += (i == 0 ? "\n  " : ",\n  ") + array[i].dump();
  }
  return text + "]";
}

std::string trace_json(const Assembly& assembly, const json& steps) {
  const Trace& like = *assembly.like;
  const bool squares = !like.squares(0, 0, 0).empty();
  std::string text = "{\n";
  const auto member = [&](const char* name, const json& value) {
    text += fmt::format("\"{}\": {},\n", name, value.dump());
  };
  member("format", kTraceFormat);
  member("version", kTraceVersion);
  member("origin", like.metadata()["origin"]);
  member("model", like.model());
  member("ranks", assembly.steps.front().workers.size());
  member("dtype", gradient_type_name(like.gradient_type()));
  member("squares", squares);
  if (squares) {
    member("squares_of",
           like.squares_of_micro_batches() ? kSquaresOfMicroBatches : kSquaresOfSamples);
  }
  if (!assembly.complete) {
    member("complete", false);
    member("missing", assembly.missing);
  }
  member("provenance", assembly.provenance);
  text += fmt::format("\"tensors\": {},\n", json_lines(tensors_json(assembly)));
  return text + fmt::format("\"steps\": {}\n}}\n", json_lines(steps));
}

}  // namespace

void write_assembly(const Assembly& assembly, const std::filesystem::path& out) {
  NewFolder folder(out);
  const auto entries = entries_of(assembly);
  json steps = json::array();
  for (const Assembly::Step& step : assembly.steps) {
    json workers = json::array();
    for (std::size_t rank = 0; rank < step.workers.size(); ++rank) {
      const std::string name =
          fmt::format("rank-{:03d}/step-{:08d}.safetensors", rank, step.training_step);
      workers.push_back(
          copy_worker(step.workers[rank], assembly, entries, name, folder.file(name)));
    }
    steps.push_back({{"training_step", step.training_step}, {"workers", workers}});
  }
  OutputFile file(folder.file(kTraceFile));
  file.write(trace_json(assembly, steps));
  file.commit();
  folder.keep();
}

}  // namespace thinpipe
