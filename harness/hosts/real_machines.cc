#include "harness/hosts/real_machines.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "base/error.h"
#include "harness/launch/control_door.h"
#include "harness/launch/launch.h"
#include "harness/programs.h"
#include "netem/time_scale.h"

namespace thinpipe {

namespace {

using nlohmann::json;

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// From where the hosts can be expected to find this machine.
std::vector<std::string> addresses_towards(const std::vector<std::string>& hosts) {
  std::vector<std::string> addresses;
  for (const std::string& host : hosts) {
    const std::string address = address_towards(host);
    if (std::find(addresses.begin(), addresses.end(), address) == addresses.end())
      addresses.push_back(address);
  }
  return addresses;
}

}  // namespace

std::string shell_quoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

RealMachines::RealMachines(HostsOptions options, const std::string& scratch, int ranks)
    : options_(std::move(options)) {
  options_.names.resize(static_cast<std::size_t>(ranks));
  control_addresses_ = addresses_towards(options_.names);
  if (!options_.shape.empty())
    guards_ = std::make_unique<Guards>(guard_commands(), scratch, options_.lease);
}

std::vector<GuardCommand> RealMachines::guard_commands() const {
  // The same place on every machine, as for the worker.
  std::vector<std::string> guard = words_of(options_.shape_prefix);
  guard.insert(guard.end(), {find_program("thinpipe-shape").string(), options_.shape,
                             fmt::format("{:g}", options_.lease)});
  if (options_.shape_anyway) guard.emplace_back("--anyway");
  // Where this machine is itself one of the hosts, its own addresses burden nothing there.
  guard.insert(guard.end(), control_addresses_.begin(), control_addresses_.end());
  std::vector<GuardCommand> commands;
  for (const std::string& host : options_.names) {
    GuardCommand command;
    command.host = host;
    if (options_.slurm) {
      // No shell in between. The step's end takes the guard with it: SIGTERM first.
      command.words = {"srun",       "--overlap",    "--nodes=1",
                       "--ntasks=1", "--unbuffered", "--nodelist=" + host};
      command.words.insert(command.words.end(), guard.begin(), guard.end());
    } else {
      command.words = words_of(options_.agent.empty() ? "ssh" : options_.agent);
      command.words.push_back(host);
      std::string line = "exec";
      for (const std::string& word : guard) line += " " + shell_quoted(word);
      command.words.push_back(line);
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

Boarding RealMachines::board(int ranks) {
  Boarding boarding;
  boarding.control_addresses = control_addresses_;
  const auto set = [&](const char* name, const std::string& value) {
    boarding.mpirun.insert(boarding.mpirun.end(), {"--mca", name, value});
  };
  if (options_.slurm) {
    boarding.mpirun = {"--map-by", "ppr:1:node"};  // mpirun takes the allocation itself
  } else {
    std::string hosts;
    for (int i = 0; i < ranks; ++i)
      hosts += fmt::format("{}{}:1", i > 0 ? "," : "", options_.names[static_cast<std::size_t>(i)]);
    boarding.mpirun = {"--host", hosts};
    if (!options_.agent.empty()) set("plm_rsh_agent", options_.agent);
  }
  const std::string data = options_.mpi_interface.empty() ? options_.shape : options_.mpi_interface;
  if (!data.empty()) set("btl_tcp_if_include", data);
  // Open MPI's own talk keeps off the throttled interface, unless there may be no other.
  if (!options_.shape.empty() && !options_.shape_anyway) set("oob_tcp_if_exclude", options_.shape);
  return boarding;
}

void RealMachines::set_links(const LinkSpec& link, double time_scale) {
  if (guards_) guards_->set_links(slowed(link, time_scale).to_string());
}

WireCount RealMachines::count_wire(int ranks) {
  WireCount count;
  count.counted = guards_ != nullptr;
  if (!count.counted) return count;
  const QdiscCounters counters = guards_->count(ranks);
  count.sent = counters.bytes;
  count.drops = counters.drops;
  return count;
}

// Of the cards where guards tell it; hosts of one network have one.
std::uint32_t RealMachines::mtu(const LinkSpec& link) const {
  return guards_ ? static_cast<std::uint32_t>(guards_->cards().at(0).mtu) : link.mtu;
}

LinkCalibration RealMachines::calibrate(const LinkSpec& own, double time_scale, Launch* launch) {
  LinkCalibration result;
  if (launch == nullptr || launch->ranks() < 2) {
    result.unmeasured = launch == nullptr ? "no ranks" : "one rank has nobody to send to";
    return result;
  }
  set_links(own, time_scale);
  const LinkSpec link = slowed(own, time_scale);
  constexpr double kSettle = 0.5;
  // Some 30 segments of the stream at least.
  const double seconds = std::max(1.0, 8e6 / link.rate());
  const std::vector<json> answers =
      launch->ask({{"do", "stream"}, {"settle", kSettle}, {"seconds", seconds}}, 60 + 20 * seconds);
  const double payload = mtu(link) - kTcpHeaders, frame = mtu(link) + kEthernetHeader;
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    WayCalibration way;
    way.where =
        fmt::format("rank {} to rank {}", (rank + answers.size() - 1) % answers.size(), rank);
    way.set = sets_links() ? link.to_string() : "";
    way.ceiling = link.rate() * payload / frame;
    way.goodput = answers[rank].at("goodput");
    way.seconds = seconds;
    result.ways.push_back(std::move(way));
  }
  return result;
}

std::vector<std::string> RealMachines::alterations() {
  return guards_ ? guards_->alterations() : std::vector<std::string>{};
}

json RealMachines::description() const {
  json text = {
      {"kind", "real"},
      {"hosts", options_.names.size()},
      {"launcher", options_.slurm           ? "slurm"
                   : options_.agent.empty() ? "ssh"
                                            : "agent"},
      {"mpi_interface", options_.mpi_interface.empty() ? options_.shape : options_.mpi_interface},
      {"throttled", options_.shape.empty() ? json(nullptr) : json(options_.shape)},
      {"arriving", "not throttled and not counted: each host's egress is"}};
  if (!guards_) {
    text["arriving"] = "not throttled and not counted";
    text["wire_bytes"] = "nobody counts them: counters are of the qdiscs that --shape sets";
    return text;
  }
  json& cards = text["cards"] = json::array();
  for (const GuardedCard& card : guards_->cards())
    cards.push_back({{"mtu", card.mtu}, {"given_back", card.had}});
  return text;
}

}  // namespace thinpipe
