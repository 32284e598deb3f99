#pragma once
#include <chrono>
#include <cstdint>
#include <optional>

namespace inboxd::consumer {

/// How long nothing is stored where the database has forgotten what others said of handlers: they put it back within
/// seconds, or are not there any more.
constexpr std::chrono::seconds longest_wait_for_others{10};

/// Whether the database says of handlers what this process knows of them, or was set back behind that (a failover to a
/// standby that lags, a restore). What is stored then would not be owed by what it has forgotten.
class SetBack final {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Verdict {
    known,         ///< it says all that is known
    behind,        ///< somebody has to put back what it has forgotten
    not_put_back,  ///< by others, for so long; once, and that counts as known from now on
  };
  /// What the database says, and what this process knows.
  struct Seen {
    std::int64_t version = 0;         ///< of routing
    std::int64_t newest_version = 0;  ///< that it ever said
    bool knows_ours = true;           ///< what this process has registered
  };
  Verdict judge(const Seen& seen, Clock::time_point now);

 private:
  std::optional<Clock::time_point> behind_since_;
  std::int64_t accepted_version_ = 0;
};

}  // namespace inboxd::consumer
