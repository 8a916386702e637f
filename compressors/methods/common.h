// Parameters that many methods share, so that a key means the same everywhere.
#pragma once

#include <string>

#include "compressors/encode/position_codec.h"
#include "compressors/encode/value_codec.h"
#include "compressors/memory/memory.h"
#include "compressors/pipeline_state.h"
#include "compressors/registry.h"

namespace thinpipe {

inline ParameterInfo ratio_parameter(const std::string& default_value) {
  return {.name = "ratio",
          .type = ParameterInfo::Type::kReal,
          .default_value = default_value,
          .help = "share of the elements to send, k / d",
          .minimum = 0,
          .maximum = 1,
          .exclusive_minimum = true,
          .choices = {}};
}

inline ParameterInfo positions_parameter(const std::string& default_value) {
  return {.name = "positions",
          .type = ParameterInfo::Type::kChoice,
          .default_value = default_value,
          .help = "how positions are written",
          .choices = position_codec_names()};
}

inline ParameterInfo values_parameter(const std::string& default_value) {
  return {.name = "values",
          .type = ParameterInfo::Type::kChoice,
          .default_value = default_value,
          .help = "how values are written",
          .choices = value_codec_names()};
}

/// memory=residual|none with its decay.
inline ParameterInfo memory_parameter() {
  return {.name = "memory",
          .type = ParameterInfo::Type::kChoice,
          .default_value = "residual",
          .help = "what was not sent is kept for the next step, or lost",
          .choices = {"residual", "none"}};
}

inline ParameterInfo decay_parameter() {
  return {.name = "decay",
          .type = ParameterInfo::Type::kReal,
          .default_value = "1",
          .help = "factor on the residual in every step",
          .minimum = 0,
          .maximum = 1,
          .choices = {}};
}

inline ParameterInfo flag_parameter(const std::string& name, const std::string& default_value,
                                    const std::string& help) {
  return {.name = name,
          .type = ParameterInfo::Type::kFlag,
          .default_value = default_value,
          .help = help,
          .choices = {}};
}

/// The memory that memory_parameter() and decay_parameter() name.
inline std::unique_ptr<Memory> make_memory(const Parameters& parameters, std::size_t elements) {
  if (parameters.choice("memory") == "none") return make_no_memory(elements, false);
  return make_residual_memory(elements, static_cast<float>(parameters.real("decay")));
}

inline StateIdentity identity_of(const Parameters& parameters, const TensorInfo& tensor) {
  return {.spec = parameters.text(), .tensor = tensor.name, .elements = tensor.elements};
}

/// Expected payload bits per element of a sparse method that sends the share `density`.
inline double sparse_bits(const Parameters& parameters, double density) {
  const double position =
      make_position_codec(parameters.choice("positions"))->expected_bits(density);
  const double value = make_value_codec(parameters.choice("values"))->expected_bits();
  return density * (position + value);
}

}  // namespace thinpipe
