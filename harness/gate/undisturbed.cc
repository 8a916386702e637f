#include "harness/gate/undisturbed.h"

#include <algorithm>

#include "reports/record/record.h"

namespace thinpipe {

namespace {

bool was_disturbed(const Measured& launch) {
  return std::any_of(launch.not_good.begin(), launch.not_good.end(), [](const auto& point) {
    return point.second.starts_with(status_name(Status::kInvalid));
  });
}

// One after the other.
std::pair<Measured, Measured> launch_both(Launcher& launcher, const std::filesystem::path& older,
                                          const std::filesystem::path& newer,
                                          std::mt19937_64& coin) {
  std::pair<Measured, Measured> measured;
  const bool older_first = (coin() & 1) != 0;
  for (const bool is_older : {older_first, !older_first})
    (is_older ? measured.first : measured.second) = launcher.launch(is_older ? older : newer);
  return measured;
}

}  // namespace

Measured Undisturbed::launch(const std::filesystem::path& program) {
  Measured measured;
  do {
    measured = launcher_.launch(program);
  } while (take_again(was_disturbed(measured)));
  return measured;
}

std::pair<Measured, Measured> Undisturbed::pair(const std::filesystem::path& older,
                                                const std::filesystem::path& newer, bool in_turns,
                                                std::mt19937_64& coin) {
  std::pair<Measured, Measured> measured;
  do {
    measured = in_turns ? launcher_.launch_in_turns(older, newer, coin)
                        : launch_both(launcher_, older, newer, coin);
  } while (take_again(was_disturbed(measured.first) || was_disturbed(measured.second)));
  return measured;
}

}  // namespace thinpipe
