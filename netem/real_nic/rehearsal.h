// Trying something on the kernel's network where nobody else is.
#pragma once

#include <functional>
#include <string>

namespace thinpipe {

/// Runs `action` in a child process in a network namespace of its own, of which only the loopback
/// interface is there. @returns "" when it succeeded, else what it threw. What it changes in memory
/// stays in the child.
std::string rehearse(const std::function<void()>& action);

}  // namespace thinpipe
