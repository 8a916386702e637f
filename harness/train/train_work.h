// What a training run does at the points of a session.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/sweep/point_work.h"
#include "harness/train/options.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

class TrainPoint;
struct PointSamples;

class TrainWork : public PointWork {
 public:
  /// @param trace  of the model's parameters and times
  TrainWork(const TrainOptions& options, const ModelDescription& model, const Trace& trace)
      : options_(options), model_(model), trace_(trace) {}

  const char* program() const override { return "thinpipe-train-worker"; }
  nlohmann::json settings() const override;
  void complete_header(nlohmann::json& header) const override;
  void complete_point(const SweepPoint& point, nlohmann::json& record) const override;
  double expected_seconds(const SweepPoint& point) const override;
  nlohmann::json measure(const SweepPoint& point, Machines& machines, Launch& launch,
                         const Calibrator& calibrator, const PointProgress& progress) override;
  std::string outcome(const SweepPoint& point, const nlohmann::json& record) const override;

 private:
  void add_trained(const TrainPoint& trained, const PointSamples& samples,
                   nlohmann::json& record) const;
  nlohmann::json metrics_of(const TrainPoint& trained) const;

  const TrainOptions& options_;
  const ModelDescription& model_;
  const Trace& trace_;
};

}  // namespace thinpipe
