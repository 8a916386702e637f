// Parameters that many methods share, so that a key means the same everywhere, and checks of
// arrays.
#pragma once

#include <cstddef>
#include <functional>
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

// Makers of one parameter of each type.
ParameterInfo real_parameter(const std::string& name, const std::string& default_value,
                             const std::string& help, double minimum, double maximum);
/// Excludes the minimum, or the maximum, from the range.
ParameterInfo above_minimum(ParameterInfo info);
ParameterInfo below_maximum(ParameterInfo info);
ParameterInfo integer_parameter(const std::string& name, const std::string& default_value,
                                const std::string& help, double minimum, double maximum);
ParameterInfo choice_parameter(const std::string& name, const std::string& default_value,
                               const std::string& help, std::vector<std::string> choices);
ParameterInfo flag_parameter(const std::string& name, const std::string& default_value,
                             const std::string& help);
/// Makes a parameter that is a fraction in (0, 1].
ParameterInfo share_parameter(const std::string& name, const std::string& default_value,
                              const std::string& help);

/// Returns the lists of parameters as one list.
std::vector<ParameterInfo> join(std::vector<std::vector<ParameterInfo>> lists);

/// Returns the parameters `ratio` (or one of another name) and `warmup`, which ratio_of() reads.
std::vector<ParameterInfo> ratio_parameters(const std::string& default_value,
                                            const std::string& name = "ratio");
RatioSchedule ratio_of(const Parameters& parameters, const std::string& name = "ratio");

/// Returns the parameters `memory` and `delay`, and those of each kind of memory. make_memory() and
/// period_of() read them.
std::vector<ParameterInfo> memory_parameters(const std::string& default_memory,
                                             const std::string& default_delay = "1",
                                             const std::string& default_decay = "1");
std::unique_ptr<Memory> make_memory(const Parameters& parameters, std::size_t elements);
std::uint64_t period_of(const Parameters& parameters);
/// Returns MethodInfo::traffic of a method that has these parameters. It adds the arrays of the
/// memory to `own`, the traffic of the method's selector or quantiser (empty: one read).
std::function<EncodeTraffic(const Parameters&)> traffic_with_memory(
    std::function<EncodeTraffic(const Parameters&)> own);

/// Returns the parameters `values` and `positions`, which make_value_codec() and
/// make_position_codec() read.
std::vector<ParameterInfo> encoding_parameters(const std::string& default_values,
                                               const std::string& default_positions);

StateIdentity identity_of(const Parameters& parameters, const TensorInfo& tensor);

// Checks that every compressor makes: the number of elements of an array, and the number of bytes
// of the payload buffer.
// @throws InputError naming the tensor.
void check_size(const StateIdentity& identity, const char* what, std::size_t found);
void check_room(const StateIdentity& identity, std::size_t found, std::size_t needed);

}  // namespace thinpipe
