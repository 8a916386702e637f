#include "netem/verify/streams.h"

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <exception>
#include <stop_token>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/programs.h"
#include "base/statistics.h"
#include "base/text.h"
#include "netem/host_program.h"
#include "netem/sandbox.h"

namespace thinpipe {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kTimeout = 5;             // s without a byte, beyond the time of twenty frames
constexpr double kGrantedBuffer = 212992;  // bytes: the kernel's default net.core.wmem_max
constexpr double kDoublings = 20;          // of the congestion window, each takes an RTT

double frame_time(const LinkSpec& link) {
  return link.rate() > 0 ? link.frame_bytes() * 8 / link.rate() : 0;
}

// Returns the size of a send buffer in bytes. The buffer keeps the link busy, but does not take
// seconds to drain at the end. Returns 0, so that the kernel tunes the buffer, if the link has no
// rate or needs a window above the kernel's limit.
int send_buffer(const LinkSpec& link, double seconds) {
  if (!link.throttled()) return 0;
  const double bytes_per_second = link.rate() / 8;
  const double window = 2 * bytes_per_second * link.round_trip();
  const double buffer = std::clamp(bytes_per_second * seconds, 32768.0, 4e6);
  return window <= std::min(buffer, kGrantedBuffer) ? static_cast<int>(buffer) : 0;
}

SocketPair connect_stream(const Network& network, const LinkSpec& link, const Flow& flow,
                          double buffer) {
  return stream_pair(network, flow, send_buffer(link, buffer),
                     kTimeout + 4 * link.round_trip() + 20 * frame_time(link));
}

void send_until(const std::stop_token& done, const FileDescriptor& sender) {
  const std::vector<char> block(std::size_t{64} * 1024);
  while (!done.stop_requested() && !stop_requested() &&
         (send(sender.get(), block.data(), block.size(), MSG_NOSIGNAL) > 0 || errno == EINTR)) {
  }
  shutdown(sender.get(), SHUT_WR);
}

// Receives a stream and measures its goodput in windows of the receiver's clock. Each window begins
// and ends with an arrival of data. After the last window, reads to the end of the stream, so that
// the payload can be compared with the qdiscs' counters.
class Receiver {
 public:
  Receiver(const FileDescriptor& socket, const TcpStreamOptions& options)
      : socket_(socket), options_(options) {}

  void run(std::stop_source& done, std::atomic<int>& measuring) {
    std::vector<char> block(1 << 20);
    ssize_t got;
    while ((got = recv(socket_.get(), block.data(), block.size(), 0)) != 0) {
      if (stop_requested()) done.request_stop();
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw SystemError("receive on the measured link (the stream stalled or broke)");
      figures_.payload += static_cast<double>(got);
      bytes_ += static_cast<double>(got);
      if (!measured_) take_time();
      if (measured_ && !reported_ && --measuring == 0) done.request_stop();
      reported_ = measured_;
    }
    if (!measured_)
      throw RunError(stop_requested() ? "interrupted during a measurement"
                                      : "the measured stream ended early");
    figures_.all_acks = acks_sent(socket_);
  }

  StreamFigures figures() const {
    StreamFigures result = figures_;
    result.goodput = median(windows_);
    result.low = quantile(windows_, 0);
    result.high = quantile(windows_, 1);
    return result;
  }

 private:
  void take_time() {
    const auto now = Clock::now();
    const double elapsed = in_seconds(now - begin_);
    if (elapsed < (settled_ ? options_.seconds / options_.windows : options_.settle)) return;
    if (settled_) {
      windows_.push_back(bytes_ * 8 / elapsed);
    } else {
      settled_at_ = now;
      acks_before_ = acks_sent(socket_);
    }
    settled_ = true;
    begin_ = now;
    bytes_ = 0;
    measured_ = windows_.size() >= static_cast<std::size_t>(options_.windows);
    if (measured_)
      figures_.acks = (acks_sent(socket_) - acks_before_) / in_seconds(now - settled_at_);
  }

  const FileDescriptor& socket_;
  const TcpStreamOptions& options_;
  StreamFigures figures_;
  std::vector<double> windows_;
  Clock::time_point begin_ = Clock::now(), settled_at_;
  double bytes_ = 0, acks_before_ = 0;
  bool settled_ = false, measured_ = false, reported_ = false;
};

// Returns the options with times that suit the link. Slow start needs an RTT for each doubling of
// the congestion window. A measurement window must be long enough for some frames.
TcpStreamOptions fitted(const LinkSpec& link, TcpStreamOptions options) {
  constexpr double kFramesAWindow = 6;
  options.settle += kDoublings * link.round_trip() + 2 * kFramesAWindow * frame_time(link);
  options.seconds = std::max(options.seconds, options.windows * kFramesAWindow * frame_time(link));
  return options;
}

// Other programs.

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

MeasuredStreams run_streams(const Network& network, const LinkSpec& link,
                            const std::vector<Flow>& flows, const TcpStreamOptions& options) {
  const TcpStreamOptions used = fitted(link, options);
  std::vector<SocketPair> pairs;
  for (const Flow& flow : flows) pairs.push_back(connect_stream(network, link, flow, used.buffer));
  std::vector<Receiver> receivers;
  for (const SocketPair& pair : pairs) receivers.emplace_back(pair.receiver, used);
  std::stop_source done;
  std::atomic<int> measuring{static_cast<int>(flows.size())};
  std::vector<std::exception_ptr> errors(flows.size());
  MachineWatch watch;
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      threads.emplace_back([&, i] { send_until(done.get_token(), pairs[i].sender); });
      threads.emplace_back([&, i] {
        try {
          receivers[i].run(done, measuring);
        } catch (...) {
          errors[i] = std::current_exception();
          done.request_stop();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  MeasuredStreams found{{}, watch.stop()};
  for (std::size_t i = 0; i < flows.size(); ++i) {
    found.streams.push_back(receivers[i].figures());
    found.machine.repeated = std::max(found.machine.repeated, repeated_share(pairs[i].sender));
  }
  return found;
}

BackgroundStream::BackgroundStream(const Network& network, const LinkSpec& link, const Flow& flow)
    : pair_(connect_stream(network, link, flow, TcpStreamOptions{}.buffer)),
      receiver_([this] {
        std::vector<char> block(1 << 20);
        ssize_t got;
        while ((got = recv(pair_.receiver.get(), block.data(), block.size(), 0)) > 0 ||
               (got < 0 && errno == EINTR)) {
        }
      }),
      sender_([this](const std::stop_token& done) { send_until(done, pair_.sender); }) {}

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
