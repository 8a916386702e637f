// How long one operation of a pattern takes.
#pragma once

#include <optional>

#include "compressors/spec.h"
#include "harness/predict/codec_profile.h"
#include "workloads/predict/exchange_time.h"
#include "workloads/predict/link_figures.h"

namespace thinpipe {

/// One operation of a pattern.
struct ExchangeCost {
  double seconds = 0;
  double bytes = 0;  ///< that the busiest link carries one way
};

/// `ring` by its own closed form (workloads/predict/ring_time.h). Every other plan by its messages
/// (workloads/predict/exchange_time.h), up to some hundred ranks; beyond, and `qgz`, by its steps
/// and by what its busiest rank sends or receives (workloads/exchange/cost): steps * alpha + bytes
/// * beta less the credit. Nothing where the pattern has no such operation or nobody knows what it
/// sends.
std::optional<ExchangeCost> exchange_cost(const Spec& pattern, const ProfiledExchange& exchange,
                                          int ranks, const LinkFigures& link, ExchangeTimes& times);

/// Whether exchange_cost() may find something.
bool has_model(const Spec& pattern);

}  // namespace thinpipe
