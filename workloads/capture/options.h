// Options of training, independent of libtorch: those of a capture, which `thinpipe capture` passes
// to thinpipe-capture, and those of one worker of a training run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace thinpipe {

/// Steps at the beginning of a run that no capture records, because they allocate memory, choose
/// kernels and fill caches, which distorts their times.
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
///   from           integer  first recorded step, counted from 0      to end with the run
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
/// vgg16-cifar. The recorded steps are `from`, `from` + `every`, `from` + 2 `every` and so on,
/// `record` steps in all. By default the steps are consecutive, so that a method with error
/// feedback gets the gradients that it would get in training. Exit codes: 0 success; 2 a wrong
/// option, wrong data, or `out` not empty; 4 the loss did not fall or the machine failed. On
/// SIGINT, SIGTERM and SIGHUP, the program removes the unfinished folder before it ends.
struct CaptureOptions {
  std::string out;
  std::string model = "lenet5";
  std::size_t workers = 4;
  std::uint64_t steps = 160;
  std::uint64_t record = 10;
  std::uint64_t every = 1;
  std::optional<std::uint64_t> from;
  std::size_t batch = 0;     ///< set from the model by parse_capture_options
  double learning_rate = 0;  ///< likewise
  double momentum = 0;       ///< likewise
  double weight_decay = 0;
  std::string data;
  std::uint64_t seed = 1;
  bool squares = false;
  bool json = false;

  /// Returns the recorded steps, ascending.
  std::vector<std::uint64_t> recorded_steps() const;
};

/// Parses the options of a capture.
/// @throws InputError naming the option, what was found and what was expected, also for impossible
/// combinations: recorded steps in the warm-up or after the last step.
CaptureOptions parse_capture_options(const nlohmann::json& object);

/// The training options of one worker of a run. As JSON an object with these members (all but
/// `model` may be absent or null; no others are allowed); in brackets the default:
///
///   model      string   one of trainable_models()
///   width      number   0.01..4, times units and channels [1]; vgg16-cifar, wordlstm, gpt only
///   data       string   folder or file of training data [""]: drawn or shipped data
///   workers    integer  1..1024 [1]
///   batch      integer  1..65536, mini-batch of one worker [the model's]
///   seed       integer  0..2^64-1 [1]: initial parameters, order of the images, augmentation
///   steps      integer  1..10^9 [100]: steps of the whole run, for the schedule
///   optimiser  string   OptimiserSpec [sgd with the model's rate and momentum]
///   schedule   string   RateSchedule ["constant"]
///   clip       number   >= 0, upper bound of the mean gradient's norm [0: no bound]
///   local_clip number   >= 0; over the root of `workers`, the upper bound of the norm of each
///                       worker's own gradient, of all tensors together [0: no bound]
///   updates    boolean  workers exchange the changes of the parameters in steps of their own
///                       optimisers, instead of gradients [false]
///   mask_momentum  boolean  with updates: the optimiser's momentum becomes 0 where a worker has
///                       sent a value [false]
///   augment    boolean  random shifts, and for photographs mirroring [false]
///   held_out   integer  minimum held-out samples of an evaluation [0: all]
///   squares    boolean  second moments too (Learner::squares) [false]
struct LearnerOptions {
  std::string model;
  double width = 1;
  std::string data;
  std::size_t workers = 1;
  std::size_t batch = 0;
  std::uint64_t seed = 1;
  std::uint64_t steps = 100;
  std::string optimiser;
  std::string schedule = "constant";
  double clip = 0;
  double local_clip = 0;
  bool updates = false;
  bool mask_momentum = false;
  bool augment = false;
  std::uint64_t held_out = 0;
  bool squares = false;

  nlohmann::json to_json() const;
};

/// Parses the options of a worker and checks everything except the data. Sets optimiser and batch
/// if absent.
/// @throws InputError "train: <option>: found..., expected ..."
LearnerOptions parse_learner_options(const nlohmann::json& object);

}  // namespace thinpipe
