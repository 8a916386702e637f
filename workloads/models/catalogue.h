// The catalogue of models: their tensors, times, published counts, and what trains some of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

/// Training data of a model.
enum class DataKind {
  kDigits,  ///< 28x28 grey images of ten classes (MNIST's form)
  kColour,  ///< 32x32 images of three channels and ten classes (CIFAR-10's form)
  kText,    ///< a sequence of characters
  kWords,   ///< a sequence of words
};

/// Whether a model learns what comes next; its quality is then a perplexity.
inline bool is_text(DataKind kind) { return kind == DataKind::kText || kind == DataKind::kWords; }

/// How `thinpipe capture` and `thinpipe train` train a model unless told otherwise.
struct TrainingDefaults {
  DataKind data = DataKind::kDigits;
  std::size_t batch = 0;  ///< mini-batch of one worker
  double learning_rate = 0;
  double momentum = 0;
  /// A sample's gradient does not depend on the rest of its mini-batch, nor on steps before.
  bool independent_samples = false;
  bool has_width = false;  ///< its units or channels can be scaled (LearnerOptions::width)
};

/// One parameter tensor, in the order of the forward pass.
struct ModelTensor {
  std::string name;
  std::vector<std::int64_t> shape = {};  ///< row-major
  std::size_t elements = 0;              ///< product of shape
  /// Multiplications that an element takes part in for one sample: output pixels of a convolution,
  /// time steps of a recurrent layer, tokens. 0 where they do not count: biases, normalisation,
  /// looked-up embeddings.
  std::uint64_t uses = 0;
};

/// A count that a paper prints, and why the catalogue's differs where it does.
struct PublishedCount {
  std::string by;                                ///< paper and place
  std::optional<std::uint64_t> parameters = {};  ///< as printed; or
  std::optional<double> mib = {};                ///< 2^20 bytes of FP32, printed with two decimals
  std::int64_t difference = 0;   ///< the catalogue's parameters less those meant there
  std::uint64_t rounded_to = 1;  ///< the step in which `parameters` is printed
  std::string why = {};          ///< of the difference, or how the count is met
};

/// Seconds that a step's passes take on a device for a mini-batch.
struct ModelTimes {
  enum class Kind { kMeasured, kEstimated };
  Kind kind = Kind::kEstimated;
  std::string device;
  std::string source;  ///< command or paper; of an estimate, where its FLOP rate comes from
  std::size_t batch = 0;
  double forward = 0;
  double backward = 0;
  double flops_per_second = 0;  ///< of an estimate; else 0
  double memory_rate = 0;       ///< B/s that the device's memory reads; of an estimate; else 0
};

/// How an estimate's passes are made of its FLOP rate, in words.
const char* estimate_formula();

struct ModelInfo {
  std::string name;
  std::string title;   ///< one line
  std::string source;  ///< where its layers are described
  std::vector<ModelTensor> tensors;
  std::vector<PublishedCount> published;
  std::vector<ModelTimes> times;             ///< at least one
  std::optional<TrainingDefaults> training;  ///< of those that can be trained

  std::size_t parameters = 0;       ///< sum of elements
  std::uint64_t multiply_adds = 0;  ///< of the forward pass of one sample: sum of elements x uses

  /// 0 is the first gradient that is ready: the backward pass goes through the tensors from the
  /// last to the first.
  std::size_t ready_order(std::size_t tensor) const { return tensors.size() - 1 - tensor; }
  /// The share of the backward pass that is over when a tensor's gradient is ready, as its
  /// multiply-adds have it; in (0, 1], 1 for tensor 0.
  std::vector<double> ready_shares() const;
};

/// All models, ordered by name.
const std::vector<ModelInfo>& model_catalogue();

/// @throws InputError naming the nearest model.
const ModelInfo& find_model(std::string_view name);

/// The names of those that have training defaults.
const std::vector<std::string>& trainable_models();

/// As find_model(), among the trainable ones.
const ModelInfo& find_trainable_model(std::string_view name);

/// Reads a model's data file; docs/models.md describes the format.
/// @param file  names the text in messages.
/// @throws InputError naming file and field for anything missing, unknown or inconsistent.
ModelInfo parse_model_file(std::string_view text, const std::string& file);

/// A data file of catalogue/, as it was when the library was built.
struct CatalogueFile {
  std::string_view name;  ///< "vgg19.json"
  std::string_view text;
};

/// All of them. CMake makes this function from catalogue/*.json, so that programs need no file
/// beside them.
std::span<const CatalogueFile> catalogue_files();

}  // namespace thinpipe
