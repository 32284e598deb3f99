#pragma once
#include <chrono>
#include <optional>

namespace inboxd::consumer {

/// How long nothing is stored where the database has forgotten what others said of handlers. They put it back within
/// seconds of being there, or are not there any more; but each statement of theirs may be waiting for the old database
/// to answer yet.
std::chrono::milliseconds wait_for_others(std::chrono::milliseconds database_deadline);

/// Whether the database says of handlers what this process knows of them, or was set back behind that (a failover to a
/// standby that lags, a restore). What is stored then would not be owed by what it has forgotten.
class SetBack final {
 public:
  using Clock = std::chrono::steady_clock;
  enum class Verdict {
    known,         ///< it says all that is known
    behind,        ///< somebody has to put back what it has forgotten
    not_put_back,  ///< by others, for so long: what is known is what it says, from now on
  };
  /// What the database knows.
  struct Knows {
    bool ours = true;    ///< what this process has registered
    bool others = true;  ///< whatever else it was seen to say
  };
  explicit SetBack(std::chrono::milliseconds wait_for_others) : wait_for_others_{wait_for_others} {}

  Verdict judge(const Knows& knows, Clock::time_point now);

 private:
  const std::chrono::milliseconds wait_for_others_;
  std::optional<Clock::time_point> behind_since_;  ///< what others said
  Clock::time_point judged_at_{};
};

}  // namespace inboxd::consumer
