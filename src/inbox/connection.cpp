// The slot and its session: opening, waiting for the previous session, closing. Statements: connection_access.cpp.
#include "inbox/connection.hpp"

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>
#include <vector>

#include "inbox/connecting.hpp"
#include "inbox/connection_access.hpp"
#include "inbox/database_error.hpp"
#include "inbox/url_options.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

/// The daemon's search path. pg_temp is named last; unnamed, it would be searched first for types.
constexpr const char* own_path = "pg_catalog,pg_temp";

/// Startup options of the daemon's sessions. Startup options cost nothing; settings of a function cost each call.
///
/// The user's own options override the first group. JIT is off: compiling takes 0.1 s, and the estimates over many day
/// partitions make the server compile queries of a millisecond. The timeouts limit how long a session waits for a lock,
/// and how long it outlives its client or an idle transaction: a frozen machine must not keep its locks beyond a lease.
///
/// The isolation level (inbox.require_read_committed) and the search path are not the user's to change.
std::string options_of(const std::string& url, bool prefers_indexes, bool keeps_search_path) {
  std::string out =
      "-c jit=off -c lock_timeout=10s -c client_connection_check_interval=5s"
      " -c idle_in_transaction_session_timeout=10s"
      " -c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3";
  if (prefers_indexes) out += " -c enable_seqscan=off";
  const char* const environment = std::getenv("PGOPTIONS");
  std::string theirs = environment != nullptr ? environment : "";
  read_options(url, [&](std::string_view name, std::string_view value) {
    if (name == "options") theirs = value;
  });
  if (!theirs.empty()) out.append(" ").append(theirs);
  out += R"( -c default_transaction_isolation=read\ committed)";
  if (!keeps_search_path) out.append(" -c search_path=").append(own_path);
  return out;
}

/// Event texts are UTF-8; a database with another encoding rejects some of them.
void check_encoding(PGconn* connection) {
  const char* const encoding = PQparameterStatus(connection, "server_encoding");
  if (encoding == nullptr || std::string_view{encoding} == "UTF8") return;
  const std::string found = encoding;
  PQfinish(connection);
  throw DatabaseError{
      {Fault::stop, std::string{wrong_encoding},
       "its encoding is " + found + "; create a database with encoding UTF8 and name it in database.url"}};
}

/// The number of hosts in a URL. libpq tries them in turn.
long hosts_in(const std::string& url) {
  std::ptrdiff_t commas = 0;
  read_options(url, [&](std::string_view name, std::string_view value) {
    if (name == "host" || name == "hostaddr") commas = std::max(commas, std::count(value.begin(), value.end(), ','));
  });
  return commas + 1;
}

/// PgBouncer's message, which is always English; or a server that does not support a setting.
bool is_options_refused(const std::string& message) {
  return message.find("unsupported startup parameter") != std::string::npos ||
         message.find("client_connection_check_interval") != std::string::npos;
}

}  // namespace

Connection::Connection(const config::Database& settings, std::string purpose, Watchdog& watchdog, base::Logger& log)
    : access_{std::make_unique<Access>(settings, std::move(purpose), watchdog, log)} {}

Connection::~Connection() { access_->close(); }

void Connection::open() { access_->open(); }
void Connection::prefer_indexes() { access_->prefers_indexes = true; }
void Connection::keep_search_path() { access_->keeps_search_path = true; }
void Connection::close() noexcept { access_->close(); }
bool Connection::is_open() const { return access_->session != nullptr; }
void Connection::set_deadline(std::chrono::milliseconds longest) { access_->settings.deadline = longest; }
void Connection::set_end(std::chrono::steady_clock::time_point end) { access_->end = end; }
int Connection::generation() const { return access_->generation; }

std::string Connection::where() const {
  std::string out;
  const bool is_read = read_options(access_->settings.url, [&](std::string_view name, std::string_view value) {
    if (name != "host" && name != "port" && name != "dbname" && name != "user") return;
    if (!out.empty()) out += ' ';
    out.append(name).append("=").append(value);
  });
  return is_read ? out : "the configured database.url (libpq cannot parse it)";
}

ConnectResult Connection::Access::connect(const std::string& options) {
  const ConnectingTimes times =
      connecting_times(settings.deadline, settings.connecting_beyond_deadline, hosts_in(settings.url));
  const std::string seconds = std::to_string(times.each.count());
  const std::string user_timeout = std::to_string(settings.deadline.count());
  // The URL overrides the keywords before dbname; the keywords after it override the URL.
  std::vector<std::pair<std::string, std::string>> wanted{{"application_name", "inboxd " + purpose},
                                                          {"connect_timeout", seconds},
                                                          {"keepalives_idle", "10"},
                                                          {"keepalives_interval", "5"},
                                                          {"keepalives_count", "3"},
                                                          {"tcp_user_timeout", user_timeout},
                                                          {"target_session_attrs", "read-write"},
                                                          {"dbname", settings.url},
                                                          {"client_encoding", "UTF8"}};
  if (is_marked_) wanted.emplace_back("application_name", marked_name());
  if (!options.empty()) wanted.emplace_back("options", options);
  if (!settings.password.empty()) wanted.emplace_back("password", settings.password.now());
  // A slot that was open before retries anyway: the reason makes no difference.
  const bool asks_for_sqlstate = generation == 0;
  try {
    return make_connection(std::move(wanted), asks_for_sqlstate, times.all, watchdog);
  } catch (const std::system_error& error) {
    // Many slots connect at once after a failover, and the number of threads may be limited: retry later.
    watchdog.counts().refused += 1;
    throw DatabaseError{{Fault::reconnect, "", std::string{"cannot start a thread to connect: "} + error.what()}};
  }
}

void Connection::Access::open() {
  if (session == nullptr && !open_session() && !is_marked_) {
    // A pooler silently drops the options (ignore_startup_parameters). Connect again under the slot's own name, which
    // identifies the server's session after a statement was cut off.
    is_marked_ = true;
    close();
    open_session();
  }
  check_previous_session();
  if (!is_server_checked_) check_server();
}

/// A session with another server process than before runs nothing until the sequences have another fence.
void Connection::Access::check_server() {
  is_server_checked_ = true;  // the statement opens the slot, too
  if (const auto owner = watchdog.server().owner_to_fence(server_started_at_)) {
    try {
      const auto fenced = run(statements::change_fences, pqxx::params{owner->text()}).one_row();
      if (fenced[1].as<std::int64_t>() > 0) {
        throw DatabaseError{{Fault::reconnect, "", "other statements hold deliveries that need another fence"}};
      }
      log.warn("inbox.server_changed", {{"purpose", purpose}, {"sequences", fenced[0].as<std::int64_t>()}});
    } catch (const DatabaseError& error) {
      // Also if it is in doubt: the caller's own statement has not run.
      close();
      throw DatabaseError{{Fault::reconnect, error.failure().sqlstate, error.what()}};
    }
  }
  watchdog.server().know(server_started_at_);
}

void Connection::Access::note_server(const std::string& started_at) {
  server_started_at_ = started_at;
  is_server_checked_ = false;
}

/// Returns whether the session belongs to this slot alone, as far as the server shows.
bool Connection::Access::open_session() {
  ConnectResult fresh = connect(accepts_options_ ? options_of(settings.url, prefers_indexes, keeps_search_path) : "");
  if (accepts_options_ && fresh.connection == nullptr && is_options_refused(fresh.message)) {
    // A pooler that shares sessions: its operator puts the settings on the role (sql/README.md).
    accepts_options_ = false;
    is_marked_ = true;
    fresh = connect("");
  }
  if (fresh.connection == nullptr) {
    watchdog.counts().refused += 1;
    throw DatabaseError{{Fault::reconnect, fresh.sqlstate, fresh.message}};
  }
  check_encoding(fresh.connection);
  raw = fresh.connection;
  watchdog.counts().add(this, PQsocket(raw));
  session = std::make_unique<pqxx::connection>(pqxx::connection::seize_raw_connection(raw));
  session->set_verbosity(pqxx::error_verbosity::verbose);
  session->set_notice_handler([this](pqxx::zview text) { read_notice(text); });
  ++generation;
  const auto row = query_session(
      "select a.pid, a.backend_start, pg_catalog.current_setting('jit')::boolean, "
      "pg_catalog.current_setting('search_path'), "
      "extract(epoch from pg_catalog.pg_postmaster_start_time())::pg_catalog.text "
      "from pg_catalog.pg_stat_activity a where a.pid operator(pg_catalog.=) pg_catalog.pg_backend_pid()",
      {});
  has_jit = row.empty() || row[0][2].as<bool>();
  // Through a pooler the answer is about a single session, and the next statement may run in another session.
  const bool is_direct = !row.empty() && row[0][0].as<int>() == PQbackendPID(raw);
  has_pinned_path_ = is_direct && row[0][3].view() == own_path;
  server_started_at_ = row.empty() ? "" : row[0][4].as<std::string>();
  is_server_checked_ = false;
  // Null if the session runs under another role than its login.
  const bool is_visible = !row.empty() && !row[0][1].is_null();
  const bool is_ours = is_visible && is_direct;
  backend_ = is_ours ? Backend{row[0][0].as<int>(), row[0][1].as<std::string>()} : Backend{};
  if (is_ours) is_marked_ = false;
  return is_ours;
}

void Connection::Access::close() noexcept {
  watchdog.counts().remove(this);
  session.reset();
  raw = nullptr;
  prepared_.clear();
}

/// Runs a query about the session itself. If it fails, the slot is closed.
pqxx::result Connection::Access::query_session(const char* query, const pqxx::params& parameters) {
  std::string message;
  try {
    const Watched watched{*this, settings.deadline};
    pqxx::nontransaction tx{*session};
    return tx.exec(query, parameters);
  } catch (const pqxx::failure& error) {
    message = error.what();
  }
  close();
  throw DatabaseError{{Fault::reconnect, "", message}};
}

/// The application name of a slot that uses a pooler, cut to PostgreSQL's limit.
std::string Connection::Access::marked_name() const {
  constexpr std::size_t longest = 63;
  return ("inboxd " + purpose).substr(0, longest - mark_.size() - 1) + " " + mark_;
}

void Connection::Access::check_previous_session() {
  if (!previous_) return;
  const Backend& backend = previous_->backend;
  const bool any_state = !previous_->only_while_active;
  const auto rows =
      backend.process_id != 0
          ? query_session(
                "select a.pid from pg_catalog.pg_stat_activity a where a.pid operator(pg_catalog.=) $1 "
                "and a.backend_start operator(pg_catalog.=) $2::pg_catalog.timestamptz "
                "and ($3::boolean or a.state operator(pg_catalog.=) 'active')",
                pqxx::params{backend.process_id, backend.started_at, any_state})
          : query_session(
                "select a.pid from pg_catalog.pg_stat_activity a where a.application_name operator(pg_catalog.=) $1 "
                "and a.pid operator(pg_catalog.<>) pg_catalog.pg_backend_pid() "
                "and a.state operator(pg_catalog.<>) all ('{idle,disabled}'::pg_catalog.text[]) "
                "and ($2::boolean or a.state operator(pg_catalog.=) 'active')",
                pqxx::params{marked_name(), any_state});
  if (!rows.empty()) {
    throw DatabaseError{
        {Fault::reconnect, "",
         "the server is still running the statement that was cut off (process " + rows[0][0].as<std::string>() + ")"}};
  }
  previous_.reset();
}

}  // namespace inboxd::inbox
