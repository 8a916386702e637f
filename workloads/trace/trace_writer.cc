#include "workloads/trace/trace_writer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "compressors/wire/checks.h"
#include "workloads/trace/safetensors.h"
#include "workloads/trace/trace_format.h"

namespace thinpipe {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

bool is_permutation_of_order(const std::vector<TraceTensor>& tensors) {
  std::set<std::size_t> orders;
  for (const TraceTensor& tensor : tensors) orders.insert(tensor.ready_order);
  return orders.size() == tensors.size() && *orders.rbegin() == tensors.size() - 1;
}

void set_order_from(const std::vector<double>& ready, std::vector<TraceTensor>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return ready[a] != ready[b] ? ready[a] < ready[b] : a > b;
  });
  for (std::size_t place = 0; place < order.size(); ++place) {
    tensors[order[place]].ready_order = place;
  }
}

json number_or_null(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

void check_description(const fs::path& folder, TraceDescription& description) {
  const std::string where = folder.string() + ": trace description";
  const auto require = [&](bool holds, const std::string& what) {
    if (!holds) throw InputError(where + ": " + what);
  };
  require(!description.model.empty(), "the model has no name");
  require(is_utf8(description.model), "the model's name is not UTF-8");
  require(is_known_origin(description.origin), "unknown origin '" + description.origin + "'");
  require(description.ranks >= 1, "expected at least one rank");
  require(!description.tensors.empty(), "expected at least one tensor");
  require(description.provenance.is_null() || description.provenance.is_object(),
          "provenance: expected an object");
  std::set<std::string> names;
  for (TraceTensor& tensor : description.tensors) {
    const json name = tensor.name;
    check_tensor_name(tensor.name, JsonField(name, where, "tensor"));
    require(names.insert(tensor.name).second, "two tensors are named '" + tensor.name + "'");
    for (const std::int64_t dimension : tensor.shape) {
      require(dimension >= 1, "tensor '" + tensor.name + "' has an empty dimension");
    }
    tensor.elements = shape_elements(tensor.shape, where + ": tensor '" + tensor.name + "'");
  }
}

}  // namespace

NewFolder::NewFolder(fs::path path, const char* rule) : path_(std::move(path)) {
  std::error_code error;
  created_ = fs::create_directories(path_, error);
  if (error) throw InputError(shown() + ": cannot be created: " + error.message());
  if (!created_ && !fs::is_empty(path_, error)) {
    throw InputError(
        fmt::format("{}: the folder is not empty (expected a new one; {})", shown(), rule));
  }
}

NewFolder::~NewFolder() {
  if (kept_) return;
  std::error_code ignored;
  for (const fs::path& file : files_) fs::remove(file, ignored);
  for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder) {
    fs::remove(*folder, ignored);  // succeeds for empty folders only
  }
  if (created_) fs::remove(path_, ignored);
}

fs::path NewFolder::file(const std::string& name) {
  fs::path folder = path_;
  for (const fs::path& part : fs::path(name).parent_path()) {
    folder /= part;
    std::error_code error;
    if (fs::create_directory(folder, error)) folders_.push_back(folder);
    if (error) throw SystemError("create " + folder.string(), error.value());
  }
  return files_.emplace_back(path_ / name);
}

struct TraceWriter::State {
  State(fs::path path, TraceDescription what)
      : folder(std::move(path), "a trace is never overwritten"), description(std::move(what)) {}

  NewFolder folder;
  TraceDescription description;
  json steps = json::array();
  std::vector<double> first_ready;

  bool last_step_is_complete() const {
    return steps.empty() || steps.back()["workers"].size() == description.ranks;
  }
  void check_spans(std::span<const std::span<const float>> spans, const char* what) const;
};

void TraceWriter::State::check_spans(std::span<const std::span<const float>> spans,
                                     const char* what) const {
  const auto& tensors = description.tensors;
  if (spans.size() != tensors.size()) {
    throw InputError(
        fmt::format("{}: {} {}, expected {}", folder.shown(), spans.size(), what, tensors.size()));
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].size() == tensors[i].elements) continue;
    throw InputError(fmt::format("{}: {} of tensor '{}': {} elements, expected {}", folder.shown(),
                                 what, tensors[i].name, spans[i].size(), tensors[i].elements));
  }
}

TraceWriter::TraceWriter(fs::path folder, TraceDescription description) {
  check_description(folder, description);
  state_ = std::make_unique<State>(std::move(folder), std::move(description));
}

TraceWriter::~TraceWriter() = default;
TraceWriter::TraceWriter(TraceWriter&&) noexcept = default;

void TraceWriter::add(std::uint64_t training_step, std::size_t rank, const TraceStepTimes& times,
                      std::span<const std::span<const float>> gradients,
                      std::span<const std::span<const float>> squares) {
  State& state = *state_;
  const TraceDescription& description = state.description;
  const std::string shown = state.folder.shown();
  state.check_spans(gradients, "gradients");
  if (description.squares) state.check_spans(squares, "squares");
  if (!description.squares && !squares.empty()) {
    throw InputError(shown + ": squares given, but the description has none");
  }
  if (times.ready.size() != description.tensors.size()) {
    throw InputError(fmt::format("{}: {} ready times, expected {}", shown, times.ready.size(),
                                 description.tensors.size()));
  }
  for (const double seconds : {times.forward, times.backward}) {
    if (!(seconds >= 0 && seconds <= kMaxPassSeconds)) {
      throw InputError(fmt::format("{}: step {}, rank {}: a pass of {} s, expected 0 to {} s",
                                   shown, training_step, rank, seconds, kMaxPassSeconds));
    }
  }
  for (const double ready : times.ready) {
    if (!(ready >= 0 && ready <= times.backward)) {
      throw InputError(
          fmt::format("{}: step {}, rank {}: a gradient ready after {} s, expected 0 to "
                      "{} s, the backward pass",
                      shown, training_step, rank, ready, times.backward));
    }
  }
  if (state.last_step_is_complete()) {
    if (!state.steps.empty() && state.steps.back()["training_step"] >= training_step) {
      throw InputError(
          fmt::format("{}: step {} is not greater than the previous step", shown, training_step));
    }
    state.steps.push_back({{"training_step", training_step}, {"workers", json::array()}});
  }
  json& step = state.steps.back();
  if (step["training_step"] != training_step || step["workers"].size() != rank) {
    throw InputError(fmt::format("{}: step {} rank {} out of order, expected step {} rank {}",
                                 shown, training_step, rank, step["training_step"].dump(),
                                 step["workers"].size()));
  }

  std::vector<SafetensorsTensor> tensors;
  for (const TraceTensor& tensor : description.tensors) {
    tensors.push_back({tensor.name, tensor.shape});
  }
  if (description.squares) {
    for (const TraceTensor& tensor : description.tensors) {
      tensors.push_back({kSquaresPrefix + tensor.name, tensor.shape});
    }
  }
  const std::string name = fmt::format("rank-{:03d}/step-{:08d}.safetensors", rank, training_step);
  const std::string prologue = safetensors_prologue(tensors, {{"format", kTraceFormat}});
  HashedFile file(state.folder.file(name));
  file.write(std::as_bytes(std::span(prologue)));
  for (const auto& values : gradients) file.write(std::as_bytes(values));
  for (const auto& values : squares) file.write(std::as_bytes(values));
  file.commit();

  if (state.first_ready.empty()) state.first_ready = times.ready;
  step["workers"].push_back({{"file", name},
                             {"bytes", file.size()},
                             {"sha256", file.sha256()},
                             {"forward", times.forward},
                             {"backward", times.backward},
                             {"loss", number_or_null(times.loss)},
                             {"ready", times.ready}});
}

void TraceWriter::finish() {
  State& state = *state_;
  if (state.steps.empty()) {
    throw InputError(state.folder.shown() + ": no step was added to the trace");
  }
  if (!state.last_step_is_complete()) {
    throw InputError(fmt::format("{}: step {} has {} ranks, expected {}", state.folder.shown(),
                                 state.steps.back()["training_step"].dump(),
                                 state.steps.back()["workers"].size(), state.description.ranks));
  }
  TraceDescription& description = state.description;
  if (!is_permutation_of_order(description.tensors)) {
    set_order_from(state.first_ready, description.tensors);
  }
  json tensors = json::array();
  for (const TraceTensor& tensor : description.tensors) {
    tensors.push_back(
        {{"name", tensor.name}, {"shape", tensor.shape}, {"ready_order", tensor.ready_order}});
  }
  const json provenance =
      description.provenance.is_null() ? json::object() : description.provenance;
  std::vector<std::pair<const char*, json>> members = {{"origin", description.origin},
                                                       {"model", description.model},
                                                       {"ranks", description.ranks},
                                                       {"squares", description.squares}};
  if (description.updates) members.emplace_back("values", kValuesUpdates);
  members.emplace_back("provenance", provenance);
  write_output(state.folder.file(kTraceFile), trace_json(members, tensors, state.steps));
  state.folder.keep();
}

}  // namespace thinpipe
