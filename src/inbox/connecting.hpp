#pragma once
#include <libpq-fe.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "inbox/watchdog.hpp"

namespace inboxd::inbox {

/// Makes a connection as libpq does, and waits for it no longer than `limit` and than the watchdog allows: null where
/// that is over, or out of memory. Throws std::system_error where no thread is to be had.
///
/// libpq's own waiting cannot be ended from outside, and its way without waiting does not go on to the next host when
/// one is silent. So it waits in a thread of its own, which is left to itself where nobody wants the connection any
/// more.
PGconn* make_connection(std::vector<std::pair<std::string, std::string>> parameters, std::chrono::milliseconds limit,
                        const Watchdog& watchdog);

}  // namespace inboxd::inbox
