#include "harness/worker/reference.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/error.h"
#include "base/splitmix64.h"
#include "netem/file_descriptor.h"

namespace thinpipe {
namespace {

using nlohmann::json;

constexpr double kNotComparable = std::numeric_limits<double>::infinity();

// Returns the error of one piece, which begins at `from`: max |piece - reference| / max
// |reference|.
template <class Reference>
double piece_error(std::span<const float> piece, std::size_t from, Reference reference) {
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < piece.size(); ++i) {
    const double expected = reference(from + i);
    largest = std::max(largest, std::fabs(expected));
    const double difference = std::fabs(static_cast<double>(piece[i]) - expected);
    if (std::isnan(difference)) return difference;
    worst = std::max(worst, difference);
  }
  return largest > 0 ? worst / largest : worst;
}

template <class Reference>
double worst_error(const std::vector<std::span<const float>>& pieces, std::size_t elements,
                   Reference reference) {
  double worst = 0;
  std::size_t from = 0;
  for (const std::span<const float> piece : pieces) {
    if (piece.size() > elements - from)
      throw std::logic_error("a result runs past the end of the contributions");
    const double error = piece_error(piece, from, reference);
    if (std::isnan(error)) return error;
    worst = std::max(worst, error);
    from += piece.size();
  }
  return worst;
}

double weight(std::uint64_t bits) {
  const double magnitude = 0.5 + static_cast<double>(bits >> 12) * 0x1p-52;
  return (bits & 1) != 0 ? magnitude : -magnitude;
}

// Returns a number of a message; JSON writes numbers that are not finite as null.
double number(const json& value) {
  return value.is_number() ? value.get<double>() : kNotComparable;
}

}  // namespace

void OuterReference::follow(std::span<const float> aggregate, std::span<const float> velocity,
                            ElementRange turn) {
  const double m = options_.momentum, rate = options_.learning_rate;
  if (velocity_.empty()) {
    velocity_.assign(velocity.begin(), velocity.end());
  } else {
    for (std::size_t i = turn.begin; i < turn.end; ++i)
      velocity_[i] = m * velocity_[i] + static_cast<double>(aggregate[i]);
  }
  expected_.assign(velocity_.size(), 0);
  for (std::size_t i = turn.begin; i < turn.end; ++i)
    expected_[i] = rate * static_cast<double>(aggregate[i]) + rate * m * velocity_[i];
}

double OuterReference::error_of(std::span<const float> update) const {
  if (expected_.empty()) return 0;
  if (update.size() != expected_.size()) return std::numeric_limits<double>::quiet_NaN();
  return piece_error(update, 0, [this](std::size_t i) { return expected_[i]; });
}

SharedContributions::SharedContributions(const std::string& folder, int rank, int ranks,
                                         std::size_t elements)
    : folder_(folder),
      rank_(rank),
      elements_(elements),
      contributions_(static_cast<std::size_t>(ranks)) {
  if (rank != kNone) contributions_[static_cast<std::size_t>(rank)] = map(rank);
}

SharedContributions::~SharedContributions() {
  for (const std::span<float> mapped : contributions_)
    if (!mapped.empty()) munmap(mapped.data(), mapped.size_bytes());
}

std::span<float> SharedContributions::own() {
  return contributions_[static_cast<std::size_t>(rank_)];
}

std::span<float> SharedContributions::map(int rank) {
  if (elements_ == 0) return {};
  const std::string path = fmt::format("{}/contribution-{}", folder_, rank);
  const FileDescriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const std::size_t bytes = elements_ * sizeof(float);
  if (!file.valid() || ftruncate(file.get(), static_cast<off_t>(bytes)) != 0)
    throw SystemError("make " + path);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (memory == MAP_FAILED) throw SystemError("map " + path);
  return {static_cast<float*>(memory), elements_};
}

std::vector<std::span<const float>> SharedContributions::all() {
  for (std::size_t rank = 0; rank < contributions_.size(); ++rank)
    if (contributions_[rank].empty()) contributions_[rank] = map(static_cast<int>(rank));
  return {contributions_.begin(), contributions_.end()};
}

double SharedContributions::mean(std::size_t element) const {
  double sum = 0;
  for (const std::span<float> contribution : contributions_) sum += contribution[element];
  return sum / static_cast<double>(contributions_.size());
}

double SharedContributions::error_of(const std::vector<std::span<const float>>& pieces) {
  all();
  return worst_error(pieces, elements_, [this](std::size_t i) { return mean(i); });
}

double SharedContributions::error_of(const std::vector<std::span<const float>>& pieces,
                                     std::span<const float> reference) const {
  return worst_error(pieces, reference.size(),
                     [&](std::size_t i) { return static_cast<double>(reference[i]); });
}

RoundingError SharedContributions::rounding_error_of(std::span<const float> aggregate,
                                                     const std::vector<RoundedSum>& sums) {
  all();
  const double n = static_cast<double>(contributions_.size());
  double worst = 0, largest = 0, of_bound = 0;
  for (const RoundedSum& sum : sums) {
    const bool fp16 = sum.type == ElementType::kFloat16;
    const double unit = (fp16 ? 0x1p-11 : 0x1p-8) + 0x1p-23;
    const double growth = std::expm1(n * std::log1p(unit));
    const double least = fp16 ? 0x1p-24 : 0x1p-133;
    for (std::size_t i = sum.begin; i < sum.begin + sum.size; ++i) {
      double magnitudes = 0;
      for (const std::span<float> contribution : contributions_)
        magnitudes += std::fabs(static_cast<double>(contribution[i])) / n;
      const double difference = std::fabs(static_cast<double>(aggregate[i]) - mean(i));
      if (std::isnan(difference)) return {difference, difference};
      worst = std::max(worst, difference);
      largest = std::max(largest, std::fabs(mean(i)));
      of_bound = std::max(of_bound, difference / (growth * magnitudes + (n + 1) * least / 2));
    }
  }
  return {largest > 0 ? worst / largest : worst, of_bound};
}

double SharedContributions::error_of_places(const std::vector<Place>& places) {
  all();
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < elements_; ++i) largest = std::max(largest, std::fabs(mean(i)));
  for (const Place& place : places)
    for (std::size_t i = 0; i < place.values.size(); ++i) {
      const double difference =
          std::fabs(static_cast<double>(place.values[i]) - mean(place.from + i));
      if (std::isnan(difference)) return difference;
      worst = std::max(worst, difference);
    }
  return largest > 0 ? worst / largest : worst;
}

std::vector<double> project(std::span<const float> values, std::uint64_t seed) {
  SplitMix64 weights(SplitMix64::mix(seed + 1));
  std::vector<double> sums;
  for (std::size_t begin = 0; begin < values.size(); begin += kProjectedBlock) {
    double sum = 0;
    for (const float value :
         values.subspan(begin, std::min(kProjectedBlock, values.size() - begin)))
      sum += static_cast<double>(value) * weight(weights.next());
    sums.push_back(sum);
  }
  return sums;
}

double projected_error(const std::vector<json>& contributions, const std::vector<json>& results,
                       const std::vector<json>& largest) {
  double worst = 0;
  for (std::size_t rank = 0; rank < results.size(); ++rank)
    for (std::size_t piece = 0; piece < results[rank].size(); ++piece) {
      double off = 0;
      for (std::size_t block = 0; block < results[rank][piece].size(); ++block) {
        double mean = 0;
        for (const json& one : contributions)
          mean += piece < one.size() && block < one[piece].size() ? number(one[piece][block])
                                                                  : kNotComparable;
        mean /= static_cast<double>(contributions.size());
        const double difference = std::fabs(number(results[rank][piece][block]) - mean);
        off = std::isfinite(difference) ? std::max(off, difference) : kNotComparable;
      }
      const double scale = number(largest[rank].at(piece));
      worst = std::max(worst, scale > 0 ? off / scale : off);
      if (!std::isfinite(off) || !std::isfinite(scale)) return kNotComparable;
    }
  return worst;
}

}  // namespace thinpipe
