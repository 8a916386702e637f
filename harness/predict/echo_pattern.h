// A network of one rank that stands for two, by which codecs are measured: what it sends comes
// back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "harness/predict/codec_profile.h"
#include "workloads/exchange/pattern.h"
#include "workloads/replay/push_pull_units.h"

namespace thinpipe {

/// The servers of ranks that all run here, one after the other: what was pushed in one step is
/// answered in the next. Their times and sizes are measured.
class EchoServers {
 public:
  /// @throws InputError as make_compressor
  EchoServers(const std::vector<ReplayUnit>& units, const PushPullOptions& options,
              std::size_t ranks, const CompressorSettings& settings);
  ~EchoServers();

  /// Different ranks may push at the same time.
  void push(std::size_t rank, std::size_t unit, std::span<const std::byte> payload);
  /// Valid until answer_all().
  std::span<const std::byte> answer(std::size_t unit) const;
  /// When all ranks have pushed: averages and compresses. @param counts  in the profile
  void answer_all(std::uint64_t step, bool counts);

  /// By unit, of the steps that counted.
  std::vector<ProfiledUnit> profile() const;

 private:
  struct Unit;
  std::vector<Unit> units_;
};

class EchoPattern : public Pattern {
 public:
  static constexpr int kRanks = 2;
  struct Made {
    Exchange exchange;
    double bytes;
    double k = 0;
  };

  /// @param servers  of push(), or null; `rank` among those who push to them
  EchoPattern(EchoServers* servers, std::size_t rank) : servers_(servers), rank_(rank) {}

  using Pattern::all_reduce;
  void all_reduce(ElementType type, std::span<const std::byte> own, std::span<std::byte> result,
                  float factor) override;
  const std::vector<std::span<const std::byte>>& all_gather(
      std::span<const std::byte> own) override;
  SparseSum sparse_all_reduce(SparseView own, std::size_t k, std::size_t dimension,
                              float factor) override;
  /// As if all brought as many.
  std::size_t mean_count(std::size_t own, std::size_t) override { return own; }
  std::size_t push(std::span<const UnitPayload> payloads) override;
  bool pull(std::size_t) override { return true; }
  std::span<const std::byte> pulled(std::size_t unit) const override {
    return servers_->answer(unit);
  }
  TransportCounters counters() const override { return {}; }

  std::vector<Made> exchanges;  ///< since the last clear()

 private:
  EchoServers* servers_;
  std::size_t rank_;
  std::vector<std::span<const std::byte>> messages_;
};

}  // namespace thinpipe
