// How long one operation of a pattern takes.
#pragma once

#include <optional>
#include <vector>

#include "compressors/spec.h"
#include "harness/predict/codec_profile.h"
#include "workloads/predict/exchange_time.h"
#include "workloads/predict/link_figures.h"

namespace thinpipe {

/// One operation of a pattern.
struct ExchangeCost {
  double seconds = 0;
  double bytes = 0;    ///< that the busiest link carries one way
  double waiting = 0;  ///< before a port, at most
};

/// Among whom.
struct ExchangeAmong {
  int ranks = 1;
  LinkFigures link;
  std::vector<LinkFigures> servers = {};  ///< parameter servers' links; empty: as `link`
  double slower = 1;                      ///< by which codecs get in each other's way
};

/// `ring` by its own closed form (workloads/predict/ring_time.h). Every other pattern by its
/// messages (workloads/predict/exchange_time.h), up to some hundred ranks; beyond, by its steps and
/// by what its busiest rank sends or receives (workloads/exchange/cost): steps * alpha + bytes *
/// beta less the credit. Nothing where the pattern has no such operation or nobody knows what it
/// sends.
std::optional<ExchangeCost> exchange_cost(const Spec& pattern, const ProfiledExchange& exchange,
                                          const ExchangeAmong& among, ExchangeTimes& times);

/// Whether exchange_cost() may find something.
bool has_model(const Spec& pattern);

}  // namespace thinpipe
