// What a record says of its steps' critical paths, in words.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace thinpipe {

/// Of one point. Shares are of its steps' time.
struct PathFinding {
  double waited =
      0;             ///< in exchanges, for one host's one phase; 0 where that is too little to tell
  std::string whom;  ///< "host 3's compute"
  double exchange = 0;  ///< with all ranks there
  std::string link;     ///< that was busy for clearly longer than the others meanwhile; "" for none

  std::string sender;  ///< "host 2", of clearly longer payloads than the others; "" for none
  double times = 0;    ///< as long as theirs

  bool none() const { return waited == 0 && link.empty() && sender.empty(); }
};

/// @param record  the `critical_path` of docs/records.md; what is not of its shape says nothing
PathFinding path_finding(const nlohmann::json& record);

/// How long the median other rank stood in exchanges until a host came, as a share of the steps'
/// time, all phases of that host together; of hosts that the record names.
std::map<int, double> waited_by_host(const nlohmann::json& record);

/// "62 % of it waiting for host 3's compute, exchanges at the pace of host 2's link, host 1's
/// payload 3.2 times the others'"; "" for none.
std::string path_phrase(const PathFinding& finding);

}  // namespace thinpipe
