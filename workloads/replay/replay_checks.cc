// What a replay refuses: combinations of options that would not measure what they say.
#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "compressors/registry.h"
#include "workloads/replay/replay.h"

namespace thinpipe {

void Replay::check_device() const {
  if (options_.device && options_.time_scale < 1)
    throw InputError(
        "a time scale below 1 would have to speed copies up, which is not done on a device yet; "
        "--device cpu does it");
}

void Replay::check_time_scale() const {
  if (options_.time_scale < 1 && options_.feed.overlap != Overlap::kNone)
    throw InputError(fmt::format(
        "--overlap bucket: its codec works beside exchanges, which a time scale of {} would "
        "shorten but not the codec; expected a time scale of at least 1, or --overlap none",
        options_.time_scale));
  const bool between =
      options_.servers || std::any_of(buckets_.begin(), buckets_.end(), [](const auto& bucket) {
        return bucket->takes_rounds() || bucket->shares_scales();
      });
  if (options_.time_scale < 1 && between)
    throw InputError(fmt::format(
        "{}: its codec works between several exchanges of a step, which a time scale of {} would "
        "shorten but not the codec; expected a time scale of at least 1 for this method",
        options_.compressor.to_string(), options_.time_scale));
}

void Replay::check_local_steps() const {
  if (options_.feed.local_steps > 1)
    for (const Spec& spec : options_.compressor.specs())
      if (find_method(spec.name).needs_squares)
        throw InputError(fmt::format(
            "{}: its second moments are those of one step's gradient; expected one local step",
            spec.to_string()));
}

}  // namespace thinpipe
