#pragma once
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "inbox/watchdog.hpp"

struct pg_conn;  // libpq's PGconn

namespace inboxd::inbox {

/// How long connecting may take.
struct ConnectingTimes {
  std::chrono::seconds each;      ///< a single address of a host
  std::chrono::milliseconds all;  ///< all addresses together
};
/// Divides the deadline among the hosts; libpq gives each address at least two seconds. The sum exceeds the deadline by
/// at most `max_overrun`, however many addresses there are: less than a loop may miss its heartbeat. Pure.
ConnectingTimes connecting_times(std::chrono::milliseconds deadline, std::chrono::milliseconds max_overrun, long hosts);

/// A connection, or the reason why there is none.
struct ConnectResult {
  pg_conn* connection = nullptr;  ///< the caller's to finish
  std::string message;
  std::string sqlstate;  ///< if a server refused the login, and it was asked for
};

/// Connects through libpq. Gives up after `limit`, or when the watchdog says so. Throws std::system_error if no thread
/// can be started.
///
/// libpq's blocking connect cannot be cancelled, and its non-blocking connect never tries the next host if a host does
/// not answer. So it runs in a detached thread, which closes a connection that arrives too late.
///
/// `asks_for_sqlstate`: libpq exposes no SQLSTATE of a refused login. It only prints it in verbose messages, which need
/// a connection object. So a login that was refused at once is attempted a second time.
ConnectResult make_connection(std::vector<std::pair<std::string, std::string>> parameters, bool asks_for_sqlstate,
                              std::chrono::milliseconds limit, const Watchdog& watchdog);

}  // namespace inboxd::inbox
