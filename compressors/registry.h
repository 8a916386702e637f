// The registry of compression methods, by name. Each method registers itself from its own file,
// with its parameters and the paper that it comes from.
//
// Example:
//
//   std::unique_ptr<thinpipe::Compressor> make_top_k(std::int64_t elements) {
//     const thinpipe::TensorInfo tensor{
//         .name = "w", .shape = {elements}, .elements = static_cast<std::size_t>(elements)};
//     return thinpipe::make_compressor(thinpipe::parse_spec("topk:ratio=0.25"), tensor, {});
//   }
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/element_type.h"
#include "compressors/spec.h"

namespace thinpipe {

/// A parameter of a method. Flags, help, listings and checks derive from this alone.
struct ParameterInfo {
  enum class Type {
    kReal,
    kInteger,
    kChoice,
    kFlag,      ///< true or false
    kRealList,  ///< numbers joined by '/', each in the range; or `none`
    kSpec,      ///< a compressor's spec, in parentheses unless it is a name only; or `same`
  };
  std::string name;
  Type type = Type::kReal;
  std::string default_value;         ///< as a user would write it
  std::string help;                  ///< one line, with the unit
  double minimum = 0;                ///< for numbers; see exclusive_minimum
  double maximum = 0;                ///< for numbers; see exclusive_maximum
  bool exclusive_minimum = false;    ///< true: value > minimum
  bool exclusive_maximum = false;    ///< true: value < maximum
  std::vector<std::string> choices;  ///< for kChoice

  /// Returns the allowed numbers as an interval: "(0, 1]".
  std::string range() const;
};

/// A complete spec: defaults are filled in, and every value is checked against its ParameterInfo.
class Parameters {
 public:
  /// Completes and checks a spec. @throws InputError naming the spec, the key, the value found and
  /// the values allowed.
  Parameters(const std::vector<ParameterInfo>& infos, const Spec& spec);

  /// Returns true if the method declares a parameter of this name.
  bool has(const std::string& name) const { return values_.contains(name); }
  // Each getter throws std::logic_error for a name or a type that the method did not declare.
  double real(const std::string& name) const;
  long long integer(const std::string& name) const;   ///< also of a choice of whole numbers
  std::size_t count(const std::string& name) const {  ///< integer() of one that is at least 0
    return static_cast<std::size_t>(integer(name));
  }
  const std::string& choice(const std::string& name) const;
  bool flag(const std::string& name) const;
  std::vector<double> reals(const std::string& name) const;  ///< empty for `none`
  std::optional<Spec> spec(const std::string& name) const;   ///< nullopt for `same`

  /// Returns the spec with every parameter written out in one normal form; equal for equal meaning.
  const std::string& text() const { return text_; }
  /// Returns the spec without the parameters that have their defaults, in one normal form; equal
  /// for equal meaning: `topk` for `topk:ratio=0.010`. Records are compared by this form.
  const Spec& normal() const { return normal_; }

 private:
  const std::string& value(const std::string& name, ParameterInfo::Type type) const;

  struct Value {
    ParameterInfo::Type type;
    std::string text;
  };
  std::map<std::string, Value> values_;
  std::string text_;
  Spec normal_;
};

/// How an all-reduce sums a method's payloads (Aggregation::kAllReduce).
struct Summation {
  ElementType element = ElementType::kFloat32;  ///< of the payload arrays
  /// False: the sum is divided by the number of workers. True, for 16-bit elements only: every
  /// worker divides its array before the all-reduce sums the arrays, as the hooks of PyTorch's DDP
  /// do.
  bool predivides = false;
  bool operator==(const Summation&) const = default;
};

/// The least memory traffic and arithmetic that a method's definition allows one encode of a large
/// matrix of d elements. The payload is not included. An uncertain number is set to its lower
/// bound.
struct EncodeTraffic {
  double inputs = 1;  ///< arrays of d floats that the caller passes: the gradient, its squares
  /// Number of times that the vector to encode must be read. It is 2 if no element can be encoded
  /// before a result of all elements is known, such as the greatest magnitude as scale, and else 1.
  /// An exact top-k needs 1, because one read can collect candidates for the k largest elements.
  /// Updating a residual needs no read of its own: the next step, which reads the residual anyway,
  /// can do it.
  double sweeps = 1;
  bool residual = false;     ///< the gradient is added to an array of d floats and written back
  double states = 0;         ///< further arrays of d floats that are read and written back
  double multiply_adds = 0;  ///< per element, of a transform or a product; an addition is one
  bool operator==(const EncodeTraffic&) const = default;
};

struct MethodInfo {
  using Factory = std::function<std::unique_ptr<Compressor>(const Parameters&, const TensorInfo&,
                                                            const CompressorSettings&)>;
  std::string name;
  std::string summary;                                ///< one line
  std::string source;                                 ///< paper, section or equation
  Aggregation aggregation = Aggregation::kAllGather;  ///< see aggregation_of()
  /// For a method whose parameters decide on the aggregation; otherwise empty.
  std::function<Aggregation(const Parameters&)> aggregation_with = {};
  std::function<Summation(const Parameters&)> summation = {};  ///< empty: of 32-bit floats
  bool needs_squares = false;  ///< GradientInput::squares is required
  bool needs_whole = false;    ///< uses the tensor's shape or transforms it: slices do not work
  bool has_pairs = false;      ///< its compressors are SparsePayloads
  bool has_target = false;     ///< all workers know the number of pairs beforehand
  bool from_plugin = false;    ///< its code may crash or never return
  std::vector<ParameterInfo> parameters;
  /// Expected payload bits per element of a large tensor, for listings; not a measurement.
  std::function<double(const Parameters&)> expected_bits;
  std::function<EncodeTraffic(const Parameters&)> traffic = {};  ///< empty: one read of one input
  Factory make;
};

/// `static const Registration kTopK{{.name = "topk", ...}};` at namespace scope registers a method.
/// Throws std::logic_error for a second method of the same name.
class Registration {
 public:
  explicit Registration(MethodInfo info);
};

/// Returns all methods, ordered by name.
const std::vector<MethodInfo>& methods();

/// Returns a method by name. @throws InputError for an unknown name, with the known names.
const MethodInfo& find_method(const std::string& name);

/// Checks name, keys and values. @throws InputError naming the spec, the key and what is allowed.
void check_spec(const Spec& spec);

/// Returns the values of a spec, with its method's defaults for missing ones.
/// @throws InputError as check_spec.
Parameters parameters_of(const Spec& spec);

/// Returns the expected payload bits per element of a spec (MethodInfo::expected_bits); nullopt if
/// the method declares none. @throws InputError as check_spec.
std::optional<double> expected_bits(const Spec& spec);

/// Returns the least traffic of one encode by the spec (MethodInfo::traffic).
/// @throws InputError as check_spec.
EncodeTraffic traffic_of(const Spec& spec);

/// Returns how payloads of the spec become one aggregate. @throws InputError as check_spec.
Aggregation aggregation_of(const Spec& spec);

/// Returns how payloads of the spec are summed, for all-reduces. @throws InputError as check_spec.
Summation summation_of(const Spec& spec);

/// Makes a compressor for one tensor. @throws InputError as check_spec.
std::unique_ptr<Compressor> make_compressor(const Spec& spec, const TensorInfo& tensor,
                                            const CompressorSettings& settings);

// How the collective `twoshot` cuts an array into slices, one for each rank.

/// Returns the grain of slices, in elements: arrays are cut only between grains. The grain is the
/// value of the method's parameter `block`, `bucket` or `chunk`, which is the number of elements
/// that share a scale or that are selected from together. Returns 1 if the method has none of these
/// parameters, or if the value is 0. @throws InputError as check_spec
std::size_t slice_grain(const Spec& compressor);

/// Returns the end of each slice, in elements; the last end is `elements`. The lengths of slices
/// differ by less than two grains. Longer slices come first, and the last slice may end within a
/// grain. There are `ranks` slices, or fewer if slices would on average be shorter than 1024
/// elements or than a grain, but at least one. @throws InputError as check_spec
std::vector<std::size_t> slice_ends(const Spec& compressor, std::size_t elements,
                                    std::size_t ranks);

}  // namespace thinpipe
