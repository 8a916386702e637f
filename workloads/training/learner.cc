#include "workloads/training/learner.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "workloads/capture/optimiser_spec.h"
#include "workloads/training/batches.h"
#include "workloads/training/model.h"
#include "workloads/training/trainer.h"

namespace thinpipe {
namespace {

constexpr char kArchiveMagic[] = "TPLEARN1";
constexpr std::size_t kMagicBytes = sizeof(kArchiveMagic) - 1;
constexpr std::uint8_t kNumber = 0;
constexpr std::uint8_t kFloats = 1;
constexpr std::uint8_t kIntegers = 2;

std::uint64_t check_sum(std::span<const std::byte> bytes) {
  Digest digest;
  digest.add(bytes);
  return digest.value();
}

/// Serialises tensors and numbers for a learner's state. The format, in this machine's byte order:
/// "TPLEARN1", the length of the identity and the identity; then entries with name (length and
/// bytes), type (u8: 0 number, 1 float, 2 int64), number of dimensions (u8), dimensions (u64 each)
/// and values; at the end the FNV-1a of all earlier bytes (u64).
class ArchiveWriter {
 public:
  /// @param identity  the run of the state; the reader requires the same
  explicit ArchiveWriter(const std::string& identity) {
    raw(kArchiveMagic, kMagicBytes);
    text(identity);
  }
  void number(const std::string& name, std::uint64_t value) {
    text(name);
    const std::uint8_t head[2] = {kNumber, 0};
    raw(head, sizeof(head));
    raw(&value, sizeof(value));
  }
  /// Adds a tensor of float or int64.
  void tensor(const std::string& name, const torch::Tensor& tensor) {
    const torch::Tensor flat = tensor.detach().contiguous();
    const bool floats = flat.scalar_type() == torch::kFloat;
    TORCH_CHECK(floats || flat.scalar_type() == torch::kLong, name, ": neither float nor int64");
    text(name);
    const std::uint8_t head[2] = {floats ? kFloats : kIntegers,
                                  static_cast<std::uint8_t>(flat.dim())};
    raw(head, sizeof(head));
    for (const std::int64_t length : flat.sizes()) raw(&length, sizeof(length));
    raw(flat.data_ptr(), flat.nbytes());
  }
  std::vector<std::byte> finish() {
    const std::uint64_t sum = check_sum(bytes_);
    raw(&sum, sizeof(sum));
    return std::move(bytes_);
  }

 private:
  void raw(const void* data, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  void text(const std::string& text) {
    const std::uint64_t size = text.size();
    raw(&size, sizeof(size));
    raw(text.data(), text.size());
  }

  std::vector<std::byte> bytes_;
};

/// Reads the entries of a learner's state in the order in which they were written. Every function
/// throws InputError "state: ..." if the bytes are damaged or too short, or if the next entry is
/// not the requested one.
class ArchiveReader {
 public:
  ArchiveReader(std::span<const std::byte> bytes, const std::string& identity) : left_(bytes) {
    constexpr std::size_t kSumBytes = sizeof(std::uint64_t);
    if (bytes.size() < kMagicBytes + kSumBytes)
      throw InputError(fmt::format("state: {} bytes, expected more", bytes.size()));
    if (std::memcmp(take(kMagicBytes).data(), kArchiveMagic, kMagicBytes) != 0)
      throw InputError("state: not a learner's state (expected TPLEARN1 at the start)");
    std::uint64_t sum = 0;
    std::memcpy(&sum, bytes.last(kSumBytes).data(), kSumBytes);
    if (sum != check_sum(bytes.first(bytes.size() - kSumBytes)))
      throw InputError("state: damaged: the checksum does not match");
    left_ = left_.first(left_.size() - kSumBytes);
    const std::string found = text();
    if (found != identity)
      throw InputError(
          fmt::format("state: from other options: found {}, expected {}", found, identity));
  }
  std::uint64_t number(const std::string& name) {
    expect_entry(name);
    if (u8() != kNumber || u8() != 0) throw InputError("state: " + name + ": expected a number");
    return u64();
  }
  /// Returns a tensor of the same type and shape as `like`.
  torch::Tensor tensor(const std::string& name, const torch::Tensor& like) {
    torch::Tensor found = tensor(name);
    if (found.scalar_type() != like.scalar_type() || found.sizes() != like.sizes())
      throw InputError(fmt::format("state: {}: shape [{}], expected [{}]", name,
                                   fmt::join(found.sizes(), ", "), fmt::join(like.sizes(), ", ")));
    return found;
  }
  torch::Tensor tensor(const std::string& name) {
    expect_entry(name);
    const std::uint8_t type = u8();
    if (type != kFloats && type != kIntegers)
      throw InputError(fmt::format("state: {}: type {}, expected a tensor", name, type));
    std::vector<std::int64_t> shape(u8());
    const std::size_t width = type == kFloats ? sizeof(float) : sizeof(std::int64_t);
    std::size_t elements = 1;
    for (std::int64_t& length : shape) {
      const std::uint64_t found = u64();
      if (found > 0 && elements > left_.size() / found)
        throw InputError("state: " + name + ": truncated");
      elements *= found;
      length = static_cast<std::int64_t>(found);
    }
    const auto bytes = take(elements * width);
    torch::Tensor tensor = torch::empty(shape, type == kFloats ? torch::kFloat : torch::kLong);
    std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
    return tensor;
  }
  /// Checks that no bytes are left.
  void finish() const {
    if (!left_.empty()) throw InputError(fmt::format("state: {} bytes too many", left_.size()));
  }

 private:
  std::span<const std::byte> take(std::size_t size) {
    if (left_.size() < size) throw InputError("state: truncated");
    const auto taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }
  std::uint64_t u64() {
    std::uint64_t value = 0;
    std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
    return value;
  }
  std::uint8_t u8() { return static_cast<std::uint8_t>(take(1)[0]); }
  std::string text() {
    const auto bytes = take(u64());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  void expect_entry(const std::string& name) {
    const std::string found = text();
    if (found != name)
      throw InputError(fmt::format("state: found '{}', expected '{}'", found, name));
  }

  std::span<const std::byte> left_;
};

// Checks options that were not parsed by the same rules as parsed ones.
LearnerOptions checked(const LearnerOptions& options, std::size_t worker) {
  nlohmann::json object = options.to_json();
  if (options.batch == 0) object.erase("batch");
  if (options.optimiser.empty()) object.erase("optimiser");
  LearnerOptions parsed = parse_learner_options(object);
  if (worker >= parsed.workers)
    throw InputError(fmt::format("train: worker {} of {}", worker, parsed.workers));
  return parsed;
}

}  // namespace

struct Learner::Inside {
  Inside(const LearnerOptions& wanted, std::size_t number)
      : options(checked(wanted, number)),
        worker(number),
        schedule(RateSchedule::parse(options.schedule, options.steps)),
        data(make_learner_data(options)),
        network(options.model, options.width, options.seed),
        optimiser(OptimiserSpec::parse(options.optimiser), network.parameters()) {
    for (std::size_t i = 0; i < network.names().size(); ++i) {
      const torch::Tensor& tensor = network.parameters()[i];
      const auto elements = static_cast<std::size_t>(tensor.numel());
      parameters.push_back(
          {network.names()[i], {tensor.sizes().begin(), tensor.sizes().end()}, elements});
    }
  }

  void check_sizes(std::span<const std::span<const float>> values) const {
    if (values.size() != parameters.size())
      throw InputError(
          fmt::format("train: {} tensors, expected {}", values.size(), parameters.size()));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].size() == parameters[i].elements) continue;
      throw InputError(fmt::format("train: {}: {} elements, expected {}", parameters[i].name,
                                   values[i].size(), parameters[i].elements));
    }
  }

  // Returns the tensors of state() by name; they share memory with the model and the optimiser.
  std::vector<std::pair<std::string, torch::Tensor>> tensors() {
    std::vector<std::pair<std::string, torch::Tensor>> all;
    for (const auto& item : network.model().named_parameters())
      all.emplace_back("parameter " + item.key(), item.value().detach());
    for (const auto& item : network.model().named_buffers())
      all.emplace_back("buffer " + item.key(), item.value());
    for (auto& [name, buffers] : optimiser.buffers()) {
      for (std::size_t i = 0; i < buffers.size(); ++i)
        all.emplace_back(name + " " + parameters[i].name, buffers[i]);
    }
    return all;
  }

  // Returns the run that a state belongs to. `steps` is included because the schedule depends on
  // it.
  std::string identity() const {
    nlohmann::json object = options.to_json();
    object["worker"] = worker;
    object.erase("data");  // the data's path may have changed
    object["held"] = data.batches->description();
    return object.dump();
  }

  LearnerOptions options;
  std::size_t worker;
  RateSchedule schedule;
  LearnerData data;
  NeuralNetwork network;
  ParameterOptimiser optimiser;
  double rate_factor = 1;
  std::vector<LearnerParameter> parameters;
  Carry carry;
  std::vector<torch::Tensor> gradients;
  std::vector<torch::Tensor> squares;
};

Learner::Learner(const LearnerOptions& options, std::size_t worker) {
  use_one_thread();
  inside_ = std::make_unique<Inside>(options, worker);
}

Learner::~Learner() = default;

const std::vector<LearnerParameter>& Learner::parameters() const { return inside_->parameters; }

std::string Learner::data() const { return inside_->data.batches->description(); }

std::uint64_t Learner::steps_an_epoch() const { return inside_->data.batches->steps_an_epoch(); }

double Learner::compute(std::uint64_t step, LearnerTimes* times) {
  const Batch batch = inside_->data.batches->at(inside_->worker, step);
  LearnerTimes taken = inside_->network.compute(batch, inside_->carry, inside_->gradients);
  const LearnerOptions& options = inside_->options;
  if (options.local_clip > 0)
    clip_norm(inside_->gradients,
              options.local_clip / std::sqrt(static_cast<double>(options.workers)));
  if (options.squares) inside_->squares = inside_->network.squares(batch);
  const double loss = taken.loss;
  if (times != nullptr) *times = std::move(taken);
  return loss;
}

std::span<const float> Learner::gradient(std::size_t parameter) const {
  return floats_of(inside_->gradients.at(parameter));
}

std::span<const float> Learner::squares(std::size_t parameter) const {
  return floats_of(inside_->squares.at(parameter));
}

void Learner::apply(std::span<const std::span<const float>> mean, std::uint64_t step) {
  inside_->check_sizes(mean);
  std::vector<torch::Tensor> gradients;
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const torch::Tensor& parameter = inside_->network.parameters()[i];
    torch::Tensor gradient = torch::empty(parameter.sizes());
    std::copy(mean[i].begin(), mean[i].end(), gradient.data_ptr<float>());
    gradients.push_back(std::move(gradient));
  }
  if (inside_->options.clip > 0) clip_norm(gradients, inside_->options.clip);
  inside_->optimiser.step(gradients, inside_->rate_factor * inside_->schedule.factor(step));
}

void Learner::mask_momentum(std::size_t parameter, std::span<const float> sent) {
  auto& buffers = inside_->optimiser.buffers();
  if (buffers.empty()) return;  // SGD without momentum
  float* const momentum = buffers.front().second.at(parameter).data_ptr<float>();
  for (std::size_t i = 0; i < sent.size(); ++i)
    if (sent[i] != 0) momentum[i] = 0;
}

void Learner::set_rate_factor(double factor) { inside_->rate_factor = factor; }

std::span<const float> Learner::values(std::size_t parameter) const {
  return floats_of(inside_->network.parameters().at(parameter));
}

void Learner::assign(std::span<const std::span<const float>> values) {
  inside_->check_sizes(values);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (float* const to = inside_->network.parameters()[i].data_ptr<float>();
        to != values[i].data())
      std::copy(values[i].begin(), values[i].end(), to);
}

Evaluation Learner::evaluate() {
  const torch::NoGradGuard no_grad;
  TrainableModel& model = inside_->network.model();
  model.eval();
  Evaluation result;
  Carry carry;  // the held-out text is read from its start
  double right = 0;
  const std::uint64_t enough = inside_->options.held_out;
  for (std::size_t i = 0; i < inside_->data.held_out->size(); ++i) {
    if (enough > 0 && result.samples >= enough) break;
    const Batch batch = inside_->data.held_out->at(i);
    const torch::Tensor scores = model.scores(batch.inputs, carry);
    const torch::Tensor targets = batch.targets.flatten();
    const auto count = static_cast<double>(targets.numel());
    result.loss += count * mean_loss(scores, targets).item<double>();
    right += static_cast<double>(scores.argmax(1).eq(targets).sum().item<std::int64_t>());
    result.samples += static_cast<std::size_t>(targets.numel());
  }
  model.train();
  result.loss /= static_cast<double>(result.samples);
  result.accuracy = right / static_cast<double>(result.samples);
  result.perplexity = std::exp(result.loss);
  return result;
}

Evaluation Learner::chance() const {
  std::map<std::int64_t, std::size_t> counts;
  Evaluation result;
  const std::uint64_t enough = inside_->options.held_out;
  for (std::size_t i = 0; i < inside_->data.held_out->size(); ++i) {
    if (enough > 0 && result.samples >= enough) break;
    const torch::Tensor targets = inside_->data.held_out->at(i).targets.flatten().contiguous();
    const auto* const values = targets.data_ptr<std::int64_t>();
    for (std::int64_t j = 0; j < targets.numel(); ++j) ++counts[values[j]];
    result.samples += static_cast<std::size_t>(targets.numel());
  }
  for (const auto& [symbol, count] : counts) {
    const double frequency = static_cast<double>(count) / static_cast<double>(result.samples);
    result.loss -= frequency * std::log(frequency);
    result.accuracy = std::max(result.accuracy, frequency);
  }
  result.perplexity = std::exp(result.loss);
  return result;
}

std::uint64_t Learner::digest() const {
  Digest digest;
  for (const torch::Tensor& parameter : inside_->network.parameters())
    digest.add(floats_of(parameter));
  return digest.value();
}

std::vector<std::byte> Learner::state() const {
  ArchiveWriter writer(inside_->identity());
  writer.number("updates", static_cast<std::uint64_t>(inside_->optimiser.updates()));
  for (const auto& [name, tensor] : inside_->tensors()) writer.tensor(name, tensor);
  const bool carried = inside_->carry.hidden.defined();
  writer.number("carried", carried ? 1 : 0);
  if (carried) {
    writer.tensor("hidden", inside_->carry.hidden);
    writer.tensor("cell", inside_->carry.cell);
  }
  return writer.finish();
}

void Learner::restore(std::span<const std::byte> state) {
  // Reads everything before changing anything, so that a bad state leaves the learner unchanged.
  ArchiveReader reader(state, inside_->identity());
  const std::uint64_t updates = reader.number("updates");
  const auto targets = inside_->tensors();
  std::vector<torch::Tensor> read;
  for (const auto& [name, tensor] : targets) read.push_back(reader.tensor(name, tensor));
  Carry carry;
  if (reader.number("carried") != 0) {
    carry.hidden = reader.tensor("hidden");
    carry.cell = reader.tensor("cell");
  }
  reader.finish();
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    torch::Tensor target = targets[i].second;
    target.copy_(read[i]);
  }
  inside_->optimiser.set_updates(static_cast<std::int64_t>(updates));
  inside_->carry = carry;
}

}  // namespace thinpipe
