#include "workloads/replay/pace.h"

namespace thinpipe {

void Pace::begin() {
  begin_ = now_seconds();
  own_begin_ = now_seconds(clock());
}

double Pace::end() {
  const double took = now_seconds(clock()) - own_begin_;
  own_ += took;
  if (factor_ <= 1) return took;
  // A timer ends tens of microseconds late, more than a small piece takes: the next ones make up
  // for it.
  const double due = begin_ + factor_ * took - overrun_;
  if (now_seconds() < due) wait_until(due);
  overrun_ = now_seconds() - due;
  return took;
}

}  // namespace thinpipe
