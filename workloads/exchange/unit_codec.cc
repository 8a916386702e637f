#include "workloads/exchange/unit_codec.h"

#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "compressors/compressor.h"

namespace thinpipe {

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
  error_ = nullptr;  // of a job that was at work meanwhile: no later step's
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

}  // namespace thinpipe
