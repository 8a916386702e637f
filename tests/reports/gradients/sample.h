// Plainly synthetic records of trace statistics: Laplace magnitudes in closed form.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/gradients/records.h"
#include "tests/reports/sample.h"

namespace thinpipe::sample {

inline nlohmann::json stats_header(const std::string& model = "toy") {
  nlohmann::json head = header_json(header());
  head["kind"] = "trace-stats";
  head["command"] = {"thinpipe", "trace", "stats", "a trace", "--out", "stats"};
  head["trace"]["model"] = model;
  head["statistics"] = {{"ranks", {0}},
                        {"training_steps", {10, 11}},
                        {"ratios", {0.1, 0.01}},
                        {"feedback_ratio", 0.001},
                        {"overlap_ratio", 0.01}};
  return head;
}

/// Gamma is nearest, then exponential, generalised Pareto and normal; p = 0.6, with feedback 0.4.
inline nlohmann::json stats_gradient(const std::string& tensor, int step, bool feedback,
                                     double elements = 1000) {
  nlohmann::json gradient = {{"record", "gradient"},
                             {"tensor", tensor},
                             {"training_step", step},
                             {"rank", 0},
                             {"feedback", feedback},
                             {"elements", elements},
                             {"zeros", 100},
                             {"non_finite", 0},
                             {"mean", 0},
                             {"deviation", 1.4},
                             {"skewness", 0},
                             {"excess_kurtosis", 3},
                             {"l2", 44.7},
                             {"mean_magnitude", 1},
                             {"decay", {{"p", feedback ? 0.4 : 0.6}, {"r_squared", 0.9}}},
                             {"best_k_error", {{0.1, 0.5}, {0.01, 0.9}}}};
  const double distances[] = {0.02, 0.01, 0.03, 0.2};
  nlohmann::json curves = {
      {"places", {1, 10, 100}}, {"magnitudes", {0.2, 0.1, 0.03}}, {"errors", {0.95, 0.8, 0.4}}};
  std::vector<double> x, below;
  for (int i = 1; i <= 20; ++i) {
    x.push_back(0.01 * i);
    below.push_back(1 - std::exp(-0.4 * i));
  }
  curves["x"] = x;
  curves["empirical"] = below;
  for (std::size_t i = 0; i < kFitNames.size(); ++i) {
    gradient["fits"][kFitNames[i]] = {{"distance", distances[i]}};
    curves["fitted"][kFitNames[i]] = below;
  }
  gradient["curves"] = curves;
  return gradient;
}

inline nlohmann::json stats_similarity(const std::string& tensor, const char* between, int step) {
  return {{"record", "similarity"}, {"tensor", tensor}, {"between", between},
          {"training_step", step},  {"cosine", 0.25},   {"top_k_overlap", 0.125}};
}

/// A whole model of two tensors, two steps, with and without error feedback.
inline std::string stats_text(const std::string& model = "toy", const std::string& tensor = "a") {
  std::string text = stats_header(model).dump() + "\n";
  for (const int step : {10, 11}) {
    for (const std::string& name : {tensor, std::string("b"), std::string("*")}) {
      for (const bool feedback : {false, true}) {
        text += stats_gradient(name, step, feedback, name == "*" ? 3000 : 1500).dump() + "\n";
      }
      text += stats_similarity(name, "workers", step).dump() + "\n";
      if (step > 10) text += stats_similarity(name, "steps", step).dump() + "\n";
    }
  }
  return text;
}

}  // namespace thinpipe::sample
