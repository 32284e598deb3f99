#pragma once
#include <chrono>

namespace inboxd::dispatcher {

/// Why a transaction is to run again.
enum class Why {
  ended,         ///< the database ended it: serialization, deadlocks, locks
  away,          ///< its connection broke, or there was none
  in_statement,  ///< the same while a statement of the handler's ran
  cut_off,       ///< its connection was ended on this side: the server did not end the statement at its deadline
  in_commit,     ///< its connection broke at COMMIT, with what the handler deferred to it
  short_of,      ///< the server had too little memory for it
  no_event,      ///< a full disk, or the daemon's own settling is refused: no event can be the reason
};

/// How often a transaction has run in vain since the last one that did not, and what follows from that. Pure.
class InVain {
 public:
  using Wait = std::chrono::milliseconds;

  /// Once more; true where it is to be sought now whose fault it is.
  bool note(Why why);
  /// Before the next try. Not for what no event can be the reason of: that is waited for as by the daemon's services.
  Wait wait() const;
  /// Whether the operator hears of this one.
  enum class Said { no, in_passing, aloud };
  Said said() const;

 private:
  bool is_contention() const { return why_ == Why::ended; }

  Why why_ = Why::ended;
  int ended_ = 0;
  int others_ = 0;  ///< of those that the waits grow with
  int in_statement_ = 0;
  int cut_off_ = 0;
  int in_commit_ = 0;
  int short_of_ = 0;
};

}  // namespace inboxd::dispatcher
