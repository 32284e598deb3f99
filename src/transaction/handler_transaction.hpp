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

#include "base/logger.hpp"
#include "base/uuid.hpp"
#include "config/settings.hpp"
#include "event/event.hpp"
#include "inbox/database_error.hpp"
#include "inbox/settle.hpp"
#include "inbox/watchdog.hpp"
#include "transaction/body_watch.hpp"
#include "transaction/handler_sql.hpp"

namespace inboxd::transaction {

/// An event of a call. A view.
struct CallEvent {
  const event::Event* event = nullptr;
  std::string_view topic;
  std::int32_t partition = 0;
  std::int32_t attempt = 1;
  bool has_content = true;  ///< false: payload and headers were left in the database
  inbox::LeaseKey lease{};  ///< of the delivery that has it: without it the database does not give the event
  config::Unwrap unwrap = config::Unwrap::automatic;  ///< of its topic
};

/// Up to these limits a statement's events are sent with it, if their content is in memory. Beyond them the statement
/// reads the events in the database.
inline constexpr std::int64_t max_events_sent = 32;
inline constexpr std::size_t max_bytes_sent = 256 << 10;

/// A handler call inside a transaction.
struct CallFrame {
  std::vector<CallEvent> events;
  std::chrono::steady_clock::time_point deadline;
  bool alone = false;  ///< without a savepoint: undoing it rolls the transaction back
  /// How long a statement may wait for a lock, if this call begins the transaction. 0: the session's limit.
  std::chrono::milliseconds lock_wait{0};
  BodyWatch* body_watch = nullptr;  ///< of the handler; null: not watched
};

/// The state of a call's SQL after the handler returned. It can override the handler's verdicts.
struct CallEnd {
  bool ran = false;                ///< it ran a statement
  bool leaves_state = false;       ///< it changed settings or the like, which later calls of the transaction would see
  bool must_repeat = false;        ///< the transaction failed through no fault of the handler
  bool lost_in_statement = false;  ///< because the connection broke while a statement of the handler ran
  bool was_cut_off = false;        ///< because the server did not end a statement at its deadline
  std::optional<SqlError> unhandled_error;  ///< of a failed statement that the handler did not roll back
  std::optional<std::string> violation;     ///< forbidden use of transaction or session; a clause for "the handler …"
};

/// The outcome of a transaction. Nothing is written unless it is `committed`.
struct CommitEnd {
  enum class Kind {
    committed,
    lost,       ///< the leases in `lost` are gone
    repeat,     ///< run it again: it failed through no fault of the handler; see `error`
    refused,    ///< the database rejected the handler's writes at COMMIT; see `error`
    unsettled,  ///< the database rejected the daemon's own settlement, regardless of the handler's writes
  };
  Kind kind = Kind::committed;
  std::vector<inbox::LeaseKey> lost;
  std::optional<SqlError> error;
  bool was_in_doubt = false;  ///< the connection broke during COMMIT; the outcome is known now
};

/// The transactions of a worker, one after another, on a connection of its own. Each has calls of a handler, then the
/// settlement of their events, then COMMIT. Nothing is sent before the first statement: BEGIN, settings and savepoints
/// share its round trip. Not thread-safe, except for `cut` and `is_waiting`. Nothing throws.
class HandlerTransaction : public HandlerSql {
 public:
  /// Opens the session unless it is open. A failure concerns no event: nothing of an event has run.
  virtual std::optional<inbox::DatabaseFailure> open() = 0;
  virtual void begin_call(CallFrame frame) = 0;
  /// The handler has returned. Its writes stay, unless undo_call comes before the next begin_call.
  virtual CallEnd end_call() = 0;
  virtual void undo_call() = 0;
  /// Settles the events and commits. If the COMMIT is in doubt, finds out its outcome before it returns.
  virtual CommitEnd commit(const std::vector<inbox::Settlement>& settlements) = 0;
  virtual void roll_back() = 0;
  /// Shuts the connection down for good; an open transaction rolls back. Any thread.
  virtual void cut() = 0;
  /// It connects or waits for an answer. That always ends: statements are cut off shortly after the call's deadline,
  /// and connecting has a limit of its own. Any thread.
  virtual bool is_waiting() const = 0;
};

/// Makes the transactions of a worker. `purpose` appears in pg_stat_activity.
using TransactionFactory = std::function<std::unique_ptr<HandlerTransaction>(const std::string& purpose)>;

/// `on_published`: a transaction has committed that may have left messages in the outbox. Any thread.
TransactionFactory database_transactions(const config::Database& database, base::Uuid owner, inbox::Watchdog& watchdog,
                                         base::Logger& log, std::function<void()> on_published = {});

/// Checks statements as handlers will run them, on a connection of its own, which the first check opens. `before`: a
/// statement that each check runs first in its transaction, which is rolled back.
std::unique_ptr<SqlDescriber> database_describer(const config::Database& database, inbox::Watchdog& watchdog,
                                                 base::Logger& log, std::string before = {});

}  // namespace inboxd::transaction
