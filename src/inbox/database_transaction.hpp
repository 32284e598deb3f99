#pragma once
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "inbox/connection.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/handler_transaction.hpp"
#include "inbox/pipeline.hpp"
#include "inbox/prepared_sql.hpp"
#include "inbox/savepoints.hpp"

namespace inboxd::inbox {

/// A statement was ended when the time of its call was up.
inline constexpr const char* past_deadline = "57014";

/// What is nobody's fault: the whole transaction runs again. By SQLSTATE alone.
bool is_repeated_state(std::string_view sqlstate);

/// The real HandlerTransaction. What is sent before the first statement (BEGIN, settings, savepoints) is kept until
/// there is one and goes with it; settling and COMMIT are one round trip, too: settling raises an error where a lease
/// was lost, and what follows an error in a pipeline is skipped. Private to this room.
class DatabaseTransaction final : public HandlerTransaction {
 public:
  using Clock = std::chrono::steady_clock;
  using Result = Pipeline::Result;

  DatabaseTransaction(const config::Database& settings, base::Uuid owner, const std::string& purpose,
                      Watchdog& watchdog, base::Logger& log);
  ~DatabaseTransaction() override;
  DatabaseTransaction(const DatabaseTransaction&) = delete;
  DatabaseTransaction& operator=(const DatabaseTransaction&) = delete;

  std::unique_ptr<SqlResult> execute(const SqlStatement& statement) override;
  std::int32_t savepoint() override;
  void release_savepoint(std::int32_t number) override;
  void rollback_to(std::int32_t number) override;
  State state() const override;

  void begin_call(CallFrame frame) override;
  CallEnd end_call() override;
  void undo_call() override;
  CommitEnd commit(const std::vector<Settlement>& settlements) override;
  void roll_back() override;
  void cut() override;
  bool is_waiting() const override { return waiting_; }

  /// Has the server read and plan a statement without running it. Throws where there is no database.
  std::unique_ptr<SqlResult> describe(const SqlStatement& statement, std::chrono::milliseconds limit);

 private:
  /// What was sent for somebody, and where in the pipeline's results his begin.
  struct Sent {
    std::vector<Result> results;
    std::size_t own = 0;
  };
  /// What is asked of the session after COMMIT: where the answers are.
  struct Look {
    std::size_t role = 0;
    std::size_t own_role = 0;
    std::size_t left = 0;
  };
  using Add = std::function<void(Pipeline&)>;

  std::unique_ptr<SqlResult> run(const SqlStatement& statement);
  std::unique_ptr<SqlResult> run(const SqlStatement& statement, std::span<const CallEvent> events, Sight sight);
  std::optional<SqlError> prepare(const SqlStatement& statement, Sight sight);
  bool is_short_of_memory(const SqlError& error, const SqlStatement& statement) const;
  std::optional<SqlError> explain(const SqlStatement& statement, const PreparedSql& prepared);
  Sent send(Connection::Access::Effect effect, std::chrono::milliseconds limit, bool opens, const Add& add);
  void add_opening(Pipeline& pipeline);
  std::size_t add_daemons(Pipeline& pipeline, const Statement& statement, const WireParameters& parameters);
  void add_settlements(Pipeline& pipeline, const std::vector<Settlement>& settlements);
  void add_role(Pipeline& pipeline, const std::string& role);
  void add_leaving(Pipeline& pipeline);
  void add_forgetting(Pipeline& pipeline, const std::vector<std::string>& names);
  void noticed(const std::vector<Result>& results);
  const PGresult* first_failure(const std::vector<Result>& results) const;

  std::unique_ptr<SqlResult> failed(SqlError error, bool stale_plan = false);
  std::unique_ptr<SqlResult> lost(const DatabaseFailure& failure);
  void ended(std::string how);
  void look_at_session();
  bool session_is_due();
  Look add_look(Pipeline& pipeline);
  void judge_session(const std::vector<Result>& results, const Look& look);
  void note_clean();
  void close() noexcept;
  CommitEnd try_commit(const std::vector<Settlement>& settlements);
  CommitEnd::Kind kind_of_refusal(std::string_view sqlstate, bool ours);
  CommitEnd resolve(const std::vector<Settlement>& settlements);
  /// Deliveries whose settlement is not in the database: by whose lease they are held now.
  struct Owed {
    std::vector<std::int64_t> ours, others;
  };
  Owed still_owed(const std::vector<Settlement>& settlements);
  static CommitEnd end_of(const Owed& owed, const std::vector<Settlement>& settlements);
  void pause(std::chrono::milliseconds wait) const;
  void forget_failure();
  void forget_transaction();
  bool is_cut() const;

  config::Database settings_;
  std::string owner_;
  std::string purpose_;
  base::Logger& log_;
  Connection connection_;
  Connection::Access& access_;

  CallFrame frame_;
  Clock::time_point call_began_{};
  bool begun_ = false;   ///< BEGIN was sent
  bool failed_ = false;  ///< a statement failed: nothing goes until a savepoint is rolled back to
  bool over_ = false;    ///< of this call's SQL
  bool must_repeat_ = false;
  bool running_ = false;            ///< a statement of the handler's is at the server
  bool lost_in_statement_ = false;  ///< the connection broke meanwhile
  bool was_cut_off_ = false;        ///< or was ended, because the server had not ended the statement
  bool waited_long_ = false;        ///< connecting took more of the call's time than it has left
  std::optional<SqlError> first_error_;
  std::optional<std::string> misdeed_;
  Savepoints savepoints_;
  std::int64_t timeout_ms_ = 0;  ///< statement_timeout as it was set
  bool ran_ = false;             ///< the call ran a statement
  bool lingers_ = false;         ///< one that other calls would meet

  bool writes_plain_ = false;  ///< texts of failures, until something is committed: the database refused them

  std::atomic<bool> waiting_{false};
  int generation_ = 0;
  std::uint64_t transaction_ = 0;  ///< how many have begun
  PreparedSqlCache cache_;
  std::set<const Statement*> daemons_;  ///< of the daemon's own, prepared in this session
  std::vector<std::pair<const Statement*, std::size_t>> being_prepared_;  ///< with the index of the result
  std::vector<PreparedSqlCache::Key> run_;                                ///< by this transaction
  Clock::time_point last_look_{};
  Clock::time_point last_told_{};
  int careful_ = 0;     ///< statements that do not trust payloads to be JSON yet
  int suspicious_ = 0;  ///< transactions that are still to be looked at, whatever they run

  mutable std::mutex cut_mutex_;  // guards the following
  bool cut_ = false;
  int socket_ = -1;  ///< a duplicate of the session's: its number is nobody else's
};

}  // namespace inboxd::inbox
