#include "workloads/trace/trace.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "workloads/trace/json_fields.h"
#include "workloads/trace/mapped_file.h"
#include "workloads/trace/safetensors.h"
#include "workloads/trace/trace_format.h"

namespace thinpipe {

/// One rank's file of one step.
struct RecordedFile {
  std::string name;  // relative to the folder
  std::string sha256;
  TraceStepTimes times;
  MappedFile data;
  std::vector<GradientValues> gradients;
  std::vector<std::span<const float>> squares;
};

struct RecordedStep {
  std::uint64_t training_step = 0;
  std::vector<RecordedFile> workers;
};

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr double kUnbounded = std::numeric_limits<double>::max();
constexpr std::size_t kMaxRanks = 65'536;

// Returns a file name from trace.json. Refuses a name that could lie outside the trace's folder on
// some system: it must be relative, with forward slashes and without parts `.` and `..`.
std::string parse_file_name(const JsonField& field) {
  const std::string name = field.string();
  const auto refuse = [&] {
    field.fail(
        fmt::format("\"{}\" is not a file inside the trace (expected a relative path such as "
                    "\"rank-000/step-00000000.safetensors\")",
                    printable(name)));
  };
  for (const std::string& part : split(name, '/')) {
    if (part.empty() || part == "." || part == "..") refuse();
  }
  for (const char c : name) {
    if (c == '\\' || c == ':' || static_cast<unsigned char>(c) < 0x20) refuse();
  }
  return name;
}

std::vector<TraceTensor> parse_tensors(const JsonField& field) {
  std::vector<TraceTensor> tensors;
  std::set<std::string> names;
  std::set<std::size_t> orders;
  const std::size_t count = field.size();
  if (count == 0) field.fail("expected at least one tensor");
  for (std::size_t i = 0; i < count; ++i) {
    const JsonField entry = field.at(i);
    TraceTensor tensor;
    tensor.name = entry.at("name").string();
    check_tensor_name(tensor.name, entry.at("name"));
    if (!names.insert(tensor.name).second) entry.at("name").fail("appears twice");
    tensor.shape = entry.at("shape").shape(1);
    tensor.elements = shape_elements(tensor.shape, kTraceFile + (": " + entry.place()));
    const JsonField order = entry.at("ready_order");
    tensor.ready_order = order.unsigned_integer(0, count - 1);
    if (!orders.insert(tensor.ready_order).second) {
      order.fail(fmt::format("{} appears twice (expected every number below {} once)",
                             tensor.ready_order, count));
    }
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

TraceStepTimes parse_times(const JsonField& worker, std::size_t tensors) {
  TraceStepTimes times;
  times.forward = worker.at("forward").number(0, kMaxPassSeconds);
  times.backward = worker.at("backward").number(0, kMaxPassSeconds);
  const JsonField loss = worker.at("loss");
  times.loss = loss.value().is_null() ? std::numeric_limits<double>::quiet_NaN()
                                      : loss.number(-kUnbounded, kUnbounded);
  const JsonField ready = worker.at("ready");
  if (ready.size() != tensors) {
    ready.fail(fmt::format("{} times, expected one for each of {} tensors", ready.size(), tensors));
  }
  for (std::size_t i = 0; i < tensors; ++i) {
    times.ready.push_back(ready.at(i).number(0, times.backward));
  }
  return times;
}

std::string parse_sha256(const JsonField& field) {
  const std::string text = field.string();
  if (text.size() != 64 || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    field.fail("expected 64 lower-case hexadecimal digits, found " + describe_json(field.value()));
  }
  return text;
}

std::span<const std::byte> find_values(const std::map<std::string, SafetensorsEntry>& entries,
                                       const std::string& key, const TraceTensor& tensor,
                                       GradientType type, const std::string& file) {
  const auto fail = [&](const std::string& what) {
    throw InputError(fmt::format("{}: tensor '{}': {}", file, key, what));
  };
  const auto found = entries.find(key);
  if (found == entries.end()) fail("missing");
  const SafetensorsEntry& entry = found->second;
  if (entry.dtype != gradient_type_name(type)) {
    fail(fmt::format("dtype: found {}, expected {}", printable(entry.dtype),
                     gradient_type_name(type)));
  }
  if (entry.shape != tensor.shape) {
    fail(fmt::format("shape: found [{}], expected [{}] as in {}", fmt::join(entry.shape, ", "),
                     fmt::join(tensor.shape, ", "), kTraceFile));
  }
  const std::size_t size = gradient_type_bytes(type);
  if (reinterpret_cast<std::uintptr_t>(entry.bytes.data()) % size != 0) {
    fail(fmt::format(
        "data_offsets: the tensor's bytes are not aligned to {}; pad the header with spaces{}",
        size, size == sizeof(float) ? "" : " and put wider types first"));
  }
  return entry.bytes;
}

RecordedFile open_step_file(const JsonField& worker, const fs::path& folder,
                            const std::vector<TraceTensor>& tensors, GradientType type,
                            bool squares) {
  const std::string name = parse_file_name(worker.at("file"));
  const std::uint64_t bytes = worker.at("bytes").unsigned_integer();
  RecordedFile file{name,
                    parse_sha256(worker.at("sha256")),
                    parse_times(worker, tensors.size()),
                    MappedFile(folder / name),
                    {},
                    {}};
  const std::string shown = (folder / name).string();
  if (file.data.bytes().size() != bytes) {
    throw InputError(fmt::format("{}: the file has {} bytes, expected {} ({}: {}.bytes)", shown,
                                 file.data.bytes().size(), bytes, kTraceFile, worker.place()));
  }
  const auto entries = parse_safetensors(file.data.bytes(), shown);
  for (const TraceTensor& tensor : tensors) {
    file.gradients.emplace_back(find_values(entries, tensor.name, tensor, type, shown), type);
    if (squares) {
      const auto moments =
          find_values(entries, kSquaresPrefix + tensor.name, tensor, GradientType::kF32, shown);
      file.squares.emplace_back(reinterpret_cast<const float*>(moments.data()), tensor.elements);
    }
  }
  return file;
}

MappedFile open_trace_file(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw InputError(fmt::format("{}: no such folder (expected a trace: a folder with {})",
                                 folder.string(), kTraceFile));
  }
  if (!fs::exists(folder / kTraceFile, ignored)) {
    throw InputError(
        fmt::format("{}: missing: the folder is not a trace, or an unfinished one ({} is written "
                    "last)",
                    (folder / kTraceFile).string(), kTraceFile));
  }
  return MappedFile(folder / kTraceFile);
}

}  // namespace

std::span<const float> GradientSource::squares(std::size_t, std::size_t, std::size_t) { return {}; }

struct Trace::State {
  fs::path folder;
  std::string identity;
  json metadata;
  std::string model;
  std::size_t ranks = 0;
  GradientType type = GradientType::kF32;
  bool complete = true;
  std::vector<std::string> missing;
  bool micro_batches = false;
  std::vector<TraceTensor> tensors;
  std::size_t elements = 0;
  std::vector<RecordedStep> steps;
  std::optional<GeneratedTrace> generated;  // instead of steps
};

Trace::Trace(const fs::path& folder) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.folder = folder;
  const std::string shown = (folder / kTraceFile).string();
  {
    const MappedFile file = open_trace_file(folder);
    state.metadata = parse_json_file(file, shown, kMaxTraceFileBytes);
    state.identity = "sha256:" + sha256_hex(file.bytes());
  }
  const JsonField root(state.metadata, shown);
  check_trace_preamble(root);
  state.model = root.at("model").string();
  if (state.model.empty()) root.at("model").fail("expected a name, found an empty string");
  state.ranks = root.at("ranks").unsigned_integer(1, kMaxRanks);
  state.tensors = parse_tensors(root.at("tensors"));
  for (const TraceTensor& tensor : state.tensors) {
    if (__builtin_add_overflow(state.elements, tensor.elements, &state.elements)) {
      root.at("tensors").fail("the number of elements overflows 64 bits");
    }
  }
  state.type = parse_gradient_dtype(root);
  state.micro_batches = parse_squares_of(root) == kSquaresOfMicroBatches;
  parse_values(root);  // trace.metadata() has it
  state.complete = !root.has("complete") || root.at("complete").boolean();
  state.missing = parse_missing(root);
  const bool squares = root.has("squares") && root.at("squares").boolean();
  const JsonField steps = root.at("steps");
  if (steps.size() == 0) steps.fail("expected at least one step");
  for (std::size_t s = 0; s < steps.size(); ++s) {
    RecordedStep step;
    step.training_step = steps.at(s).at("training_step").unsigned_integer();
    if (s > 0 && step.training_step <= state.steps.back().training_step) {
      steps.at(s)
          .at("training_step")
          .fail(fmt::format("{} is not greater than {}", step.training_step,
                            state.steps.back().training_step));
    }
    const JsonField workers = steps.at(s).at("workers");
    if (workers.size() != state.ranks) {
      workers.fail(fmt::format("{} workers, expected {} (ranks)", workers.size(), state.ranks));
    }
    for (std::size_t rank = 0; rank < state.ranks; ++rank) {
      step.workers.push_back(
          open_step_file(workers.at(rank), folder, state.tensors, state.type, squares));
    }
    state.steps.push_back(std::move(step));
  }
}

Trace::Trace(GeneratedTrace generated) : state_(std::make_unique<State>()) {
  State& state = *state_;
  state.folder = generated.text;
  state.identity = generated.identity;
  state.metadata = generated.metadata ? *generated.metadata : nlohmann::json::object();
  state.model = generated.model;
  state.ranks = generated.ranks;
  state.tensors = generated.tensors;
  for (const TraceTensor& tensor : state.tensors) state.elements += tensor.elements;
  state.generated = std::move(generated);
}

Trace::~Trace() = default;
Trace::Trace(Trace&&) noexcept = default;
Trace& Trace::operator=(Trace&&) noexcept = default;

const fs::path& Trace::folder() const { return state_->folder; }
const std::string& Trace::model() const { return state_->model; }
const std::vector<TraceTensor>& Trace::tensors() const { return state_->tensors; }
std::size_t Trace::elements() const { return state_->elements; }
std::size_t Trace::ranks() const { return state_->ranks; }
std::size_t Trace::steps() const {
  return state_->generated ? state_->generated->steps : state_->steps.size();
}
bool Trace::generated() const { return state_->generated.has_value(); }

std::size_t Trace::generated_bytes_per_rank() const {
  return state_->generated ? state_->generated->bytes_per_rank : 0;
}

void Trace::release(std::size_t rank) const {
  if (state_->generated) state_->generated->source->release(rank);
}

GradientType Trace::gradient_type() const { return state_->type; }
bool Trace::complete() const { return state_->complete; }
const std::vector<std::string>& Trace::missing() const { return state_->missing; }
bool Trace::squares_of_micro_batches() const { return state_->micro_batches; }

std::uint64_t Trace::training_step(std::size_t step) const {
  if (state_->generated) return step;
  return state_->steps.at(step).training_step;
}

const TraceStepTimes& Trace::times(std::size_t rank, std::size_t step) const {
  if (state_->generated) return state_->generated->source->times(rank, step);
  return state_->steps.at(step).workers.at(rank).times;
}

std::span<const float> Trace::gradient(std::size_t rank, std::size_t step,
                                       std::size_t tensor) const {
  if (state_->generated) return state_->generated->source->gradient(rank, step, tensor);
  return state_->steps.at(step).workers.at(rank).gradients.at(tensor).get();
}

std::span<const float> Trace::squares(std::size_t rank, std::size_t step,
                                      std::size_t tensor) const {
  if (state_->generated) return state_->generated->source->squares(rank, step, tensor);
  const auto& squares = state_->steps.at(step).workers.at(rank).squares;
  return squares.empty() ? std::span<const float>() : squares.at(tensor);
}

std::string Trace::identity() const { return state_->identity; }
const json& Trace::metadata() const { return state_->metadata; }

void Trace::verify() const {
  for (const RecordedStep& step : state_->steps) {
    for (const RecordedFile& file : step.workers) {
      const std::string found = sha256_hex(file.data.bytes());
      if (found == file.sha256) continue;
      throw InputError(
          fmt::format("{}: sha256: found {}, expected {} ({}); the file was changed after the "
                      "trace was written",
                      (state_->folder / file.name).string(), found, file.sha256, kTraceFile));
    }
  }
}

}  // namespace thinpipe
