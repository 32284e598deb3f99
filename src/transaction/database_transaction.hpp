#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "inbox/connection.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/pipeline.hpp"
#include "transaction/handler_transaction.hpp"
#include "transaction/prepared_sql.hpp"
#include "transaction/savepoints.hpp"

namespace inboxd::transaction {

/// The server ended a statement at the call's deadline.
inline constexpr const char* past_deadline = "57014";

/// The server ends a statement at the call's deadline. If it has not answered after this time, the socket is shut down.
inline constexpr std::chrono::milliseconds statement_grace{2'000};

/// Whether the failure is no statement's fault, so that the whole transaction runs again.
bool is_repeated_state(std::string_view sqlstate);

/// The README draws the states.
enum class TransactionState {
  idle,
  begun,
  failed,    ///< a statement failed: none runs until a savepoint is rolled back to
  repeat,    ///< no fault of the handler: no statement runs until the transaction was rolled back
  in_doubt,  ///< the connection broke during COMMIT
};

/// What is known of a call.
struct CallFacts {
  CallEnd end = {};          ///< `unhandled_error`: of the statement that failed last
  bool over = false;         ///< no further statement runs
  bool running = false;      ///< a statement of the handler is at the server
  bool waited_long = false;  ///< connecting used up more of the call's time than is left
};

/// HandlerTransaction on PostgreSQL, in two round trips: BEGIN, settings, savepoint and first statement; then
/// settlement and COMMIT. Settling raises an error if a lease was lost, and the pipeline skips everything after an
/// error.
///
/// Files: database_transaction.cpp (sending, calls, end), _sql.cpp (statements), _outbox.cpp (messages), _session.cpp
/// (checks of the session), _commit.cpp (settlement, COMMIT and its outcome), database_describer.cpp (checks at a
/// start).
class DatabaseTransaction final : public HandlerTransaction {
 public:
  using Clock = std::chrono::steady_clock;
  using Result = inbox::Pipeline::Result;

  DatabaseTransaction(const config::Database& settings, base::Uuid owner, const std::string& purpose,
                      inbox::Watchdog& watchdog, base::Logger& log, std::function<void()> on_published = {});
  ~DatabaseTransaction() override;
  DatabaseTransaction(const DatabaseTransaction&) = delete;
  DatabaseTransaction& operator=(const DatabaseTransaction&) = delete;

  std::unique_ptr<SqlResult> execute(const SqlStatement& statement) override;
  std::unique_ptr<SqlResult> publish(std::span<const OutboxMessage> messages, std::span<base::Uuid> ids) override;
  std::int32_t savepoint() override;
  void release_savepoint(std::int32_t number) override;
  void rollback_to(std::int32_t number) override;
  State state() const override;

  std::optional<inbox::DatabaseFailure> open() override;
  void begin_call(CallFrame frame) override;
  CallEnd end_call() override;
  void undo_call() override;
  CommitEnd commit(const std::vector<inbox::Settlement>& settlements) override;
  void roll_back() override;
  void cut() override;
  bool is_waiting() const override { return waiting_; }

  /// Has the server parse and plan a statement without running it, after it ran `before` unless that is empty. Throws
  /// if the database cannot be reached.
  std::unique_ptr<SqlResult> describe(const SqlStatement& statement, const std::string& before,
                                      std::chrono::milliseconds limit);

 private:
  /// The results of a round trip. Results before `own` belong to BEGIN, settings and savepoints.
  struct Sent {
    std::vector<Result> results;
    std::size_t own = 0;
  };
  /// The indexes of the results that add_session_reset asks for.
  struct SessionReset {
    std::size_t role = 0;
    std::size_t own_role = 0;
    std::size_t left = 0;
  };
  using Add = std::function<void(inbox::Pipeline&)>;

  // ---- sending
  Sent send(inbox::Connection::Access::Effect effect, std::chrono::milliseconds limit, bool opens, const Add& add);
  void add_opening(inbox::Pipeline& pipeline);
  std::size_t add_own(inbox::Pipeline& pipeline, const inbox::Statement& statement,
                      const inbox::WireParameters& parameters);
  void add_role(inbox::Pipeline& pipeline, const std::string& role);
  void add_leaving(inbox::Pipeline& pipeline);
  void add_deallocations(inbox::Pipeline& pipeline, const std::vector<std::string>& names);
  void note_prepared(const std::vector<Result>& results);
  const PGresult* first_failure(const std::vector<Result>& results) const;

  // ---- statements
  std::unique_ptr<SqlResult> refusal();
  std::unique_ptr<SqlResult> run_publish(std::span<const OutboxMessage> messages, std::span<base::Uuid> ids);
  std::unique_ptr<SqlResult> run(const SqlStatement& statement);
  std::unique_ptr<SqlResult> run_trusting(const SqlStatement& statement, std::span<const CallEvent> events);
  void watch_bodies(const SqlStatement& statement);
  std::unique_ptr<SqlResult> run(const SqlStatement& statement, std::span<const CallEvent> events, EventSource source);
  std::optional<SqlError> prepare(const SqlStatement& statement, EventSource source);
  std::optional<SqlError> run_first(const std::string& before);
  std::optional<SqlError> explain(const SqlStatement& statement, const PreparedSql& prepared);
  bool is_short_of_memory(const SqlError& error, const SqlStatement& statement) const;
  std::unique_ptr<SqlResult> failed(SqlError error, bool stale_plan = false);
  std::unique_ptr<SqlResult> lost(const inbox::DatabaseFailure& failure);
  void transaction_ended(std::string how);

  // ---- the session
  bool is_session_check_due();
  void check_session();
  SessionReset add_session_reset(inbox::Pipeline& pipeline);
  void read_session_reset(const std::vector<Result>& results, const SessionReset& reset);
  void note_clean();

  // ---- COMMIT
  /// Deliveries whose settlement is not in the database, by the owner of their lease.
  struct StillPending {
    std::vector<std::int64_t> ours, others;
  };
  CommitEnd try_commit(const std::vector<inbox::Settlement>& settlements);
  void add_settlements(inbox::Pipeline& pipeline, const std::vector<inbox::Settlement>& settlements);
  CommitEnd::Kind kind_of_refusal(std::string_view sqlstate, bool is_own);
  CommitEnd resolve_in_doubt(const std::vector<inbox::Settlement>& settlements);
  StillPending still_pending(const std::vector<inbox::Settlement>& settlements);
  static CommitEnd end_of(const StillPending& pending, const std::vector<inbox::Settlement>& settlements);
  void wait_unless_cut(std::chrono::milliseconds wait) const;

  void change(TransactionState to);
  bool is_over() const { return facts_.over || state_ == TransactionState::repeat; }
  bool has_failed() const { return state_ == TransactionState::failed || state_ == TransactionState::repeat; }
  void close() noexcept;
  void clear_failure();
  void reset_transaction();
  bool is_cut() const;

  config::Database settings_;
  std::string owner_;
  std::string purpose_;
  base::Logger& log_;
  const std::function<void()> on_published_;
  inbox::Connection connection_;
  inbox::Connection::Access& access_;

  // ---- the transaction
  TransactionState state_ = TransactionState::idle;
  std::uint64_t transaction_ = 0;           ///< the number of transactions begun
  std::optional<std::int64_t> timeout_ms_;  ///< statement_timeout as it was set; nothing: BEGIN was not sent
  Savepoints savepoints_;
  std::vector<PreparedSqlCache::Key> statements_run_;
  bool writes_ascii_ =
      false;  ///< the database rejected a settlement's texts: replace non-ASCII characters until COMMIT

  // ---- the call
  CallFrame frame_;
  Clock::time_point call_began_{};
  CallFacts facts_;

  // ---- the session
  std::atomic<bool> waiting_{false};  ///< any thread
  bool has_published_ = false;        ///< since the last COMMIT
  int generation_ = 0;                ///< of the connection, to which the following belong
  PreparedSqlCache cache_;
  std::set<const inbox::Statement*> own_prepared_;                              ///< statements of the daemon
  std::vector<std::pair<const inbox::Statement*, std::size_t>> own_preparing_;  ///< with the index of the result
  Clock::time_point last_check_{};
  Clock::time_point last_warned_{};
  int checks_left_ = 0;      ///< transactions to check after a finding, whatever they run
  int untrusting_left_ = 0;  ///< statements to run without assuming that payloads are JSON

  mutable base::Mutex cut_mutex_;
  bool cut_ GUARDED_BY(cut_mutex_) = false;
  /// A duplicate of the session's, so that no other connection reuses its number.
  int socket_ GUARDED_BY(cut_mutex_) = -1;
};

}  // namespace inboxd::transaction
