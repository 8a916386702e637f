// Random elements, the same for all workers.
#pragma once

#include <memory>

#include "compressors/select/ratio.h"
#include "compressors/select/seeded_positions.h"
#include "compressors/select/selector.h"

namespace thinpipe {

/// k = target_count(ratio) positions drawn for the step (its low 32 bits). With `unbiased` values
/// are multiplied by d / k, so that the expectation over steps is c.
std::unique_ptr<Selector> make_random_k_selector(std::size_t elements, const RatioSchedule& ratio,
                                                 bool unbiased,
                                                 std::shared_ptr<SeededPositions> positions);

}  // namespace thinpipe
