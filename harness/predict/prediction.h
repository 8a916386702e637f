// Predicted times of a sweep's point, from its compressor and its network.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "compressors/spec.h"
#include "harness/predict/codec_profile.h"
#include "workloads/predict/closed_forms.h"
#include "workloads/predict/exchange_time.h"
#include "workloads/predict/pipeline.h"

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

/// `ring` by its own closed form (workloads/predict/closed_forms.h). Every other pattern by its
/// messages (workloads/predict/exchange_time.h), up to some hundred ranks; beyond, by its steps and
/// by what its busiest rank sends or receives (workloads/exchange/cost): steps * alpha + bytes *
/// beta less the credit. Nothing where the pattern has no such operation or nobody knows what it
/// sends.
std::optional<ExchangeCost> exchange_cost(const Spec& pattern, const ProfiledExchange& exchange,
                                          const ExchangeAmong& among, ExchangeTimes& times);

/// Whether exchange_cost() may find something.
bool has_model(const Spec& pattern);

/// When a step's gradients are there, in seconds after its begin.
struct ComputeTimes {
  double compute = 0;         ///< when the backward pass ends, on the slowest rank
  std::vector<double> ready;  ///< by tensor
};

/// When a bucket's last gradient is there.
double ready_time(const ProfiledBucket& bucket, const ComputeTimes& times);

/// One point in numbers.
struct PredictionInput {
  int ranks = 1;
  Spec pattern;
  LinkFigures link;
  std::vector<LinkFigures> servers;  ///< of parameter servers' links, where they are others
  double queue = 0;                  ///< bytes of payload that wait before a port at most; 0: any
  ComputeTimes times;
  PipelineKind kind = PipelineKind::kSerial;
  /// Cores that all ranks' codecs share; 0: every rank has as many as it uses.
  double cores = 0;
  int threads = 1;  ///< of one rank's codec
};

/// Seconds of one step. Where a method exchanges in every p-th step only, its mean over p steps.
struct Prediction {
  double step = 0;
  double compute = 0;
  double compress = 0;  ///< as the next two, of all buckets; with overlap they do not add up
  double exchange = 0;
  double decode = 0;
  double exposed = 0;        ///< waiting for the network with nothing else to do
  double payload_bytes = 0;  ///< of one rank, in a step that exchanges
  double period = 1;
  /// More would wait before a port than its queue holds: it drops frames, and what TCP needs to
  /// send them again is in no model.
  bool incast = false;
  /// Where parts of the gradient are sent: what one all-reduce of them would take that sums by
  /// doubling and does not select again, with no places in common and with independent ones
  /// (workloads/predict/closed_forms.h).
  std::optional<double> sparse_worst, sparse_independent;
  LinkFigures link;
};

/// Nothing where there is no model of the pattern.
/// @param times  remembers what exchanges take, from point to point
std::optional<Prediction> predict(const CodecProfile& codec, const PredictionInput& input,
                                  ExchangeTimes& times);

/// The `prediction` of docs/records.md, without its `basis`.
nlohmann::json prediction_json(const Prediction& prediction, const CodecProfile& codec);

}  // namespace thinpipe
