#include "tests/kernel/train_over.h"

#include <algorithm>

#include "netem/link_spec.h"
#include "tests/kernel/in_sandbox.h"

namespace thinpipe {

namespace {

constexpr std::size_t kFigures = 4;  // of an arrival

// Inside a sandbox.
std::vector<double> train_between_two(const std::string& link, const TrainOptions& options) {
  Network network(2);
  set_links(network, link);
  return to_figures(send_train(network, 0, 1, options));
}

}  // namespace

void set_links(Network& network, const std::string& link) {
  network.set_links(parse_link_spec(link));
}

std::vector<double> to_figures(const std::vector<Arrival>& arrivals) {
  std::vector<double> figures;
  for (const Arrival& one : arrivals)
    figures.insert(figures.end(), {static_cast<double>(one.number), one.sent, one.arrived,
                                   one.intact ? 1.0 : 0.0});
  return figures;
}

std::vector<Arrival> to_arrivals(const std::vector<double>& figures) {
  std::vector<Arrival> arrivals;
  for (std::size_t i = 0; i + kFigures <= figures.size(); i += kFigures)
    arrivals.push_back({static_cast<std::uint32_t>(figures[i]), figures[i + 1], figures[i + 2],
                        figures[i + 3] == 1});
  return arrivals;
}

std::vector<Arrival> train_over(const std::string& link, const TrainOptions& options) {
  return to_arrivals(in_sandbox([&] { return train_between_two(link, options); }));
}

std::vector<Arrival> fates_over(const std::string& link, const TrainOptions& options) {
  return to_arrivals(counts_in_sandbox([&] { return train_between_two(link, options); }));
}

std::vector<double> delays_of(std::vector<Arrival> arrivals) {
  std::sort(arrivals.begin(), arrivals.end(),
            [](const Arrival& a, const Arrival& b) { return a.number < b.number; });
  std::vector<double> delays;
  for (const Arrival& one : arrivals) delays.push_back(one.delay());
  return delays;
}

}  // namespace thinpipe
