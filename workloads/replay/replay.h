// One rank's part of a replayed training job: compute, compress, exchange, decode, step by step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/registry.h"
#include "workloads/exchange/pattern.h"
#include "workloads/replay/pace.h"
#include "workloads/replay/rounds.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// What to do when a gradient holds a NaN or an infinity.
enum class NonFinite {
  kError,  ///< refuse the steps before any is run, naming tensor and element
  kZero,   ///< replace them by 0, as a mixed-precision trainer that skips bad values
};

struct ReplayOptions {
  Spec compressor;
  std::uint64_t seed = 1;
  int threads = 1;           ///< that one encode or decode may use
  double compute_scale = 1;  ///< times the captured compute time; 0: as fast as the network allows
  NonFinite non_finite = NonFinite::kError;
  /// The links are so many times slower than those that are emulated: compute times are stretched
  /// by it and, where it is above 1, so is what the codec takes. Below 1 the codec works while the
  /// compute time passes, so that the exchange begins when it should. docs/time-scaling.md.
  double time_scale = 1;
};

/// What one rank measured in one step. Times in seconds by the monotonic clock.
struct StepReport {
  double compute = 0;  ///< the captured time, waited for
  double late = 0;     ///< how much later than that the wait ended: the machine's timers
  double compress = 0;
  double compress_cpu =
      0;                ///< processor time of `compress`: less than it when others held the core
  double exchange = 0;  ///< of scales, where the method shares them, and of payloads
  double decode = 0;
  double total = 0;               ///< from the step's begin to its end
  std::size_t payload_bytes = 0;  ///< of this rank's own message without its table of lengths
  std::size_t target = 0;         ///< sum of k over tensors; 0 where the method has none
  std::size_t selected = 0;       ///< sum of k-hat over tensors
  bool exchanged = true;          ///< false in a step that a delayed method holds back

  // For a time scale other than 1: what the step's time is made of on the emulated machine.
  double wanted = 0;        ///< the captured compute time, not stretched
  double codec = 0;         ///< of `compress`, at this machine's own speed (pace.h)
  double codec_decode = 0;  ///< of `decode`, likewise
  double arrived = 0;       ///< after the step's begin, when the payloads' exchange began
  double lag = 0;           ///< by which that was later than the time scale asks for
  double overrun = 0;       ///< by which codec work between exchanges lasted longer than it should
};

/// Which recorded gradient a rank replays: rank r of more ranks than the trace has plays trace rank
/// r mod R, r / R steps later, so that no two ranks send the same; steps wrap round at the end.
struct Replayed {
  std::size_t rank, step;
};
Replayed replayed(const Trace& trace, int rank, std::uint64_t step);

class Replay {
 public:
  /// @throws InputError for a spec or a trace that does not fit, or a time scale below 1 and a
  /// method whose codec works between exchanges: that cannot be told apart from them.
  Replay(const Trace& trace, const ReplayOptions& options, int rank, int ranks);
  ~Replay();

  Aggregation aggregation() const { return aggregation_; }
  /// The longest message this rank may send: what a pattern must be able to carry.
  std::size_t message_capacity() const { return message_.size(); }

  /// Loads and checks the gradients of steps [0, steps): nothing is left to be read from disk when
  /// the clock runs. @throws InputError naming tensor and element for a non-finite value (kError).
  void prepare(std::uint64_t steps);

  /// Before a step, outside its time: makes its gradients where no file holds them.
  void load(std::uint64_t index);

  /// Runs one step with the other ranks. @throws PayloadError when a peer's payload is malformed.
  StepReport step(std::uint64_t index, Pattern& pattern);

  /// The last step's result: mean over ranks of what each sent, decoded; d elements, trace order.
  std::span<const float> aggregate() const { return aggregate_; }

  /// |decoded - c| / |c| over all tensors of the step just run, `index`. Takes processor time that
  /// ranks still in their exchange would miss: call it when all ranks have ended the step.
  double relative_error(std::uint64_t index) const;

  /// This rank's part of what the last step brought, for a reference that does not cross the
  /// network: its own message decoded (d elements), then the floats it sent in every round where
  /// the method takes several. `out` has contribution_size() elements; what is not used is 0.
  void own_contribution(std::span<float> out) const;
  std::size_t contribution_size() const;

  /// What the network brought, piece by piece: the aggregate, then the mean of every round where
  /// the method takes several. Each is the mean over ranks of the same place of own_contribution().
  std::vector<std::span<const float>> results() const;

 private:
  struct Tensor;

  void share_scales(std::uint64_t index, Pattern& pattern, StepReport& report);
  void compress(std::uint64_t index, StepReport& report);
  void hold(std::uint64_t index);
  void all_gather(Pattern& pattern, StepReport& report);
  void all_reduce(Pattern& pattern, StepReport& report);
  void run_rounds(Pattern& pattern, StepReport& report);
  std::span<const std::byte> own_payload(std::size_t tensor) const;
  GradientInput input(std::size_t tensor, std::uint64_t index) const;

  const Trace& trace_;
  ReplayOptions options_;
  int rank_, ranks_;
  Aggregation aggregation_;
  std::uint64_t period_ = 1;  ///< every so many steps are exchanged
  std::vector<Tensor> tensors_;
  std::vector<std::byte> message_;  ///< lengths, then payloads
  std::size_t message_size_ = 0;
  Pace pace_, decode_pace_;         ///< of what is sent and of what came
  std::unique_ptr<Rounds> rounds_;  ///< where the method takes several, instead of the message
  std::vector<float> scales_;       ///< by tensor, where workers share them; else empty
  std::vector<float> aggregate_;
  mutable std::vector<std::span<const std::byte>> payloads_;
  std::vector<std::vector<float>> repaired_;  ///< per (step, tensor): gradients rid of non-finites
};

}  // namespace thinpipe
