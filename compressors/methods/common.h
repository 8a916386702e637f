// Parameters that many methods share, so that a key means the same everywhere, and checks.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/encode/position_codec.h"
#include "compressors/encode/value_codec.h"
#include "compressors/memory/memory.h"
#include "compressors/registry.h"
#include "compressors/select/selector.h"
#include "compressors/wire/states.h"

namespace thinpipe {

// One parameter of each type.
ParameterInfo real_parameter(const std::string& name, const std::string& default_value,
                             const std::string& help, double minimum, double maximum);
/// The same without its minimum, or its maximum: values above it, or below it.
ParameterInfo above_minimum(ParameterInfo info);
ParameterInfo below_maximum(ParameterInfo info);
ParameterInfo integer_parameter(const std::string& name, const std::string& default_value,
                                const std::string& help, double minimum, double maximum);
ParameterInfo choice_parameter(const std::string& name, const std::string& default_value,
                               const std::string& help, std::vector<std::string> choices);
ParameterInfo flag_parameter(const std::string& name, const std::string& default_value,
                             const std::string& help);
/// A share of the elements, in (0, 1].
ParameterInfo share_parameter(const std::string& name, const std::string& default_value,
                              const std::string& help);

/// Joins lists of parameters.
std::vector<ParameterInfo> join(std::vector<std::vector<ParameterInfo>> lists);

/// `ratio` (or another name for it) and `warmup`, read by ratio_of().
std::vector<ParameterInfo> ratio_parameters(const std::string& default_value,
                                            const std::string& name = "ratio");
RatioSchedule ratio_of(const Parameters& parameters, const std::string& name = "ratio");

/// `memory` and what belongs to each kind of it, and `delay`; read by make_memory() and
/// period_of().
std::vector<ParameterInfo> memory_parameters(const std::string& default_memory,
                                             const std::string& default_delay = "1",
                                             const std::string& default_decay = "1");
std::unique_ptr<Memory> make_memory(const Parameters& parameters, std::size_t elements);
std::uint64_t period_of(const Parameters& parameters);

/// `values` and `positions`, read by make_value_codec() and make_position_codec().
std::vector<ParameterInfo> encoding_parameters(const std::string& default_values,
                                               const std::string& default_positions);

StateIdentity identity_of(const Parameters& parameters, const TensorInfo& tensor);

// Checks that every compressor makes of its arrays. @throws InputError naming the tensor.
void check_size(const StateIdentity& identity, const char* what, std::size_t found);
void check_room(const StateIdentity& identity, std::size_t found, std::size_t needed);

}  // namespace thinpipe
