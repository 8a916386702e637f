// What a message costs the machine itself: TCP between two threads of it.
#pragma once

namespace thinpipe {

/// s that a message of 8 bytes takes from one thread to another by the loopback interface: half of
/// the median of 200 round trips. Takes some milliseconds. @throws SystemError
double loopback_message_time();

}  // namespace thinpipe
