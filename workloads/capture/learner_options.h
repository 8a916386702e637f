// What is trained and how: the options of one worker of a training run, without libtorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

namespace thinpipe {

/// As JSON an object with these members (all but `model` may be absent or null; no others are
/// allowed); in brackets the default:
///
///   model      string   one of trainable_models()
///   width      number   0.01..4, units and channels times this [1]; vgg16-cifar, wordlstm, gpt
///   only data       string   folder or file of training data [""]: drawn or shipped data workers
///   integer  1..1024 [1] batch      integer  1..65536, mini-batch of one worker [the model's] seed
///   integer  0..2^64-1 [1]: initial parameters, order of the images, augmentation steps
///   integer  1..10^9 [100]: of the whole run, for the schedule optimiser  string   OptimiserSpec
///   [sgd with the model's rate and momentum] schedule   string   RateSchedule ["constant"] clip
///   number   >= 0, most that the mean gradient's norm may be [0: no bound] augment    boolean
///   random shifts, and of photographs mirroring [false] squares    boolean  second moments too
///   (Learner::squares) [false]
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
  bool augment = false;
  std::uint64_t held_out = 0;
  bool squares = false;

  nlohmann::json to_json() const;
};

/// Checks everything but the data; optimiser and batch are filled in where they were left open.
/// @throws InputError "train: <option>: found..., expected ..."
LearnerOptions parse_learner_options(const nlohmann::json& object);

}  // namespace thinpipe
