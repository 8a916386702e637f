// Predicts the times of a sweep's point from its compressor and its network.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "compressors/spec.h"
#include "harness/predict/codec_profile.h"
#include "workloads/predict/exchange_time.h"
#include "workloads/predict/pipeline.h"

namespace thinpipe {

/// One operation of a collective.
struct ExchangeCost {
  double seconds = 0;
  double bytes = 0;    ///< in one direction of the busiest link
  double waiting = 0;  ///< greatest number of bytes in a port's queue
  std::vector<double> by_server = {};  ///< bytes in one direction of each parameter server's link
};

/// The ranks of an exchange and their links.
struct ExchangeAmong {
  int ranks = 1;
  LinkFigures link;
  std::vector<LinkFigures> servers = {};  ///< parameter servers' links; empty: as `link`
  double slower = 1;                      ///< factor on codec times, because codecs share cores
};

/// Returns the cost of an exchange. For `ring` it uses a closed form. For every other collective
/// with up to about a hundred ranks, it uses the collective's messages (both are in
/// workloads/predict/exchange_time.h). With more ranks, it uses the steps and the bytes of the
/// busiest rank (workloads/collectives/traffic.h): steps * alpha + bytes * beta less the credit.
/// Returns nothing where the collective lacks the operation or its traffic is unknown.
std::optional<ExchangeCost> exchange_cost(const Spec& collective, const ExchangeWork& exchange,
                                          const ExchangeAmong& among, ExchangeTimes& times);

/// Returns true if exchange_cost() has a model of the collective.
bool has_model(const Spec& collective);

/// Times at which a step's gradients are ready on all ranks, in s after the step's begin.
struct ComputeTimes {
  double compute = 0;         ///< end of the backward pass on the slowest rank
  std::vector<double> ready;  ///< by tensor
};

/// Returns the time at which a bucket's last gradient is ready.
double ready_time(const ProfiledBucket& bucket, const ComputeTimes& times);

/// Parameters of one point.
struct PredictionInput {
  int ranks = 1;
  Spec collective;
  LinkFigures link;
  std::vector<LinkFigures> servers;  ///< parameter servers' links, where different from `link`
  double queue = 0;                  ///< payload bytes that a port's queue can hold; 0: no limit
  ComputeTimes times;
  PipelineKind kind = PipelineKind::kSerial;
  /// Cores that all ranks' codecs share; 0: every rank has all cores it uses.
  double cores = 0;
  int threads = 1;  ///< of one rank's codec
};

/// Seconds of one step; the mean over p steps where a method exchanges in every p-th step only.
struct Prediction {
  double step = 0;
  double compute = 0;
  double compress = 0;  ///< this and the next two: of all buckets; with overlap they do not add up
  double exchange = 0;
  double decode = 0;
  double exposed = 0;        ///< wait for the network with no other work
  double payload_bytes = 0;  ///< of one rank, in a step that exchanges
  double period = 1;
  /// A port's queue would overflow and drop frames; TCP's retransmissions are in no model.
  bool incast = false;
  /// Seconds of one all-reduce of sparse payloads by recursive doubling without re-selection: if
  /// ranks have no positions in common (worst), and if their positions are independent
  /// (workloads/predict/exchange_time.h).
  std::optional<double> sparse_worst, sparse_independent;
  LinkFigures link;
};

/// Returns the factor by which work takes longer if all ranks, each with so many threads, share
/// `cores`; 1 if cores is 0, which gives every rank a machine of its own.
double crowding(int ranks, int threads, double cores);

/// Predicts a step; returns nothing where there is no model of the collective.
/// @param times  caches exchange times from point to point
std::optional<Prediction> predict(const CodecProfile& codec, const PredictionInput& input,
                                  ExchangeTimes& times);

/// Returns the `prediction` of docs/records.md, without its `basis`.
nlohmann::json prediction_json(const Prediction& prediction, const CodecProfile& codec);

}  // namespace thinpipe
