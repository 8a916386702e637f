#include "workloads/trace/trace_writer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/output_file.h"
#include "workloads/trace/mapped_file.h"
#include "workloads/trace/safetensors.h"
#include "workloads/trace/trace_format.h"

namespace thinpipe {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// A file of the trace and its hash.
class HashedFile {
 public:
  explicit HashedFile(fs::path path) : file_(std::move(path)) {}

  void write(std::span<const std::byte> bytes) {
    hash_.update(bytes);
    file_.write(bytes);
  }
  void commit() { file_.commit(); }
  std::uint64_t size() const { return file_.size(); }
  std::string sha256() { return hash_.finish(); }

 private:
  OutputFile file_;
  Sha256 hash_;
};

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

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

}  // namespace

struct TraceWriter::State {
  fs::path folder;
  TraceDescription description;
  bool created_folder = false;
  bool finished = false;
  json steps = json::array();
  std::vector<double> first_ready;

  void check_description();
  void create_folder();
  bool last_step_is_complete() const {
    return steps.empty() || steps.back()["workers"].size() == description.ranks;
  }
  void check_spans(std::span<const std::span<const float>> spans, const char* what) const;
  void remove_what_was_written() noexcept;
};

void TraceWriter::State::check_description() {
  const std::string where = folder.string() + ": trace description";
  const auto require = [&](bool holds, const std::string& what) {
    if (!holds) throw InputError(where + ": " + what);
  };
  require(!description.model.empty(), "the model has no name");
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

void TraceWriter::State::create_folder() {
  std::error_code error;
  created_folder = fs::create_directories(folder, error);
  if (error) throw InputError(folder.string() + ": cannot be created: " + error.message());
  if (!created_folder && !fs::is_empty(folder, error)) {
    throw InputError(
        folder.string() +
        ": the folder is not empty (expected a new one; a trace is never overwritten)");
  }
}

void TraceWriter::State::check_spans(std::span<const std::span<const float>> spans,
                                     const char* what) const {
  const auto& tensors = description.tensors;
  if (spans.size() != tensors.size()) {
    throw InputError(
        fmt::format("{}: {} {}, expected {}", folder.string(), spans.size(), what, tensors.size()));
  }
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (spans[i].size() == tensors[i].elements) continue;
    throw InputError(fmt::format("{}: {} of tensor '{}': {} elements, expected {}", folder.string(),
                                 what, tensors[i].name, spans[i].size(), tensors[i].elements));
  }
}

// Removes the files of this writer by name, and the folders that are then empty. Other files stay.
void TraceWriter::State::remove_what_was_written() noexcept {
  std::error_code ignored;
  std::set<fs::path> folders;
  for (const json& step : steps) {
    for (const json& worker : step["workers"]) {
      const fs::path file = folder / worker["file"].get_ref<const std::string&>();
      fs::remove(file, ignored);
      folders.insert(file.parent_path());
    }
  }
  for (std::size_t rank = 0; rank < description.ranks; ++rank) {
    fs::remove(folder / fmt::format("rank-{:03d}", rank), ignored);
  }
  if (created_folder) fs::remove(folder, ignored);
}

TraceWriter::TraceWriter(fs::path folder, TraceDescription description)
    : state_(std::make_unique<State>()) {
  state_->folder = std::move(folder);
  state_->description = std::move(description);
  state_->check_description();
  state_->create_folder();
}

TraceWriter::~TraceWriter() {
  if (state_ && !state_->finished) state_->remove_what_was_written();
}

TraceWriter::TraceWriter(TraceWriter&&) noexcept = default;

void TraceWriter::add(std::uint64_t training_step, std::size_t rank, const TraceStepTimes& times,
                      std::span<const std::span<const float>> gradients,
                      std::span<const std::span<const float>> squares) {
  State& state = *state_;
  const TraceDescription& description = state.description;
  state.check_spans(gradients, "gradients");
  if (description.squares) state.check_spans(squares, "squares");
  if (!description.squares && !squares.empty()) {
    throw InputError(state.folder.string() + ": squares given, but the description has none");
  }
  if (times.ready.size() != description.tensors.size()) {
    throw InputError(fmt::format("{}: {} ready times, expected {}", state.folder.string(),
                                 times.ready.size(), description.tensors.size()));
  }
  for (const double seconds : {times.forward, times.backward}) {
    if (!(seconds >= 0 && seconds <= kMaxPassSeconds)) {
      throw InputError(fmt::format("{}: step {}, rank {}: a pass of {} s, expected 0 to {} s",
                                   state.folder.string(), training_step, rank, seconds,
                                   kMaxPassSeconds));
    }
  }
  if (state.last_step_is_complete()) {
    if (!state.steps.empty() && state.steps.back()["training_step"] >= training_step) {
      throw InputError(fmt::format("{}: step {} is not greater than the previous step",
                                   state.folder.string(), training_step));
    }
    state.steps.push_back({{"training_step", training_step}, {"workers", json::array()}});
  }
  json& step = state.steps.back();
  if (step["training_step"] != training_step || step["workers"].size() != rank) {
    throw InputError(fmt::format("{}: step {} rank {} out of order, expected step {} rank {}",
                                 state.folder.string(), training_step, rank,
                                 step["training_step"].dump(), step["workers"].size()));
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
  std::error_code error;
  fs::create_directory(state.folder / fmt::format("rank-{:03d}", rank), error);
  if (error)
    throw SystemError("create " + (state.folder / name).parent_path().string(), error.value());
  HashedFile file(state.folder / name);
  file.write(as_bytes(safetensors_prologue(tensors, {{"format", kTraceFormat}})));
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
    throw InputError(state.folder.string() + ": no step was added to the trace");
  }
  if (!state.last_step_is_complete()) {
    throw InputError(fmt::format("{}: step {} has {} ranks, expected {}", state.folder.string(),
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
  std::string text = "{\n";
  text += fmt::format("\"format\": \"{}\",\n\"version\": {},\n", kTraceFormat, kTraceVersion);
  text += fmt::format("\"origin\": {},\n", json(description.origin).dump());
  text += fmt::format("\"model\": {},\n", json(description.model).dump());
  text += fmt::format("\"ranks\": {},\n", description.ranks);
  text += fmt::format("\"squares\": {},\n", description.squares);
  text += fmt::format("\"provenance\": {},\n", provenance.dump());
  text += fmt::format("\"tensors\": {},\n", json_lines(tensors));
  text += fmt::format("\"steps\": {}\n}}\n", json_lines(state.steps));
  OutputFile file(state.folder / kTraceFile);
  file.write(text);
  file.commit();
  state.finished = true;
}

}  // namespace thinpipe
