#include "workloads/trace/edit/edit.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/output_file.h"
#include "workloads/trace/import/names.h"
#include "workloads/trace/json_fields.h"
#include "workloads/trace/mapped_file.h"
#include "workloads/trace/safetensors.h"
#include "workloads/trace/trace_format.h"
#include "workloads/trace/trace_writer.h"

namespace thinpipe {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// One rank's results in one step of an existing trace.
struct WorkerOf {
  const Trace* trace = nullptr;
  std::size_t step = 0;  // indices into that trace
  std::size_t rank = 0;
};

/// Description of the trace to write. All sources have the same tensors, by name and shape, and the
/// same dtype.
struct Assembly {
  struct Step {
    std::uint64_t training_step = 0;
    std::vector<WorkerOf> workers;  // by rank
  };
  const Trace* like = nullptr;       // source of model, origin, dtype and second moments
  std::vector<std::size_t> tensors;  // indices into like->tensors()
  std::vector<Step> steps;
  bool complete = true;
  std::vector<std::string> missing;
  nlohmann::json provenance;
};

const json& worker_json(const WorkerOf& worker) {
  return worker.trace->metadata()["steps"][worker.step]["workers"][worker.rank];
}

/// Puts second moments before 16-bit gradients, so that every entry is aligned to its element size.
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
                 const fs::path& place) {
  const json& from = worker_json(worker);
  const auto source = worker.trace->folder() / from["file"].get<std::string>();
  const MappedFile mapped(source);
  // The copy gets a new hash, which must not hide damage of the source.
  if (const std::string found = sha256_hex(mapped.bytes()); found != from["sha256"]) {
    throw InputError(fmt::format(
        "{}: sha256: found {}, expected {} ({}); the file was changed after the trace was written",
        source.string(), found, from["sha256"].get<std::string>(), kTraceFile));
  }
  const auto found = parse_safetensors(mapped.bytes(), source.string());
  HashedFile file(place);
  const std::string prologue = safetensors_prologue(entries, {{"format", kTraceFormat}});
  file.write(std::as_bytes(std::span(prologue)));
  for (const SafetensorsTensor& entry : entries) file.write(found.at(entry.name).bytes);
  file.commit();
  const TraceStepTimes& times = worker.trace->times(worker.rank, worker.step);
  json ready = json::array();
  for (const std::size_t i : assembly.tensors) ready.push_back(times.ready[i]);
  json copy = {{"file", name},
               {"bytes", file.size()},
               {"sha256", file.sha256()},
               {"forward", from["forward"]},
               {"backward", from["backward"]},
               {"loss", from["loss"]},
               {"ready", ready}};
  // DDP's buckets name tensors by their place, which stays if all are kept.
  if (from.contains("buckets") && assembly.tensors.size() == worker.trace->tensors().size())
    copy["buckets"] = from["buckets"];
  return copy;
}

/// Returns the tensors, with ready orders renumbered without gaps.
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

std::string text_of(const Assembly& assembly, const json& steps) {
  const Trace& like = *assembly.like;
  const bool squares = !like.squares(0, 0, 0).empty();
  std::vector<std::pair<const char*, json>> members = {
      {"origin", like.metadata()["origin"]},
      {"model", like.model()},
      {"ranks", assembly.steps.front().workers.size()},
      {"dtype", gradient_type_name(like.gradient_type())},
      {"squares", squares}};
  if (squares) {
    members.emplace_back(
        "squares_of", like.squares_of_micro_batches() ? kSquaresOfMicroBatches : kSquaresOfSamples);
  }
  if (const auto values = like.metadata().find("values"); values != like.metadata().end())
    members.emplace_back("values", *values);
  if (!assembly.complete) {
    members.emplace_back("complete", false);
    members.emplace_back("missing", assembly.missing);
  }
  members.emplace_back("provenance", assembly.provenance);
  return trace_json(members, tensors_json(assembly), steps);
}

void write_assembly(const Assembly& assembly, const fs::path& out) {
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
  write_output(folder.file(kTraceFile), text_of(assembly, steps));
  folder.keep();
}

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

bool is_in(std::uint64_t value, const Ranges& ranges) {
  return ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
           return range.first <= value && value <= range.second;
         });
}

}  // namespace

SliceParts slice_parts(const Trace& trace, const SliceOptions& options) {
  SliceParts parts;
  const std::string folder = trace.folder().string();
  for (std::size_t step = 0; step < trace.steps(); ++step) {
    if (is_in(trace.training_step(step), options.steps)) parts.steps.push_back(step);
  }
  if (parts.steps.empty()) {
    throw InputError(fmt::format("{}: no such step (the trace has {} steps from {} to {})",
                                 folder, trace.steps(), trace.training_step(0),
                                 trace.training_step(trace.steps() - 1)));
  }
  for (std::size_t rank = 0; rank < trace.ranks(); ++rank) {
    if (is_in(rank, options.ranks)) parts.ranks.push_back(rank);
  }
  if (parts.ranks.empty()) {
    throw InputError(
        fmt::format("{}: no such rank (expected ranks from 0 to {})", folder, trace.ranks() - 1));
  }
  for (const std::string& glob : options.tensors) {
    const bool any =
        std::any_of(trace.tensors().begin(), trace.tensors().end(),
                    [&](const TraceTensor& tensor) { return is_wanted(tensor.name, {glob}); });
    if (any) continue;
    throw InputError(fmt::format("{}: no tensor's name matches '{}' (the first of {} is '{}')",
                                 folder, printable(glob), trace.tensors().size(),
                                 printable(trace.tensors().front().name)));
  }
  for (std::size_t i = 0; i < trace.tensors().size(); ++i) {
    if (is_wanted(trace.tensors()[i].name, options.tensors)) parts.tensors.push_back(i);
  }
  return parts;
}

namespace {

// Copies what predictions take from a provenance, where all traces agree on it: the machine that
// computed, and the origin of the times.
void keep_machine(const std::vector<const Trace*>& traces, nlohmann::json& provenance) {
  for (const char* key : {"device", "cpu", "times"}) {
    const auto value_in = [&](const Trace* trace) {
      const auto own = trace->metadata().value("provenance", nlohmann::json::object());
      return own.is_object() && own.contains(key) ? own.at(key) : nlohmann::json();
    };
    const nlohmann::json value = value_in(traces.front());
    if (!value.is_null() && std::all_of(traces.begin(), traces.end(), [&](const Trace* trace) {
          return value_in(trace) == value;
        }))
      provenance[key] = value;
  }
}

}  // namespace

void slice_trace(const Trace& trace, const SliceParts& parts, const fs::path& out) {
  Assembly assembly;
  assembly.like = &trace;
  assembly.tensors = parts.tensors;
  assembly.complete = trace.complete();
  assembly.missing = trace.missing();
  for (const std::size_t step : parts.steps) {
    Assembly::Step& added = assembly.steps.emplace_back();
    added.training_step = trace.training_step(step);
    for (const std::size_t rank : parts.ranks) added.workers.push_back({&trace, step, rank});
  }
  assembly.provenance = {
      {"program", "thinpipe trace slice"},
      {"of", trace.identity()},
      {"ranks", parts.ranks},
      {"source", trace.metadata().value("provenance", nlohmann::json::object())}};
  keep_machine({&trace}, assembly.provenance);
  write_assembly(assembly, out);
}

namespace {

[[noreturn]] void differ(const Trace& trace, const Trace& first, const std::string& what) {
  throw InputError(
      fmt::format("{}: {} in {}", trace.folder().string(), what, first.folder().string()));
}

void check_same_tensors(const Trace& trace, const Trace& first) {
  const auto& a = trace.tensors();
  const auto& b = first.tensors();
  if (a.size() != b.size()) {
    differ(trace, first, fmt::format("{} tensors, but {}", a.size(), b.size()));
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].name == b[i].name && a[i].shape == b[i].shape) continue;
    differ(trace, first,
           fmt::format("tensor {} is '{}' [{}], but '{}' [{}]", i, printable(a[i].name),
                       fmt::join(a[i].shape, ", "), printable(b[i].name),
                       fmt::join(b[i].shape, ", ")));
  }
}

void check_same_model(const Trace& trace, const Trace& first) {
  const auto same = [&](const char* what, const std::string& found, const std::string& expected) {
    if (found == expected) return;
    differ(trace, first,
           fmt::format("{} is '{}', but '{}'", what, printable(found), printable(expected)));
  };
  same("model", trace.model(), first.model());
  same("origin", trace.metadata()["origin"], first.metadata()["origin"]);
  same("values", trace.metadata().value("values", kValuesGradients),
       first.metadata().value("values", kValuesGradients));
  same("dtype", gradient_type_name(trace.gradient_type()),
       gradient_type_name(first.gradient_type()));
  check_same_tensors(trace, first);
  const auto squares = [](const Trace& of) {
    return of.squares(0, 0, 0).empty()     ? "none"
           : of.squares_of_micro_batches() ? "of micro-batches"
                                           : "of samples";
  };
  same("second moments", squares(trace), squares(first));
}

std::vector<std::uint64_t> steps_of(const Trace& trace) {
  std::vector<std::uint64_t> steps;
  for (std::size_t i = 0; i < trace.steps(); ++i) steps.push_back(trace.training_step(i));
  return steps;
}

void add_ranks(std::span<const Trace> traces, Assembly& assembly) {
  const auto expected = steps_of(traces.front());
  for (const Trace& trace : traces) {
    const auto found = steps_of(trace);
    if (found == expected) continue;
    std::vector<std::uint64_t> only;
    std::set_symmetric_difference(found.begin(), found.end(), expected.begin(), expected.end(),
                                  std::back_inserter(only));
    differ(trace, traces.front(),
           fmt::format("merging by ranks needs equal steps, and step {} is in one trace only: {} "
                       "steps, but {}",
                       only.front(), found.size(), expected.size()));
  }
  for (std::size_t step = 0; step < expected.size(); ++step) {
    Assembly::Step& added = assembly.steps.emplace_back();
    added.training_step = expected[step];
    for (const Trace& trace : traces) {
      for (std::size_t rank = 0; rank < trace.ranks(); ++rank) {
        added.workers.push_back({&trace, step, rank});
      }
    }
  }
}

void add_steps(std::span<const Trace> traces, Assembly& assembly) {
  std::map<std::uint64_t, WorkerOf> places;
  for (const Trace& trace : traces) {
    if (trace.ranks() != traces.front().ranks()) {
      differ(trace, traces.front(),
             fmt::format("merging by steps needs equal numbers of ranks: {} ranks, but {}",
                         trace.ranks(), traces.front().ranks()));
    }
    for (std::size_t step = 0; step < trace.steps(); ++step) {
      const auto [place, fresh] =
          places.try_emplace(trace.training_step(step), WorkerOf{&trace, step, 0});
      if (fresh) continue;
      differ(trace, *place->second.trace,
             fmt::format("step {} is also", trace.training_step(step)));
    }
  }
  for (const auto& [training_step, worker] : places) {
    Assembly::Step& added = assembly.steps.emplace_back();
    added.training_step = training_step;
    for (std::size_t rank = 0; rank < worker.trace->ranks(); ++rank) {
      added.workers.push_back({worker.trace, worker.step, rank});
    }
  }
}

}  // namespace

MergeBy merge_traces(std::span<const Trace> traces, MergeBy by, const fs::path& out) {
  if (traces.size() < 2) throw InputError("merge: expected at least two traces");
  const Trace& first = traces.front();
  Assembly assembly;
  assembly.like = &first;
  for (std::size_t i = 0; i < first.tensors().size(); ++i) assembly.tensors.push_back(i);
  nlohmann::json sources = nlohmann::json::array();
  bool same_steps = true;
  for (const Trace& trace : traces) {
    check_same_model(trace, first);
    same_steps = same_steps && steps_of(trace) == steps_of(first);
    assembly.complete = assembly.complete && trace.complete();
    for (const std::string& reason : trace.missing()) assembly.missing.push_back(reason);
    sources.push_back(
        {{"identity", trace.identity()},
         {"ranks", trace.ranks()},
         {"steps", trace.steps()},
         {"provenance", trace.metadata().value("provenance", nlohmann::json::object())}});
  }
  if (by == MergeBy::kAuto) by = same_steps ? MergeBy::kRanks : MergeBy::kSteps;
  if (by == MergeBy::kRanks) {
    add_ranks(traces, assembly);
  } else {
    add_steps(traces, assembly);
  }
  assembly.provenance = {{"program", "thinpipe trace merge"},
                         {"by", by == MergeBy::kRanks ? "ranks" : "steps"},
                         {"of", sources}};
  std::vector<const Trace*> all;
  for (const Trace& trace : traces) all.push_back(&trace);
  keep_machine(all, assembly.provenance);
  write_assembly(assembly, out);
  return by;
}

}  // namespace thinpipe
