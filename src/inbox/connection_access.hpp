#pragma once
#include <libpq-fe.h>

#include <chrono>
#include <memory>
#include <optional>
#include <pqxx/pqxx>
#include <string>
#include <unordered_map>

#include "base/uuid.hpp"
#include "inbox/connection.hpp"
#include "inbox/database_error.hpp"
#include "inbox/pipeline.hpp"
#include "inbox/statement.hpp"

namespace inboxd::inbox {

/// What every failed statement throws inside this room; `describe` reads it for the others.
class DatabaseError final : public std::exception {
 public:
  explicit DatabaseError(DatabaseFailure failure) : failure_{std::move(failure)} {}
  const char* what() const noexcept override { return failure_.message.c_str(); }
  const DatabaseFailure& failure() const { return failure_; }

 private:
  DatabaseFailure failure_;
};

/// The SQLSTATE of an error; libpqxx leaves that of one class out.
inline std::string sqlstate_of(const pqxx::sql_error& error) {
  const bool left_out =
      error.sqlstate().empty() && dynamic_cast<const pqxx::insufficient_privilege*>(&error) != nullptr;
  return left_out ? "42501" : error.sqlstate();
}

/// The statements' schema is written `inbox.`; this puts the configured one in its place.
std::string with_schema(std::string_view sql, const std::string& schema);

/// What the functions of this room do with a connection. One thread at a time, like the connection itself.
struct Connection::Access {
  Access(config::Database database, std::string what_for, Watchdog& dog, base::Logger& logger)
      : settings{std::move(database)}, purpose{std::move(what_for)}, watchdog{dog}, log{logger} {}

  /// Runs one statement in autocommit. A connection lost meanwhile is `in_doubt` where it could have written.
  enum class Effect { reads, writes };
  pqxx::result run(const Statement& statement, const pqxx::params& parameters, Effect effect = Effect::writes);

  /// The same with the rows in PostgreSQL's binary format: for the events of a claim. Reads only.
  std::shared_ptr<PGresult> fetch(const Statement& statement, const WireParameters& parameters);

  /// Runs `work` in a transaction of several statements and commits it, unless `work` returns false.
  template <class Work>
  void transaction(Work&& work) {
    guarded(Effect::writes, [&] {
      pqxx::work tx{*session};
      if (work(tx)) {
        committing = true;
        tx.commit();
      }
    });
  }
  /// A statement inside such a transaction.
  pqxx::result run_in(pqxx::transaction_base& tx, const Statement& statement, const pqxx::params& parameters);

  /// Runs `work` on the raw connection in pipeline mode, watched for that long. Nothing else of this type may be used
  /// on the connection from then on: pipeline mode is not left again.
  template <class Work>
  void talk(Effect effect, std::chrono::milliseconds limit, Work&& work) {
    guarded(
        effect,
        [&] {
          if (PQpipelineStatus(raw) == PQ_PIPELINE_OFF && PQenterPipelineMode(raw) == 0) {
            throw pqxx::broken_connection{PQerrorMessage(raw)};
          }
          work();
        },
        limit);
  }

  void open();
  void close() noexcept;
  /// The last statement was cut off: the next session is not used while the server still works on it.
  void await_cut_off() { unresolved_ = Unresolved{backend_, true}; }
  const std::string& text_of(const Statement& statement);

  config::Database settings;
  std::string purpose;
  Watchdog& watchdog;
  base::Logger& log;
  std::unique_ptr<pqxx::connection> session;
  PGconn* raw = nullptr;                       ///< the session's own; it ends with it
  int generation = 0;
  /// Of all statements together.
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::time_point::max();
  bool prefers_indexes = false;                ///< see Connection
  bool compiles_statements = false;            ///< jit is on in the session
  bool expects_duplicates = false;             ///< the last batch had some: the next is likely to, too
  /// Bytes of an event in the last claim of each handler.
  std::unordered_map<std::int32_t, std::int64_t> event_weights;

 private:
  /// Who works for a session: a process, or (0) whom a pooler lends, told by the name that we give to each of them.
  struct Backend {
    int process_id = 0;
    std::string started_at;
  };
  /// A session that was cut off, and until when the next one waits: until it is over, or no longer works.
  struct Unresolved {
    Backend backend;
    bool only_while_active = false;
  };
  /// A statement's time runs: the socket is shut down at its deadline.
  struct Watched {
    explicit Watched(Access& access) : Watched{access, access.settings.deadline} {}
    Watched(Access& access, std::chrono::milliseconds limit)
        : whose{access}, id{access.watchdog.watch(PQsocket(access.raw), std::chrono::steady_clock::now() + limit)} {}
    ~Watched() { whose.was_cut_off_ = whose.watchdog.forget(id); }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    Access& whose;
    std::uint64_t id;
  };
  PGconn* connect(const std::string& options);
  bool open_session();
  /// How long the next statement may take.
  std::chrono::milliseconds time_left() const;
  template <class Work>
  void guarded(Effect effect, Work&& work) {
    guarded(effect, std::forward<Work>(work), time_left());
  }
  template <class Work>
  void guarded(Effect effect, Work&& work, std::chrono::milliseconds limit);
  /// A question of the connection's own about the session; where it fails the connection is closed.
  pqxx::result ask(const char* question, const pqxx::params& parameters);
  void prepare(const Statement& statement);
  void read_notice(std::string_view text);
  void await_unresolved();
  std::string marked_name() const;
  [[noreturn]] void lost(Effect effect, const std::string& message);

  std::unordered_map<const Statement*, std::string> texts_;
  std::unordered_map<const Statement*, bool> prepared_;
  Backend backend_;                            ///< of this session
  std::optional<Unresolved> unresolved_;
  bool was_cut_off_ = false;                   ///< the last statement, by the watchdog
  bool takes_options_ = true;                  ///< false: a pooler between refuses what a session begins with
  bool is_marked_ = false;                     ///< a pooler between: the session's name is no other slot's
  const std::string mark_ = base::random_uuid().text().substr(0, 8);
  bool commit_warned_ = false;
  bool committing = false;
};

template <class Work>
void Connection::Access::guarded(Effect effect, Work&& work, std::chrono::milliseconds limit) {
  open();
  commit_warned_ = false;
  committing = false;
  try {
    // Forgotten before a handler below closes the socket: its number may soon be another's.
    const Watched watched{*this, limit};
    work();
  } catch (const pqxx::in_doubt_error& error) {
    lost(Effect::writes, error.what());
  } catch (const pqxx::broken_connection& error) {
    lost(effect, error.what());
  } catch (const pqxx::sql_error& error) {
    const std::string state = sqlstate_of(error);
    const Fault fault = fault_of(state);
    const bool usable = PQstatus(raw) == CONNECTION_OK;
    if (!usable && effect == Effect::writes && fault == Fault::reconnect) lost(effect, error.what());
    if (!usable || fault == Fault::reconnect || fault == Fault::stop) close();
    throw DatabaseError{{fault, state, error.what()}};
  } catch (const pqxx::failure& error) {
    if (raw != nullptr && PQstatus(raw) != CONNECTION_OK) lost(effect, error.what());
    throw;
  } catch (const DatabaseError&) {
    throw;
  } catch (const std::exception& error) {
    // Memory that is short, or a bug, in the middle of it: what the session has done, or has yet to say, nobody knows.
    lost(effect, std::string{"no error of the database: "} + error.what());
  }
  // A handler's function may warn of what it likes; and what has failed is in no doubt.
  if (commit_warned_ && effect == Effect::writes && PQtransactionStatus(raw) != PQTRANS_INERROR) {
    throw DatabaseError{{Fault::in_doubt, "01000", "the server did not wait for its synchronous standby"}};
  }
}

}  // namespace inboxd::inbox
