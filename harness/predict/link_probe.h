// Alpha and beta of the links in force, measured by the ranks themselves before a point.
#pragma once

#include <vector>

#include "harness/predict/network_model.h"

namespace thinpipe {

class Launch;

/// The messages to send: an exchange of some 50 ms, and several times what buckets save up.
std::size_t probe_bytes(const LinkFigures& expected, int ranks);

/// From what every rank measured (small[rank][i], large[rank][i]: seconds of the i-th exchange):
/// message_time beside the delay that the link is known to have, and by how much bytes are slower
/// than they should, so that the model of the ring's all-gather gives the shortest of the large
/// ones, which others on the machine held up least.
MachineFigures machine_figures(const std::vector<std::vector<double>>& small,
                               const std::vector<std::vector<double>>& large, std::size_t bytes,
                               const LinkFigures& expected);

/// Asks the ranks. @param expected  what the link should be without machines, as it is set
/// @throws RunError as Launch::ask()
MachineFigures probe_links(Launch& launch, const LinkFigures& expected);

}  // namespace thinpipe
