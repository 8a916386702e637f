#include "workloads/replay/parameter_server.h"

#include <algorithm>

#include "base/clock.h"
#include "compressors/registry.h"
#include "workloads/replay/message.h"

namespace thinpipe {

UnitAverager::UnitAverager(const std::vector<ReplayUnit>& units, const PushPullLayout& layout,
                           const UnitAveragerOptions& options, int server)
    : workers_(layout.workers),
      local_steps_(options.local_steps),
      epoch_(options.epoch),
      epochs_a_step_(options.epochs_a_step),
      pace_(options.time_scale, options.threads),
      own_index_(units.size()) {
  const CompressorSettings settings{.seed = options.seed,
                                    .rank = layout.workers + server,  // draws of its own
                                    .threads = options.threads};
  std::size_t elements = 0, bytes = 0;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (layout.units[i].server != server) continue;
    own_index_[i] = units_.size();
    own_.push_back(i);
    units_.push_back(units[i]);
    elements += units[i].tensor.elements;
    bytes += layout.units[i].pull_capacity;
  }
  mean_.resize(elements);
  answers_.resize(bytes);
  std::size_t element = 0, byte = 0;
  for (const std::size_t i : own_) {
    const ReplayUnit& what = units[i];
    Unit& unit = contexts_.emplace_back();
    unit.mean = std::span(mean_).subspan(element, what.tensor.elements);
    unit.place = std::span(answers_).subspan(byte, layout.units[i].pull_capacity);
    element += unit.mean.size();
    byte += unit.place.size();
    unit.push = make_compressor(what.compressor, what.tensor, settings);
    unit.pull = make_pull_compressor(what.tensor, what.compressor, options.exchange, settings);
    unit.input = unit.mean;
    if (unit.push->incremental() && unit.answering().incremental()) {
      unit.estimate.resize(unit.mean.size());
      unit.input = unit.estimate;
    }
  }
  taking_part_.reserve(units_.size());
}

void UnitAverager::set_update(UnitUpdate& update) {
  update_ = &update;
  for (Unit& unit : contexts_) {
    unit.change.resize(unit.mean.size());
    unit.input = unit.change;
  }
}

std::span<const std::size_t> UnitAverager::begin_step(std::uint64_t index) {
  report_ = {};
  pace_.reset();
  const bool handed_over = (index + 1) % local_steps_ == 0;
  input_.step = index / local_steps_;
  input_.epoch = epoch_ + epochs_a_step_ * static_cast<double>(index);
  taking_part_.clear();
  for (const std::size_t i : own_) {
    Unit& unit = context(i);
    unit.taking_part = handed_over && (input_.step + 1) % unit.push->period() == 0;
    if (unit.taking_part)
      taking_part_.push_back(i);
    else
      std::fill(unit.mean.begin(), unit.mean.end(), 0.0F);
  }
  return taking_part_;
}

void UnitAverager::save_state(std::vector<std::byte>& state) const {
  for (const Unit& unit : contexts_) {
    append_state(unit.answering(), state);
    append_floats(unit.estimate, state);
  }
}

void UnitAverager::load_state(ByteReader& state) {
  for (Unit& unit : contexts_) {
    take_state(state, unit.answering());
    take_floats(state, unit.estimate);
  }
}

void UnitAverager::add(std::size_t index, int worker, std::span<const std::byte> payload) {
  const double begin = now_seconds();
  pace_.begin();
  Unit& unit = context(index);
  if (worker == 0) std::fill(unit.mean.begin(), unit.mean.end(), 0.0F);
  unit.push->decode_add(payload, 1.0F / static_cast<float>(workers_), unit.mean);
  pace_.end();
  report_.push_bytes += payload.size();
  report_.decode += now_seconds() - begin;
}

std::span<const std::byte> UnitAverager::answer(std::size_t index) {
  Unit& unit = context(index);
  if (update_ != nullptr) {
    pace_.begin();
    update_->change_of(own_index_[index], unit.mean, input_.step, unit.change);
    pace_.end();
  }
  const double begin = now_seconds();
  pace_.begin();
  for (std::size_t i = 0; i < unit.estimate.size(); ++i) unit.estimate[i] += unit.mean[i];
  input_.values = unit.input;
  const EncodeReport encoded = unit.answering().encode(input_, unit.place);
  unit.size = encoded.encoded_bytes;
  pace_.end();
  report_.pull_bytes += unit.size;
  report_.compress += now_seconds() - begin;
  return unit.place.first(unit.size);
}

void UnitAverager::delta(std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0F);
  std::size_t at = 0;
  for (const Unit& unit : contexts_) {
    if (unit.taking_part)
      unit.answering().decode_add(unit.place.first(unit.size), 1.0F,
                                  out.subspan(at, unit.mean.size()));
    at += unit.mean.size();
  }
}

double UnitAverager::relative_error() const {
  Distortion all;
  GradientInput input = input_;
  for (const Unit& unit : contexts_) {
    if (!unit.taking_part) continue;
    input.values = unit.input;
    all += unit.answering().distortion(input, unit.place.first(unit.size));
  }
  return all.relative();
}

ParameterServer::ParameterServer(Transport& transport, const std::vector<ReplayUnit>& units,
                                 const UnitAveragerOptions& options, int workers, int server)
    : layout_(push_pull_layout(units, options.exchange, workers, {.threads = options.threads})),
      averager_(units, layout_, options, server),
      exchange_(transport, layout_, server) {}

ServerReport ParameterServer::step(std::uint64_t index) {
  const double begin = now_seconds();
  exchange_.step(averager_, averager_.begin_step(index));
  note_served();
  return {averager_.report(), now_seconds() - begin};
}

void ParameterServer::note_served() {
  served_.clear();
  for (const std::size_t i : averager_.taking_part()) {
    const std::size_t bucket = averager_.unit(i).bucket;
    const ServedUnit& unit = exchange_.served(i);
    if (served_.empty() || served_.back().bucket != bucket)
      served_.push_back({bucket, unit});
    else if (unit.answered > served_.back().unit.answered)
      served_.back().unit = unit;
  }
}

}  // namespace thinpipe
