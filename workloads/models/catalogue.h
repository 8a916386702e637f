// The catalogue of models: tensors, times, published counts, and defaults for training.
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
  kDigits,  ///< 28x28 grey images of ten classes (MNIST's format)
  kColour,  ///< 32x32 images of three channels and ten classes (CIFAR-10's format)
  kText,    ///< a sequence of characters
  kWords,   ///< a sequence of words
};

/// Returns whether a model predicts the next symbol, so that perplexity measures its quality.
inline bool is_text(DataKind kind) { return kind == DataKind::kText || kind == DataKind::kWords; }

/// Defaults of `thinpipe capture` and `thinpipe train` for a model.
struct TrainingDefaults {
  DataKind data = DataKind::kDigits;
  std::size_t batch = 0;  ///< mini-batch of one worker
  double learning_rate = 0;
  double momentum = 0;
  /// A sample's gradient does not depend on the rest of its mini-batch or on earlier steps.
  bool independent_samples = false;
  bool has_width = false;  ///< units or channels can be scaled (LearnerOptions::width)
};

/// One parameter tensor, in the order of the forward pass.
struct ModelTensor {
  std::string name;
  std::vector<std::int64_t> shape = {};  ///< row-major
  std::size_t elements = 0;              ///< product of shape
  /// Number of multiplications that use one element of the tensor, for one sample. This is the
  /// number of output pixels of a convolution, of time steps of a recurrent layer, or of tokens. 0
  /// for tensors that are not counted: biases, normalisation, looked-up embeddings.
  std::uint64_t uses = 0;
};

/// A published number of parameters or a published size, and the reason if the catalogue's count
/// differs.
struct PublishedCount {
  std::string by;                                ///< paper and table or section
  std::optional<std::uint64_t> parameters = {};  ///< as printed; or
  std::optional<double> mib = {};                ///< 2^20 bytes of FP32, printed with two decimals
  std::int64_t difference = 0;                   ///< the catalogue's parameters minus the paper's
  std::uint64_t rounded_to = 1;                  ///< unit to which `parameters` is rounded in print
  std::string why = {};  ///< reason for the difference, or what gives the count
};

/// Times of a step's passes on a device for a mini-batch, in seconds.
struct ModelTimes {
  enum class Kind { kMeasured, kEstimated };
  Kind kind = Kind::kEstimated;
  std::string device;
  std::string source;  ///< command or paper; for an estimate, the source of its FLOP rate
  std::size_t batch = 0;
  double forward = 0;
  double backward = 0;
  double flops_per_second = 0;  ///< of an estimate; else 0
  double memory_rate = 0;       ///< B/s read from the device's memory; of an estimate; else 0
};

/// Returns the formula of an estimate's times, as text.
const char* estimate_formula();

struct ModelInfo {
  std::string name;
  std::string title;   ///< one line
  std::string source;  ///< description of the layers
  std::vector<ModelTensor> tensors;
  std::vector<PublishedCount> published;
  std::vector<ModelTimes> times;             ///< at least one
  std::optional<TrainingDefaults> training;  ///< of trainable models

  std::size_t parameters = 0;       ///< sum of elements
  std::uint64_t multiply_adds = 0;  ///< of the forward pass of one sample: sum of elements x uses

  /// Returns a tensor's position in the backward pass. The backward pass goes from the last tensor
  /// (position 0) to the first tensor.
  std::size_t ready_order(std::size_t tensor) const { return tensors.size() - 1 - tensor; }
  /// Returns, for each tensor, the fraction of the backward pass's multiply-adds done when its
  /// gradient is ready; in (0, 1], and 1 for tensor 0.
  std::vector<double> ready_shares() const;
};

/// Returns all models, ordered by name.
const std::vector<ModelInfo>& model_catalogue();

/// Returns a model. @throws InputError suggesting the nearest name.
const ModelInfo& find_model(std::string_view name);

/// Returns the names of the models with training defaults.
const std::vector<std::string>& trainable_models();

/// Returns a trainable model. @throws InputError as find_model().
const ModelInfo& find_trainable_model(std::string_view name);

/// Reads a model's data file; docs/models.md describes the format.
/// @param file  names the text in messages.
/// @throws InputError naming file and field for anything missing, unknown or inconsistent.
ModelInfo parse_model_file(std::string_view text, const std::string& file);

/// A data file of catalogue/, embedded when the library is built.
struct CatalogueFile {
  std::string_view name;  ///< "vgg19.json"
  std::string_view text;
};

/// Returns all embedded files. CMake generates this function from catalogue/*.json, so that
/// programs need no data files.
std::span<const CatalogueFile> catalogue_files();

}  // namespace thinpipe
