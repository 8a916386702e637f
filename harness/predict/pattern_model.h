// How long one operation of a pattern takes.
#pragma once

#include <optional>

#include "compressors/spec.h"
#include "harness/predict/codec_profile.h"
#include "workloads/predict/link_figures.h"

namespace thinpipe {

/// One operation of a pattern.
struct ExchangeCost {
  double seconds = 0;
  double bytes = 0;  ///< that the busiest link carries one way
};

/// `ring` by its own closed form (workloads/predict/ring_time.h). Every other pattern by its steps
/// and by what its busiest rank sends or receives (workloads/exchange/cost): steps * alpha + bytes
/// * beta less the credit, since segments are passed on as they come and both directions are busy
/// at once. Nothing where there is no closed form of the pattern or it has no such operation.
std::optional<ExchangeCost> exchange_cost(const Spec& pattern, const ProfiledExchange& exchange,
                                          int ranks, const LinkFigures& link);

/// Whether exchange_cost() may find something.
bool has_model(const Spec& pattern);

}  // namespace thinpipe
