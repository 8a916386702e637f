// Measurements inside a sandbox, and trains of datagrams from one emulated host to another.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "netem/file_descriptor.h"
#include "netem/link/link_spec.h"
#include "netem/sandbox.h"
#include "netem/verify/sockets.h"
#include "tests/kernel/measure.h"
#include "tests/netem/helpers.h"

namespace thinpipe {
namespace {

// Results of the sandboxed process, in memory that both processes map.
struct Shared {
  std::size_t count;
  char error[1000];
  Disturbance machine;
  double figures[1'000'000];
};

Watched<std::vector<double>> measure_once(const std::function<std::vector<double>()>& body) {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw SystemError("map shared memory");
  auto* shared = static_cast<Shared*>(memory);  // zeros
  const int code = run_in_sandbox([&](const Sandbox&) {
    try {
      const auto [figures, machine] = watched(body);
      shared->machine = machine;
      if (figures.size() > std::size(shared->figures)) throw RunError("too many figures");
      std::copy(figures.begin(), figures.end(), shared->figures);
      shared->count = figures.size();
      return kExitGood;
    } catch (const std::exception& error) {
      std::strncpy(shared->error, error.what(), sizeof(shared->error) - 1);
      return kExitFailed;
    }
  });
  const Watched<std::vector<double>> measured{{shared->figures, shared->figures + shared->count},
                                              shared->machine};
  const std::string error = shared->error;
  munmap(memory, sizeof(Shared));
  if (code != kExitGood)
    throw RunError(error.empty() ? fmt::format("the sandbox exits with {}", code) : error);
  return measured;
}

}  // namespace

std::vector<double> in_sandbox(const std::function<std::vector<double>()>& body) {
  try {
    // A guest may stand still for 5 % of a measurement: delays are judged to within 5 %, and links
    // have buckets of 30 ms, which compensate for this fraction (docs/kernel-tests.md). A guest on
    // a quiet machine stood still for 1 to 6 %.
    constexpr double kGuestShare = 0.05;
    return valid([&] { return measure_once(body); }, kGuestShare).value;
  } catch (const MachineTooBusy& busy) {
    [&] { GTEST_SKIP() << busy.what(); }();
  }
  // GoogleTest's own, which ends a test that has printed its result.
  throw ::testing::AssertionException(
      ::testing::TestPartResult(::testing::TestPartResult::kSkip, nullptr, -1, ""));
}

std::vector<double> counts_in_sandbox(const std::function<std::vector<double>()>& body) {
  return measure_once(body).value;
}

void note(const std::string& name, double value, const std::string& unit) {
  const std::string text = fmt::format("{:.4g} {}", value, unit);
  ::testing::Test::RecordProperty(name, text);
  fmt::print("  {}: {}\n", name, text);
}

namespace {

struct Header {
  double sent;
  std::uint32_t number;
  std::uint32_t train;  // separates this train's datagrams from the last one's
};

constexpr int kReceiveEvery = 32;
constexpr double kTimeout = 10;  // s of a send: a datagram leaves the slowest link within 1 s

std::uint8_t pattern(std::uint32_t number, std::size_t position) {
  return static_cast<std::uint8_t>(number * 31 + position * 7);
}

class Train {
 public:
  Train(const Network& network, int from, int to, const TrainOptions& options)
      : options_(options), sockets_(datagram_pair(network, {from, to}, kTimeout)) {
    static std::uint32_t trains = 0;
    train_ = ++trains;
    const int yes = 1, room = 16 << 20;
    const auto set = [](const FileDescriptor& socket, int option, const int& value) {
      setsockopt(socket.get(), SOL_SOCKET, option, &value, sizeof(value));
    };
    set(sockets_.receiver, SO_TIMESTAMPNS, yes);
    // More than the namespace's own limit needs root outside too; without, it stays at that limit.
    for (const int option : {SO_RCVBUF, SO_RCVBUFFORCE}) set(sockets_.receiver, option, room);
    for (const int option : {SO_SNDBUF, SO_SNDBUFFORCE}) set(sockets_.sender, option, room);
    meet();
    if (!options.checksum) set(sockets_.sender, SO_NO_CHECK, yes);
  }

  std::vector<Arrival> run() {
    double due = wall_clock();
    for (int i = 0; i < options_.count; ++i) {
      for (double left; (left = due - wall_clock()) > 0;) receive(left);
      send_one(static_cast<std::uint32_t>(i));
      due += options_.spacing;
      // A socket's buffer takes many; reading after each costs more than sending it.
      if (options_.spacing > 0 || i % kReceiveEvery == 0) receive(0);
    }
    while (receive(options_.linger)) {
    }
    return std::move(arrivals_);
  }

 private:
  // In both directions, until a datagram has come through: a link may lose datagrams, and ARP's
  // too.
  void meet() {
    constexpr int kAttempts = 100, kMilliseconds = 100;
    for (const auto& [from, to] : {std::pair{&sockets_.sender, &sockets_.receiver},
                                   {&sockets_.receiver, &sockets_.sender}}) {
      bool met = false;
      for (int i = 0; i < kAttempts && !met; ++i) {
        send(from->get(), "", 1, 0);
        pollfd waiting = {to->get(), POLLIN, 0};
        met = poll(&waiting, 1, kMilliseconds) > 0;
      }
      if (!met) throw RunError("nothing comes through between the hosts");
    }
    char byte;
    while (recv(sockets_.sender.get(), &byte, 1, MSG_DONTWAIT) >= 0) {
    }
  }

  void send_one(std::uint32_t number) {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(options_.bytes));
    for (std::size_t i = sizeof(Header); i < bytes.size(); ++i) bytes[i] = pattern(number, i);
    const Header header = {wall_clock(), number, train_};
    std::memcpy(bytes.data(), &header, sizeof(header));
    if (send(sockets_.sender.get(), bytes.data(), bytes.size(), 0) < 0 && errno != ENOBUFS)
      throw SystemError("send a datagram");  // ENOBUFS: the link's queue dropped it
  }

  // Takes everything that has arrived, waiting at most so long for the first; false if nothing had.
  bool receive(double seconds) {
    pollfd waiting = {sockets_.receiver.get(), POLLIN, 0};
    const timespec limit = {
        static_cast<time_t>(seconds),
        static_cast<long>((seconds - static_cast<double>(static_cast<time_t>(seconds))) * 1e9)};
    if (ppoll(&waiting, 1, &limit, nullptr) <= 0) return false;
    while (receive_one()) {
    }
    return true;
  }

  bool receive_one() {
    std::uint8_t bytes[65536];
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(timespec))];
    iovec part = {bytes, sizeof(bytes)};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t got = recvmsg(sockets_.receiver.get(), &message, MSG_DONTWAIT);
    if (got < 0) return false;
    if (got != options_.bytes) return true;  // from before the train
    Header header;
    std::memcpy(&header, bytes, sizeof(header));
    Arrival arrival = {header.number, header.sent, 0, header.train == train_};
    for (std::size_t i = sizeof(header); i < static_cast<std::size_t>(got); ++i)
      arrival.intact = arrival.intact && bytes[i] == pattern(header.number, i);
    timespec stamp = {};
    if (const cmsghdr* first = CMSG_FIRSTHDR(&message))
      std::memcpy(&stamp, CMSG_DATA(first), sizeof(stamp));
    arrival.arrived = static_cast<double>(stamp.tv_sec) + 1e-9 * static_cast<double>(stamp.tv_nsec);
    arrivals_.push_back(arrival);
    return true;
  }

  TrainOptions options_;
  SocketPair sockets_;
  std::uint32_t train_ = 0;
  std::vector<Arrival> arrivals_;
};

constexpr std::size_t kFigures = 4;  // of an arrival

// Inside a sandbox.
std::vector<double> train_between_two(const std::string& link, const TrainOptions& options) {
  Network network(2);
  network.set_links(parse_link_spec(link));
  return to_figures(send_train(network, 0, 1, options));
}

}  // namespace

std::vector<Arrival> send_train(const Network& network, int from, int to,
                                const TrainOptions& options) {
  if (options.bytes < static_cast<int>(sizeof(Header)))
    throw RunError("a datagram of the train has at least 16 bytes");
  return Train(network, from, to, options).run();
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
