#include "netem/verify/expected.h"

#include <algorithm>

namespace thinpipe {

namespace {

// Returns the bytes that one shaper passes at once. TBF passes the bucket's depth. HTB passes one
// frame more, because it sends while its tokens are not negative. netem has no bucket, so it passes
// one frame.
double depth_of(const Direction& direction, double frame) {
  if (direction.shaper == Shaper::kNetem) return frame;
  return direction.burst + (direction.shaper == Shaper::kHtb ? frame : 0);
}

// Number of a frame's bytes in which a flipped bit has no effect (Ethernet's source address). No
// checksum covers these bytes, and a change of them does not misdirect the frame.
constexpr double kHarmlessBytes = 6;

double loss_of(const Impairment& impairment, int datagram) {
  const double lost = impairment.mean_loss() / 100;
  const double doubled = impairment.duplicate.percent / 100;
  const double damaged =
      impairment.corrupt.percent / 100 * (1 - kHarmlessBytes / (datagram + kDatagramHeaders));
  // netem decides on duplication before loss. If it decides to duplicate a frame and then to lose
  // it, the frame arrives once. The copy of a duplicated frame passes all stages again, except
  // duplication.
  const double single = lost + (1 - lost) * damaged;
  return (1 - doubled) * single + doubled * (lost * damaged + (1 - lost) * damaged * single);
}

double clustering_of(const Impairment& impairment) {
  if (!impairment.bursts) {
    const double correlation = impairment.loss.correlation / 100;
    return (1 + correlation) / (1 - correlation);
  }
  // The losses of two frames at a distance of k frames have the covariance (lost_in_bad -
  // lost_in_good)^2 b (1-b) (1-p-r)^k, where b is the fraction of frames in the bad state. The
  // covariance is summed over all pairs of frames.
  const GilbertElliott& chain = *impairment.bursts;
  const double p = chain.to_bad / 100, r = chain.to_good / 100, mean = chain.mean_loss() / 100;
  const double memory = 1 - p - r;
  if (p + r <= 0 || mean <= 0 || mean >= 1) return 1;
  const double bad = p / (p + r), step = (chain.lost_in_bad - chain.lost_in_good) / 100;
  const double ratio = step * step * bad * (1 - bad) / (mean * (1 - mean));
  return std::max(1.0, 1 + 2 * ratio * memory / (1 - memory));
}

}  // namespace

double transmission_time(const LinkSpec& link, int datagram) {
  double seconds = 0;
  for (const Direction& direction : {link.up, link.down})
    if (direction.rate > 0)
      seconds += 8 * (datagram + kDatagramHeaders + direction.overhead) / direction.rate;
  return seconds;
}

QueueWait queue_wait(const LinkSpec& link, double overload) {
  const LinkSpec filled = link.with_defaults();
  const double offered = overload * filled.rate();
  double arriving = offered;
  QueueWait result;
  for (const Direction* direction : {&filled.up, &filled.down}) {
    if (direction->rate == 0 || direction->rate >= arriving) continue;
    const double charged =
        1 + static_cast<double>(direction->overhead) / static_cast<double>(filled.frame_bytes());
    result.seconds += direction->queue * 8 * charged / direction->rate;
    // The burst reaches the downlink at the uplink's rate.
    if (direction == &filled.down && filled.up.rate > 0)
      result.filling = direction->queue * 8 * charged / (filled.up.rate - direction->rate);
    arriving = direction->rate;
  }
  return result;
}

double bucket_depth(const LinkSpec& link, double frame) {
  const LinkSpec filled = link.with_defaults();
  const Direction &up = filled.up, &down = filled.down;
  if (up.rate == 0 || (down.rate > 0 && down.rate < up.rate)) return depth_of(down, frame);
  if (down.rate == 0 || up.rate < down.rate) return depth_of(up, frame);
  return std::min(depth_of(up, frame), depth_of(down, frame));
}

bool drops_at_switch(const LinkSpec& link) {
  if (!link.throttled()) return false;
  return link.place == Place::kSwitch || link.up.rate == 0 ||
         (link.down.rate > 0 && link.down.rate < link.up.rate);
}

double expected_loss(const LinkSpec& link, int datagram) {
  const double up = loss_of(link.up.impairment, datagram);
  const double down = loss_of(link.down.impairment, datagram);
  return 1 - (1 - up) * (1 - down);
}

double loss_clustering(const LinkSpec& link) {
  return std::max(clustering_of(link.up.impairment), clustering_of(link.down.impairment));
}

}  // namespace thinpipe
