#pragma once
#include <chrono>
#include <memory>
#include <string>

#include "base/logger.hpp"
#include "config/settings.hpp"
#include "inbox/watchdog.hpp"

namespace inboxd::inbox {

/// A connection slot. Not thread-safe. Opens on first use, and again after its session was lost.
///
/// Each statement has the configured deadline; then the watchdog shuts the socket down and the statement throws. While
/// the outcome of a slot's last statement is in doubt, the slot stays closed until the server has ended the old
/// session. So a slot never has more than a single session in doubt.
///
/// The functions of this room take a Connection and throw DatabaseError (database_error.hpp).
class Connection final {
 public:
  /// `purpose` appears in pg_stat_activity as `inboxd PURPOSE`; with a pooler a random suffix follows.
  Connection(const config::Database& settings, std::string purpose, Watchdog& watchdog, base::Logger& log);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// Opens the connection unless it is open. Throws if the server cannot be reached.
  void open();
  /// Ends the session; the next use opens a new session.
  void close() noexcept;
  bool is_open() const;
  /// Turns sequential scans off in sessions opened later. The plans of frequent statements are cached, possibly from a
  /// time when their tables were nearly empty.
  void prefer_indexes();
  /// Keeps the login's search path in sessions opened later: handlers' statements run under it. All other sessions use
  /// the daemon's own path, so that no statement of the daemon calls a function that a user put into the login's path.
  void keep_search_path();
  /// Sets the deadline of each later statement.
  void set_deadline(std::chrono::milliseconds longest);
  /// Sets a common deadline for all later statements. Each still gets at least 1 second.
  void set_end(std::chrono::steady_clock::time_point end);
  /// Counts how often the slot was opened. A new number invalidates everything remembered about the session.
  int generation() const;
  /// The address as people know it, without the password: for messages.
  std::string where() const;

  /// For this room, transaction and operations (connection_access.hpp).
  struct Access;
  Access& access() { return *access_; }

 private:
  std::unique_ptr<Access> access_;
};

}  // namespace inboxd::inbox
