#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "event/event.hpp"
#include "inbox/handler_sql.hpp"
#include "inbox/settle.hpp"
#include "inbox/watchdog.hpp"

namespace inboxd::inbox {

/// An event of a call as a transaction refers to it. A view.
struct CallEvent {
  const event::Event* event = nullptr;
  std::string_view topic;
  std::int32_t partition = 0;
  std::int32_t attempt = 1;
  bool has_content = true;  ///< payload and headers are here, not left in the database
};

/// A statement that sees so few events gets them sent, where they are here; one that sees more reads them in place.
inline constexpr std::int64_t most_events_sent = 32;
inline constexpr std::size_t most_bytes_sent = 256 << 10;

/// One handler call inside a transaction.
struct CallFrame {
  std::vector<CallEvent> events;
  std::chrono::steady_clock::time_point deadline;
  bool alone = false;  ///< it has no savepoint of its own: to undo it is to undo the transaction
};

/// What there is to say of a call's SQL when it has returned, before its verdicts are believed.
struct CallEnd {
  bool ran = false;                    ///< a statement was run
  bool lingers = false;                ///< what it did to the transaction would be met by other calls in it
  bool must_repeat = false;            ///< the transaction is lost through no fault of the handler's
  bool lost_in_statement = false;      ///< and that with its connection, while a statement of the handler's ran
  bool was_cut_off = false;            ///< the same, but because the server had not ended it at its deadline
  std::optional<SqlError> unresolved;  ///< a statement failed and was not rolled back
  std::optional<std::string> misdeed;  ///< what it did to transaction or session, to follow "the handler "
};

/// What became of a transaction.
struct CommitEnd {
  enum class Kind {
    committed,
    lost,       ///< nothing is written: leases of `lost` are gone
    repeat,     ///< nothing is written, through no fault of the handler's; `error` says why
    refused,    ///< nothing is written: the database refuses it at COMMIT; `error` says why
    unsettled,  ///< nothing is written: what the daemon itself records is refused, whatever the handler wrote
  };
  Kind kind = Kind::committed;
  std::vector<LeaseKey> lost;
  std::optional<SqlError> error;
  bool was_in_doubt = false;  ///< a connection broke during COMMIT; resolved since
};

/// The transactions of one worker, one after the other, on a connection of its own: calls of a handler, and then, as
/// the last thing, what became of their events. Nothing is sent before the first statement, and what a statement needs
/// before it (BEGIN, settings, savepoints) travels with it. One thread, but for `cut` and `is_waiting`. Nothing throws.
class HandlerTransaction : public HandlerSql {
 public:
  virtual void begin_call(CallFrame frame) = 0;
  /// The call has returned; what it wrote stays unless it is undone before the next one begins.
  virtual CallEnd end_call() = 0;
  virtual void undo_call() = 0;
  /// Records what became of the events and commits. A COMMIT in doubt is resolved before this returns.
  virtual CommitEnd commit(const std::vector<Settlement>& settlements) = 0;
  virtual void roll_back() = 0;
  /// Any thread: the connection is cut, and whatever is open rolls back. Nothing works from then on.
  virtual void cut() = 0;
  /// Any thread: it connects, or waits for an answer. That ends by itself: statements are cut off when the call's time
  /// is up and a little more has passed, and connecting has a limit of its own.
  virtual bool is_waiting() const = 0;
};

/// Makes the transactions of one worker; `purpose` shows in pg_stat_activity.
using TransactionFactory = std::function<std::unique_ptr<HandlerTransaction>(const std::string& purpose)>;

TransactionFactory database_transactions(const config::Database& database, base::Uuid owner, Watchdog& watchdog,
                                         base::Logger& log);

/// Asks about statements as handlers will run them, on a connection of its own that is opened at the first question.
std::unique_ptr<SqlDescriber> database_describer(const config::Database& database, Watchdog& watchdog,
                                                 base::Logger& log);

}  // namespace inboxd::inbox
