#include "inbox/connection.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <system_error>
#include <utility>
#include <vector>

#include "inbox/connecting.hpp"
#include "inbox/connecting_times.hpp"
#include "inbox/connection_access.hpp"

namespace inboxd::inbox {
namespace {

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

/// The SQLSTATE of a notice in verbose form: `WARNING:  01000: …`, in whatever language the first word is.
std::string_view sqlstate_of_notice(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  const auto begin = text.find_first_not_of(' ', colon + 1);
  if (begin == std::string_view::npos || text.size() < begin + 6 || text[begin + 5] != ':') return {};
  return text.substr(begin, 5);
}

/// What a URL says, keyword by keyword, as libpq reads it; false where it cannot.
template <class Visit>
bool read_options(const std::string& url, Visit visit) {
  PQconninfoOption* const options = PQconninfoParse(url.c_str(), nullptr);
  if (options == nullptr) return false;
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    if (option->val != nullptr) visit(std::string_view{option->keyword}, std::string_view{option->val});
  }
  PQconninfoFree(options);
  return true;
}

/// What our sessions begin with, unless the user's own options say otherwise. Compiling a statement (jit) costs a tenth
/// of a second, and the estimates over many day partitions are high enough for the server to do it for questions of a
/// millisecond: off. Nobody waits for a lock for long, and nobody whose client has gone, or stands still with
/// a transaction open (a frozen machine would keep its locks beyond every lease). As options they cost nothing;
/// as settings of a function they would for each call of it. Transactions see what others commit meanwhile, and that is
/// not the user's to change (inbox.need_fresh_snapshots).
std::string options_of(const std::string& url, bool prefers_indexes) {
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
  return out;
}

/// How many hosts a URL names; they are tried one after the other, each for its part of the time.
long hosts_in(const std::string& url) {
  std::ptrdiff_t commas = 0;
  read_options(url, [&](std::string_view name, std::string_view value) {
    if (name == "host" || name == "hostaddr") commas = std::max(commas, std::count(value.begin(), value.end(), ','));
  });
  return commas + 1;
}

/// PgBouncer's words, which it says in English; or a server that does not know a setting, or cannot do it.
bool is_options_refused(const PGconn* connection) {
  const std::string_view message{PQerrorMessage(connection)};
  return message.find("unsupported startup parameter") != std::string_view::npos ||
         message.find("client_connection_check_interval") != std::string_view::npos;
}

}  // namespace

std::string with_schema(std::string_view sql, const std::string& schema) {
  static constexpr std::string_view ours = "inbox.";
  std::string out;
  out.reserve(sql.size() + 64);
  for (std::size_t at = 0; at < sql.size();) {
    const auto found = sql.find(ours, at);
    if (found == std::string_view::npos) {
      out.append(sql.substr(at));
      break;
    }
    const bool whole_word = found == 0 || !is_name_character(sql[found - 1]);
    out.append(sql.substr(at, found - at));
    out.append(whole_word ? schema + "." : std::string{ours});
    at = found + ours.size();
  }
  return out;
}

Connection::Connection(const config::Database& settings, std::string purpose, Watchdog& watchdog, base::Logger& log)
    : access_{std::make_unique<Access>(settings, std::move(purpose), watchdog, log)} {}

Connection::~Connection() { access_->close(); }

void Connection::open() { access_->open(); }
void Connection::prefer_indexes() { access_->prefers_indexes = true; }
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
  return is_read ? out : "the configured database.url (which libpq cannot read)";
}

PGconn* Connection::Access::connect(const std::string& options) {
  const ConnectingTimes times = connecting_times(settings.deadline, settings.connecting_beyond_deadline,
                                                 hosts_in(settings.url));
  const std::string seconds = std::to_string(times.each.count());
  const std::string user_timeout = std::to_string(settings.deadline.count());
  // What stands before dbname can be overruled by the URL, what stands behind it not.
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
  if (!settings.password.empty()) wanted.emplace_back("password", settings.password.reveal());
  try {
    return make_connection(std::move(wanted), times.all, watchdog);
  } catch (const std::system_error& error) {
    // Where threads are limited and many slots connect at once, as after a failover: the others go on meanwhile.
    watchdog.counts().refused += 1;
    throw DatabaseError{{Fault::reconnect, "", std::string{"no thread to connect with: "} + error.what()}};
  }
}

void Connection::Access::open() {
  if (session == nullptr && !open_session() && !is_marked_) {
    // Lent by a pooler that drops the options without a word (ignore_startup_parameters): again under this slot's own
    // name, or nobody could tell the session that works on after a statement was cut off.
    is_marked_ = true;
    close();
    open_session();
  }
  await_unresolved();
}

/// Whether it is ours alone, as far as the server knows.
bool Connection::Access::open_session() {
  PGconn* fresh = connect(takes_options_ ? options_of(settings.url, prefers_indexes) : "");
  if (takes_options_ && fresh != nullptr && PQstatus(fresh) != CONNECTION_OK && is_options_refused(fresh)) {
    // A pooler that shares its sessions: whoever runs it sets the role's own settings (sql/README.md).
    takes_options_ = false;
    is_marked_ = true;
    PQfinish(fresh);
    fresh = connect("");
  }
  if (fresh == nullptr || PQstatus(fresh) != CONNECTION_OK) {
    const std::string message = fresh == nullptr ? "given up: no connection in time" : PQerrorMessage(fresh);
    PQfinish(fresh);
    watchdog.counts().refused += 1;
    throw DatabaseError{{Fault::reconnect, "", message}};
  }
  raw = fresh;
  watchdog.counts().add(this, PQsocket(raw));
  session = std::make_unique<pqxx::connection>(pqxx::connection::seize_raw_connection(fresh));
  session->set_verbosity(pqxx::error_verbosity::verbose);
  session->set_notice_handler([this](pqxx::zview text) { read_notice(text); });
  ++generation;
  const auto row =
      ask("select a.pid, a.backend_start, current_setting('jit')::boolean from pg_stat_activity a "
          "where a.pid = pg_backend_pid()",
          {});
  compiles_statements = row.empty() || row[0][2].as<bool>();
  // Hidden from a session that works under another role than it logged in as.
  const bool is_seen = !row.empty() && !row[0][1].is_null();
  const bool is_ours = is_seen && row[0][0].as<int>() == PQbackendPID(raw);
  backend_ = is_ours ? Backend{row[0][0].as<int>(), row[0][1].as<std::string>()} : Backend{};
  if (is_ours) is_marked_ = false;
  return is_ours;
}

void Connection::Access::close() noexcept {
  watchdog.counts().forget(this);
  session.reset();
  raw = nullptr;
  prepared_.clear();
}

pqxx::result Connection::Access::ask(const char* question, const pqxx::params& parameters) {
  std::string message;
  try {
    const Watched watched{*this};
    pqxx::nontransaction tx{*session};
    return tx.exec(question, parameters);
  } catch (const pqxx::failure& error) {
    message = error.what();
  }
  close();
  throw DatabaseError{{Fault::reconnect, "", message}};
}

/// No longer than PostgreSQL keeps it.
std::string Connection::Access::marked_name() const {
  constexpr std::size_t longest = 63;
  return ("inboxd " + purpose).substr(0, longest - mark_.size() - 1) + " " + mark_;
}

void Connection::Access::await_unresolved() {
  if (!unresolved_) return;
  const Backend& backend = unresolved_->backend;
  const bool any_state = !unresolved_->only_while_active;
  const auto rows =
      backend.process_id != 0
          ? ask("select pid from pg_stat_activity where pid = $1 and backend_start = $2::timestamptz "
                "and ($3::boolean or state = 'active')",
                pqxx::params{backend.process_id, backend.started_at, any_state})
          : ask("select pid from pg_stat_activity where application_name = $1 and pid <> pg_backend_pid() "
                "and state not in ('idle', 'disabled') and ($2::boolean or state = 'active')",
                pqxx::params{marked_name(), any_state});
  if (!rows.empty()) {
    throw DatabaseError{{Fault::reconnect, "",
                         "the server still works on the statement that was cut off (process " +
                             rows[0][0].as<std::string>() + ")"}};
  }
  unresolved_.reset();
}

void Connection::Access::lost(Effect effect, const std::string& message) {
  const bool doubtful = effect == Effect::writes;
  if (doubtful) unresolved_ = Unresolved{backend_};
  close();
  throw DatabaseError{{doubtful ? Fault::in_doubt : Fault::reconnect, "", message, was_cut_off_}};
}

void Connection::Access::read_notice(std::string_view text) {
  const auto state = sqlstate_of_notice(text);
  if (state == "01000" || state == "57P01") commit_warned_ = true;
  log.debug("database: notice", {{"sqlstate", state}, {"purpose", purpose}});
}

std::chrono::milliseconds Connection::Access::time_left() const {
  constexpr std::chrono::milliseconds shortest{1'000};
  const auto now = std::chrono::steady_clock::now();
  if (end - now >= settings.deadline) return settings.deadline;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - now);
  return std::min(settings.deadline, std::max(left, shortest));
}

const std::string& Connection::Access::text_of(const Statement& statement) {
  auto& text = texts_[&statement];
  if (text.empty()) text = with_schema(statement.sql, settings.schema);
  return text;
}

void Connection::Access::prepare(const Statement& statement) {
  if (!settings.prepare) return;
  bool& done = prepared_[&statement];
  if (done) return;
  session->prepare(statement.name, text_of(statement));
  done = true;
}

pqxx::result Connection::Access::run_in(pqxx::transaction_base& tx, const Statement& statement,
                                        const pqxx::params& parameters) {
  prepare(statement);
  return settings.prepare ? tx.exec(pqxx::prepped{statement.name}, parameters)
                          : tx.exec(text_of(statement), parameters);
}

pqxx::result Connection::Access::run(const Statement& statement, const pqxx::params& parameters, Effect effect) {
  pqxx::result result;
  guarded(effect, [&] {
    pqxx::nontransaction tx{*session};
    result = run_in(tx, statement, parameters);
  });
  return result;
}

std::shared_ptr<PGresult> Connection::Access::fetch(const Statement& statement, const WireParameters& parameters) {
  std::shared_ptr<PGresult> result;
  guarded(Effect::reads, [&] {
    prepare(statement);
    const int count = parameters.count();
    const char* const* const values = parameters.values.data();
    const int *const lengths = parameters.lengths.data(), *const formats = parameters.formats.data();
    PGresult* const got =
        settings.prepare ? PQexecPrepared(raw, statement.name, count, values, lengths, formats, 1)
                         : PQexecParams(raw, text_of(statement).c_str(), count, nullptr, values, lengths, formats, 1);
    result.reset(got, PQclear);
    if (PQresultStatus(got) == PGRES_TUPLES_OK) return;
    const char* const state = PQresultErrorField(got, PG_DIAG_SQLSTATE);
    if (state == nullptr || PQstatus(raw) != CONNECTION_OK) throw pqxx::broken_connection{PQerrorMessage(raw)};
    throw pqxx::sql_error{PQresultErrorMessage(got), statement.name, state};
  });
  return result;
}

}  // namespace inboxd::inbox
