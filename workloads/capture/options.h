// The options of a capture: what `thinpipe capture` hands to the program that trains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace thinpipe {

/// Steps that no capture records: the first ones allocate memory, choose kernels and fill caches,
/// and their times would tell of that.
inline constexpr std::uint64_t kCaptureWarmUpSteps = 3;

/// `thinpipe-capture` takes one argument, a JSON object with these members (all but `out` may be
/// absent or null; no others are allowed):
///
///   out            string   folder of the trace; must not exist or be empty
///   model          string   one of trainable_models()               "lenet5"
///   workers        integer  1..1024                                  4
///   steps          integer  4..10^9, training steps                  160
///   record         integer  1.., steps recorded                      10
///   every          integer  1.., distance between recorded steps     1
///   from           integer  first recorded step, counted from 0      so that the last is the run's
///   batch          integer  1..65536, mini-batch of one worker       the model's
///   learning_rate  number   > 0                                      the model's
///   momentum       number   0 <= m < 1                               the model's
///   weight_decay   number   >= 0                                     0
///   data           string   folder or file of training data          "": drawn or shipped data
///   seed           integer  0..2^64-1                                1
///   squares        boolean  record second moments too (see below)    false
///   json           boolean  print the summary as JSON                false
///
/// Second moments need models without batch normalisation or carried state: gpt, lenet5,
/// vgg16-cifar. Recorded are the steps from, from + every, ..., `record` of them. Consecutive steps
/// are the default because a method with error feedback is to see what it would see in training.
/// Exit codes: 0 good; 2 a wrong option, wrong data, or `out` not empty; 4 the loss did not fall
/// or the machine failed. SIGINT, SIGTERM and SIGHUP remove the unfinished folder first.
struct CaptureOptions {
  std::string out;
  std::string model = "lenet5";
  std::size_t workers = 4;
  std::uint64_t steps = 160;
  std::uint64_t record = 10;
  std::uint64_t every = 1;
  std::optional<std::uint64_t> from;
  std::size_t batch = 0;     ///< filled from the model by parse_capture_options
  double learning_rate = 0;  ///< likewise
  double momentum = 0;       ///< likewise
  double weight_decay = 0;
  std::string data;
  std::uint64_t seed = 1;
  bool squares = false;
  bool json = false;

  /// Recorded steps, ascending.
  std::vector<std::uint64_t> recorded_steps() const;
};

/// @throws InputError naming the option, what was found and what was expected, also for
/// combinations that cannot be: recorded steps that lie in the warm-up or after the last step.
CaptureOptions parse_capture_options(const nlohmann::json& object);

}  // namespace thinpipe
