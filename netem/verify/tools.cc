#include "netem/verify/tools.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/programs.h"
#include "base/statistics.h"
#include "base/text.h"
#include "netem/host_program.h"
#include "netem/sandbox.h"

namespace thinpipe {

namespace {

constexpr int kOmitted = 1;             // s of slow start that iperf3 leaves out
constexpr double kGrace = 10;           // s beyond its duration after which a tool is killed
constexpr double kServerSeconds = 5;    // s for the server to start
constexpr double kPingInterval = 0.02;  // s

void refuse_stop() {
  if (stop_requested()) throw RunError("interrupted");
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// Returns iperf3's error. iperf3 also prints JSON on failure: {"error": "..."}.
std::string error_of_iperf3(const std::string& output) {
  const auto json = nlohmann::json::parse(output, nullptr, false);
  return json.is_object() && json.contains("error") ? json["error"].dump() : first_line(output);
}

}  // namespace

double goodput_of_iperf3(const std::string& json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  const nlohmann::json::json_pointer pointer("/end/sum_received/bits_per_second");
  if (!parsed.is_object() || !parsed.contains(pointer) || !parsed[pointer].is_number())
    throw RunError("iperf3's JSON has no end.sum_received.bits_per_second");
  return parsed[pointer].get<double>();
}

double round_trip_of_ping(const std::string& text) {
  // "64 bytes from 198.18.0.2: icmp_seq=1 ttl=63 time=0.041 ms", busybox's with seq=0.
  constexpr std::string_view kMark = "time=";
  std::vector<double> times;
  for (std::size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at)) {
    at += kMark.size();
    double milliseconds = 0;
    const auto [rest, error] =
        std::from_chars(text.data() + at, text.data() + text.size(), milliseconds);
    if (error != std::errc() || !std::string_view(rest).starts_with(" ms"))
      throw RunError("ping's output has a time that is not in ms");
    times.push_back(milliseconds * 1e-3);
  }
  if (times.empty()) throw RunError("ping got no reply");
  return median(times);
}

ToolFigure iperf3_goodput(const Network& network, const Flow& flow, double seconds) {
  const auto failed = [](const std::string& trouble) {
    return ToolFigure{"iperf3", std::nullopt, trouble};
  };
  if (!find_in_path("iperf3")) return failed("not installed");
  const int measured = static_cast<int>(std::ceil(seconds));
  const std::string address = network.data_address(flow.to);
  const std::size_t before = listening_sockets(network.host(flow.to));
  HostProgram server(network.host(flow.to), {"iperf3", "--server", "--one-off", "--bind", address});
  if (!server.wait_until_listening(before, kServerSeconds)) {
    refuse_stop();
    return failed("the iperf3 server did not start");
  }
  HostProgram client(network.host(flow.from),
                     {"iperf3", "--client", address, "--time", fmt::to_string(measured), "--omit",
                      fmt::to_string(kOmitted), "--congestion", "cubic", "--json"});
  const int code = client.wait(measured + kOmitted + kGrace);
  refuse_stop();
  if (code == 0) return {"iperf3", goodput_of_iperf3(client.output()), ""};
  return failed(code < 0 ? "timed out" : error_of_iperf3(client.output()));
}

ToolFigure ping_round_trip(const Network& network, const Flow& flow, int count, double timeout) {
  const bool has_ping = find_in_path("ping").has_value();
  if (!has_ping && !find_in_path("busybox")) return {"ping", std::nullopt, "not installed"};
  const std::string tool = has_ping ? "ping" : "busybox ping";
  std::vector<std::string> words = split(tool, ' ');
  words.insert(words.end(), {"-c", fmt::to_string(count), "-i", fmt::to_string(kPingInterval),
                             network.data_address(flow.to)});
  HostProgram ping(network.host(flow.from), words);
  const int code = ping.wait(count * kPingInterval + timeout + kGrace);
  refuse_stop();
  try {
    return {tool, round_trip_of_ping(ping.output()), ""};
  } catch (const RunError& error) {
    return {tool, std::nullopt,
            fmt::format("{} (exit code {}: {})", error.what(), code, first_line(ping.output()))};
  }
}

}  // namespace thinpipe
