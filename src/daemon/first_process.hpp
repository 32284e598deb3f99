#pragma once
#include <optional>

namespace inboxd::daemon {

/// If this process is number 1, as in a container without an init: starts the daemon as its child, passes signals on to
/// it and reaps orphans, whose number is otherwise never freed. Handlers start programs, whose descendants become
/// orphans. Returns the child's exit status, in the parent; nullopt in the process that is to run the daemon. Call
/// before any thread is started.
std::optional<int> run_as_first_process();

}  // namespace inboxd::daemon
