// A train of datagrams over a link given as text, in a sandbox of its own.
#pragma once

#include <string>
#include <vector>

#include "tests/kernel/datagrams.h"

namespace thinpipe {

/// From host 0 to host 1 of a network of two whose links are set to `link`.
std::vector<Arrival> train_over(const std::string& link, const TrainOptions& options);

/// The same for who asks what became of the datagrams, and not when. The sender takes in what has
/// arrived after every 32, so however late the machine is, no buffer overflows.
std::vector<Arrival> fates_over(const std::string& link, const TrainOptions& options);

/// For use inside a sandbox: sets the network's links from text.
void set_links(Network& network, const std::string& link);

/// Arrivals as figures, to be handed out of a sandbox, and back.
std::vector<double> to_figures(const std::vector<Arrival>& arrivals);
std::vector<Arrival> to_arrivals(const std::vector<double>& figures);

/// Delays in the order of sending, in s.
std::vector<double> delays_of(std::vector<Arrival> arrivals);

}  // namespace thinpipe
