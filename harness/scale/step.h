// From what ranks measured on links in slow (or fast) motion to the times of the emulated machines.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace thinpipe {

/// Rewrites the `stepped` answers of one step, by rank, that was run with a time scale other
/// than 1.
///
/// Each rank's exchange should begin when its compute time and its codec's own time have passed,
/// `factor` times stretched. Where the codec could not be done by then the exchange began `shift`
/// later than it should: that is taken out. Then, in the emulated machine's time,
///
///   compute = the captured time      compress = the codec's own time
///   exchange = (its end - shift) / factor - compute - compress, at least 0
///   decode = the decoding's own time      total = compute + compress + exchange + decode
///
/// All of the exchange is exposed, and links are idle in the rest.
/// What was measured stays in `raw`, an object of compute, compress, exchange, decode and total.
/// `late` is divided by the factor. `skew` is added: by how much, in the emulated machine's time,
/// a rank's beginning was off the others' or its codec between exchanges took too long. The step's
/// time may be off by as much.
void scale_step(std::vector<nlohmann::json>& ranks, double factor);

/// Likewise of a step whose buckets left while compute went on, for a factor above 1. All of it was
/// stretched, decoding too: compute, compress and decode are the captured and the codec's own time,
/// and all that passed beside each other is what was measured over the factor. `skew` is by how
/// much codec work lasted too long.
void scale_overlapped_step(std::vector<nlohmann::json>& ranks, double factor);

/// The `raw` of docs/records.md, of answers that were rewritten: by metric, step by step.
nlohmann::json raw_times(const std::vector<std::vector<nlohmann::json>>& steps, bool overlapped);

/// Why the scaled times should not be trusted; empty when nothing speaks against them.
std::vector<std::string> scale_doubts(const std::vector<std::vector<nlohmann::json>>& steps,
                                      double factor);

}  // namespace thinpipe
