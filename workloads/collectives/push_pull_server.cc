#include "workloads/collectives/push_pull_server.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "compressors/compressor.h"
#include "workloads/collectives/push_pull_options.h"

namespace thinpipe {
namespace {

// A server decodes and compresses in a separate thread if its largest unit has at least this number
// of elements. The work on one unit of this size takes as long as a segment of 32 kB at 1 Gbit/s,
// 0.26 ms.
constexpr std::size_t kBesideElements = 1 << 18;

}  // namespace

UnitCodec::UnitCodec(const std::vector<ExchangeUnit>& units, bool beside, std::size_t most)
    : units_(units) {
  jobs_.reserve(most);
  answers_.reserve(most);
  if (beside) thread_ = std::thread([this] { work(); });
}

UnitCodec::~UnitCodec() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void UnitCodec::begin(UnitAggregator& aggregator) {
  const std::lock_guard lock(mutex_);
  aggregator_ = &aggregator;
  jobs_.clear();
  answers_.clear();
  begun_ = ended_ = taken_ = 0;
}

void UnitCodec::add(std::uint32_t unit, int worker, std::span<const std::byte> payload, bool last,
                    int from) {
  const Job job{unit, worker, payload, last};
  const Stretch anew{.from = from, .begin = now_seconds()};
  if (!thread_.joinable()) {
    UnitAnswer answer;
    stretch_ = anew;
    if (carry_out(job, answer, stretch_)) answers_.push_back(answer);
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (ended_ == jobs_.size()) stretch_ = anew;
    jobs_.push_back(job);
  }
  changed_.notify_all();
}

bool UnitCodec::take(UnitAnswer& answer) {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  if (taken_ == answers_.size()) return false;
  answer = answers_[taken_++];
  return true;
}

void UnitCodec::drop() {
  std::unique_lock lock(mutex_);
  jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(begun_), jobs_.end());
  changed_.wait(lock, [&] { return ended_ == begun_; });
  error_ = nullptr;  // of a job that ended meanwhile; it must not reach a later step
}

bool UnitCodec::carry_out(const Job& job, UnitAnswer& answer, Stretch& stretch) {
  try {
    aggregator_->add(job.unit, job.worker, job.payload);
  } catch (const PayloadError& error) {
    throw PayloadError(fmt::format("payload of rank {}, unit '{}': {}", job.worker,
                                   units_[job.unit].name, error.what()));
  }
  if (!job.last) return false;
  const double averaged = now_seconds();
  answer.unit = job.unit;
  answer.payload = aggregator_->answer(job.unit);
  const double answered = now_seconds();
  stretch.compressing += answered - averaged;
  answer.served = {stretch.from, stretch.begin, answered - stretch.compressing, answered};
  return true;
}

void UnitCodec::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || (begun_ < jobs_.size() && !error_); });
    if (stop_) return;
    const Job job = jobs_[begun_++];
    Stretch stretch = stretch_;
    lock.unlock();
    UnitAnswer answer;
    bool answered = false;
    std::exception_ptr error;
    try {
      answered = carry_out(job, answer, stretch);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    stretch_ = stretch;
    ++ended_;
    if (error) error_ = error;
    if (answered) answers_.push_back(answer);
    changed_.notify_all();  // drop() may wait
  }
}

PushPullServer::PushPullServer(Transport& transport, PushPullLayout layout, int server,
                               int first_slot)
    : transport_(transport),
      layout_(std::move(layout)),
      units_(layout_.units.size()),
      own_worker_(layout_.colocated ? server : -1) {
  const auto workers = static_cast<std::size_t>(layout_.workers);
  std::size_t bytes = 0, most_elements = 0;
  for (const ExchangeUnit& unit : layout_.units) {
    if (unit.server != server) continue;
    bytes += workers * unit.push_capacity;
    most_elements = std::max(most_elements, unit.elements);
  }
  arena_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
  std::size_t at = 0;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const ExchangeUnit& what = layout_.units[i];
    if (what.server != server) continue;
    Unit& unit = units_[i];
    for (std::size_t worker = 0; worker < workers; ++worker, at += what.push_capacity)
      unit.places.emplace_back(arena_.get() + at, what.push_capacity);  // unused for its own worker
    unit.begun.resize(workers);
    unit.payloads.resize(workers);
    unit.arrived.resize(workers);
    own_.push_back(i);
  }
  codec_.emplace(layout_.units, transport_.has_threads() && most_elements >= kBesideElements,
                 own_.size() * workers);
  const std::size_t window = segments_for_each_of(layout_.workers);
  const auto slots = static_cast<int>(2 * window);
  for (int worker = 0; worker < layout_.workers; ++worker) {
    const int slot = first_slot + worker * slots;
    streams_.senders.emplace_back(transport_, worker, slot, window, kPullTag, own_.size());
    streams_.receivers.emplace_back(transport_, worker, slot + static_cast<int>(window), window,
                                    kPushTag);
  }
}

void PushPullServer::step(UnitAggregator& aggregator, std::span<const std::size_t> units) {
  begin(aggregator);
  await(units);
  while (!idle()) {
    if (advance())
      transport_.progressed();
    else if (!idle())
      transport_.pause();
  }
}

void PushPullServer::await(std::span<const std::size_t> units) {
  for (const std::size_t index : units) {
    Unit& unit = units_[index];
    unit.awaited = true;
    unit.added = 0;
    std::fill(unit.begun.begin(), unit.begun.end(), false);
    std::fill(unit.arrived.begin(), unit.arrived.end(), false);
  }
  unanswered_ += units.size();
  for (int worker = 0; worker < layout_.workers; ++worker)
    if (worker != own_worker_)
      streams_.receivers[static_cast<std::size_t>(worker)].expect(units.size());
}

bool PushPullServer::advance() {
  try {
    const bool arrived = streams_.receive(*this);
    take_answers();
    // A server that is also a worker sends to the next rank first, so that the servers do not all
    // send to the same rank.
    return streams_.send(static_cast<std::size_t>(own_worker_ + 1)) || arrived;
  } catch (...) {
    codec_->drop();
    throw;
  }
}

std::span<std::byte> PushPullServer::begin_unit(int peer, std::uint32_t unit,
                                                std::uint32_t length) {
  const auto worker = static_cast<std::size_t>(peer);
  if (unit >= units_.size() || !units_[unit].awaited || units_[unit].begun[worker])
    throw PayloadError(
        fmt::format("rank {} pushed unit {}; expected those of this server's {} units that take "
                    "part in the step, each once",
                    peer, unit, own_.size()));
  const ExchangeUnit& what = layout_.units[unit];
  if (length > what.push_capacity)
    throw PayloadError(fmt::format("rank {}, unit '{}': {} bytes; expected at most {}", peer,
                                   what.name, length, what.push_capacity));
  units_[unit].begun[worker] = true;
  return units_[unit].places[worker].first(length);
}

void PushPullServer::end_unit(int peer, std::uint32_t index, std::span<const std::byte> payload) {
  Unit& unit = units_[index];
  const auto worker = static_cast<std::size_t>(peer);
  unit.payloads[worker] = payload;
  unit.arrived[worker] = true;
  // Payloads are added in the order of workers. Each is added as soon as all earlier workers'
  // payloads have arrived, so that little work is left when the last payload arrives.
  for (; unit.added < layout_.workers; ++unit.added) {
    const auto next = static_cast<std::size_t>(unit.added);
    if (!unit.arrived[next]) return;
    codec_->add(index, unit.added, unit.payloads[next], unit.added + 1 == layout_.workers, peer);
  }
}

void PushPullServer::take_answers() {
  for (UnitAnswer answer; codec_->take(answer); --unanswered_) {
    units_[answer.unit].served = answer.served;
    for (int worker = 0; worker < layout_.workers; ++worker)
      if (worker != own_worker_)
        streams_.senders[static_cast<std::size_t>(worker)].add(answer.unit, answer.payload);
    if (on_answer) on_answer(answer.unit, answer.payload);
  }
}

}  // namespace thinpipe
