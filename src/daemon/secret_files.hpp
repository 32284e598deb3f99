#pragma once
#include <chrono>
#include <map>
#include <string>

#include "config/load.hpp"

namespace inboxd::daemon {

/// Watches the files of secrets that handlers have got as texts: a rotated token or password needs a new instance of
/// the handler. Sessions, clients and the admin port read their own files again. The main thread only.
class SecretFiles final {
 public:
  using Clock = std::chrono::steady_clock;

  /// Whether a file has another text than the configuration in force, and than at the last `true`: a refused text is
  /// not tried again. Reads the files every two seconds.
  bool have_changed(const config::Loaded& in_force, Clock::time_point now);

 private:
  Clock::time_point next_look_{};
  std::map<std::string, std::string> tried_;  ///< by key
};

}  // namespace inboxd::daemon
