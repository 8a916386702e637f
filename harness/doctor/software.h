// The programs that thinpipe starts, and the optional parts it was built with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/doctor/finding.h"

namespace thinpipe {

std::vector<Finding> software_findings();

/// All that `program` prints (standard output and error) when it is given `arguments`; nothing when
/// it cannot be started or fails.
std::optional<std::string> output_of(const std::filesystem::path& program,
                                     const std::vector<std::string>& arguments);

/// The first line that `program` prints (standard output and error) when it is given `argument`;
/// nothing when it cannot be started or prints nothing.
std::optional<std::string> first_line(const std::filesystem::path& program,
                                      const std::string& argument);

/// Judges what `mpirun --version` printed: Open MPI 4.1 is what is tested.
Finding mpi_finding(const std::optional<std::string>& version_line);

}  // namespace thinpipe
