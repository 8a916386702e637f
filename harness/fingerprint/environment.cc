#include "harness/fingerprint/environment.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

namespace thinpipe {
namespace {

constexpr std::string_view kNames[] = {"CUDA_VISIBLE_DEVICES", "GLIBC_TUNABLES", "LD_BIND_NOW"};
constexpr std::string_view kBeginnings[] = {"MALLOC_", "OMPI_MCA_", "OMP_", "THINPIPE_", "UCX_"};
// Set for every rank by mpirun, and different in each.
constexpr std::string_view kNotThese[] = {"OMPI_MCA_ess_", "OMPI_MCA_orte_", "OMPI_MCA_pmix_",
                                          "OMPI_MCA_initial_wdir", "OMPI_MCA_shmem_RUNTIME"};

bool is_measured(std::string_view name) {
  const auto begins = [&](std::string_view beginning) { return name.starts_with(beginning); };
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         (std::any_of(std::begin(kBeginnings), std::end(kBeginnings), begins) &&
          std::none_of(std::begin(kNotThese), std::end(kNotThese), begins));
}

}  // namespace

nlohmann::json measured_environment() {
  nlohmann::json json = nlohmann::json::object();
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !is_measured(text.substr(0, equals))) continue;
    json[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  return json;
}

}  // namespace thinpipe
