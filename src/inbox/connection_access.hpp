#pragma once
#include <libpq-fe.h>

#include <chrono>
#include <memory>
#include <optional>
#include <pqxx/pqxx>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/uuid.hpp"
#include "inbox/connecting.hpp"
#include "inbox/connection.hpp"
#include "inbox/database_error.hpp"
#include "inbox/pipeline.hpp"
#include "inbox/statement.hpp"

namespace inboxd::inbox {

/// Replaces the schema name `inbox.` in a statement by the configured name.
std::string with_schema(std::string_view sql, const std::string& schema);

/// Runs statements on a connection slot, in four ways: `run` or `call` for a single statement, `fetch` for a binary
/// result, `transaction` for several statements, `in_pipeline_mode` for libpq's pipeline mode.
///
/// Each way opens the slot, watches the deadline, and throws DatabaseError. Not thread-safe.
struct Connection::Access {
  /// A connection that breaks during a statement means `reconnect` for a read, `in_doubt` for a write.
  enum class Effect { reads, writes };

  Access(config::Database database, std::string what_for, Watchdog& dog, base::Logger& logger)
      : settings{std::move(database)}, purpose{std::move(what_for)}, watchdog{dog}, log{logger} {}

  // ---- statements

  /// Runs a statement in autocommit, under the daemon's search path.
  pqxx::result run(const Statement& statement, const pqxx::params& parameters, Effect effect = Effect::writes);
  /// Runs a statement in a single round trip, also through a pooler. Only for functions that set their own search path.
  pqxx::result call(const Statement& statement, const pqxx::params& parameters, Effect effect = Effect::writes);
  /// Runs a reading statement; the rows come in PostgreSQL's binary format.
  std::shared_ptr<PGresult> fetch(const Statement& statement, const WireParameters& parameters);

  /// Runs `work` in a transaction. Commits if `work` returns true, rolls back otherwise.
  template <class Work>
  void transaction(Work&& work, Effect effect = Effect::writes) {
    guarded(effect, time_left(), [&] {
      pqxx::work tx{*session};
      pin_search_path(tx);
      if (work(tx)) tx.commit();
    });
  }
  /// Runs a statement inside such a transaction.
  pqxx::result run_in(pqxx::transaction_base& tx, const Statement& statement, const pqxx::params& parameters);

  /// Runs `work` on the raw connection in pipeline mode, for at most `limit`. The session stays in pipeline mode: from
  /// then on only this function may be used until the slot is closed.
  template <class Work>
  void in_pipeline_mode(Effect effect, std::chrono::milliseconds limit, Work&& work) {
    guarded(effect, limit, [&] {
      if (PQpipelineStatus(raw) == PQ_PIPELINE_OFF && PQenterPipelineMode(raw) == 0) {
        throw pqxx::broken_connection{PQerrorMessage(raw)};
      }
      work();
    });
  }

  /// The statement's SQL with the configured schema.
  const std::string& text_of(const Statement& statement);

  // ---- the session

  void open();
  void close() noexcept;
  /// The start of the server that answered. A pooler changes servers within a session: the next use checks it again.
  void note_server(const std::string& started_at);
  /// The last statement was cut off: the next session is not used while the server still runs that statement.
  void await_cut_off_statement() { previous_ = PreviousSession{backend_, true}; }

  // ---- the slot: see the functions of Connection

  config::Database settings;
  std::string purpose;
  Watchdog& watchdog;
  base::Logger& log;
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max();  ///< of all statements
  bool prefers_indexes = false;
  bool keeps_search_path = false;
  int generation = 0;

  std::unique_ptr<pqxx::connection> session;  ///< null: closed
  PGconn* raw = nullptr;                      ///< the session's own
  bool has_jit = false;                       ///< the server compiles expensive statements

  // ---- notes for the next statement

  bool expects_duplicates = false;                                 ///< the last ingested batch had some
  std::unordered_map<std::int32_t, std::int64_t> bytes_per_event;  ///< in each handler's last claim

 private:
  /// The server process of a session. With a pooler it is unknown (0); then the slot's application name identifies it.
  struct Backend {
    int process_id = 0;
    std::string started_at;
  };
  /// A lost session: the slot waits until it has ended or, if only_while_active, until it runs no statement.
  struct PreviousSession {
    Backend backend;
    bool only_while_active = false;
  };
  /// Registers the socket with the watchdog for as long as it lives.
  struct Watched {
    Watched(Access& access, std::chrono::milliseconds limit)
        : access_{access}, id_{access.watchdog.watch(PQsocket(access.raw), std::chrono::steady_clock::now() + limit)} {}
    ~Watched() { access_.was_cut_off_ = access_.watchdog.unwatch(id_); }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

   private:
    Access& access_;
    std::uint64_t id_;
  };

  ConnectResult connect(const std::string& options);
  bool open_session();
  void check_previous_session();
  void check_server();
  std::string marked_name() const;
  pqxx::result query_session(const char* query, const pqxx::params& parameters);
  void read_notice(std::string_view text);

  std::chrono::milliseconds time_left() const;
  void pin_search_path(pqxx::transaction_base& tx);
  void prepare(const Statement& statement);

  /// Opens the slot, runs `work` under the watchdog and translates its exceptions.
  template <class Work>
  void guarded(Effect effect, std::chrono::milliseconds limit, Work&& work);
  [[noreturn]] void rethrow_as_database_error(Effect effect);
  void check_commit_warning(Effect effect) const;
  [[noreturn]] void lost(Effect effect, const std::string& message);

  std::unordered_map<const Statement*, std::string> texts_;
  std::unordered_map<const Statement*, bool> prepared_;  ///< in this session
  Backend backend_;                                      ///< of this session
  std::string server_started_at_;                        ///< of this session
  std::optional<PreviousSession> previous_;
  bool is_server_checked_ = false;  ///< for this session
  bool was_cut_off_ = false;      ///< by the watchdog: the last statement
  bool commit_warned_ = false;    ///< the server warned that the standby may not have the last commit
  bool accepts_options_ = true;   ///< false: a pooler refuses startup options
  bool has_pinned_path_ = false;  ///< the session started with the daemon's search path
  bool is_marked_ = false;        ///< with a pooler: the application name carries `mark_`
  const std::string mark_ = base::random_uuid().text().substr(0, 8);
};

template <class Work>
void Connection::Access::guarded(Effect effect, std::chrono::milliseconds limit, Work&& work) {
  open();
  commit_warned_ = false;
  try {
    // Ends before the exception closes the socket: another connection may reuse the descriptor.
    const Watched watched{*this, limit};
    work();
  } catch (...) {
    rethrow_as_database_error(effect);
  }
  check_commit_warning(effect);
}

}  // namespace inboxd::inbox
