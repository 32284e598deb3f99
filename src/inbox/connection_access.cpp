// Statements on a connection slot, and what their errors mean for the session.
#include "inbox/connection_access.hpp"

#include <algorithm>
#include <cctype>

namespace inboxd::inbox {
namespace {

bool is_name_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

/// The SQLSTATE of a notice in verbose form: `WARNING:  01000: …`. The first word depends on the server's language.
std::string_view sqlstate_of_notice(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return {};
  const auto begin = text.find_first_not_of(' ', colon + 1);
  if (begin == std::string_view::npos || text.size() < begin + 6 || text[begin + 5] != ':') return {};
  return text.substr(begin, 5);
}

/// libpqxx leaves the SQLSTATE of insufficient_privilege empty.
std::string sqlstate_of(const pqxx::sql_error& error) {
  const bool is_left_out =
      error.sqlstate().empty() && dynamic_cast<const pqxx::insufficient_privilege*>(&error) != nullptr;
  return is_left_out ? "42501" : error.sqlstate();
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

// ---- errors

void Connection::Access::rethrow_as_database_error(Effect effect) {
  try {
    throw;
  } catch (const pqxx::in_doubt_error& error) {
    lost(Effect::writes, error.what());
  } catch (const pqxx::broken_connection& error) {
    lost(effect, error.what());
  } catch (const pqxx::sql_error& error) {
    const std::string state = sqlstate_of(error);
    const Fault fault = fault_of(state);
    const bool is_usable = PQstatus(raw) == CONNECTION_OK;
    if (!is_usable && effect == Effect::writes && fault == Fault::reconnect) lost(effect, error.what());
    if (!is_usable || fault == Fault::reconnect || fault == Fault::stop) close();
    throw DatabaseError{{fault, state, error.what()}};
  } catch (const pqxx::failure& error) {
    if (raw != nullptr && PQstatus(raw) != CONNECTION_OK) lost(effect, error.what());
    throw;
  } catch (const DatabaseError&) {
    throw;
  } catch (const std::exception& error) {
    // Out of memory, or a bug: the state of the session is unknown.
    lost(effect, std::string{not_a_database_error} + error.what());
  }
}

/// A handler's function may raise warnings of its own. A failed transaction is not in doubt.
void Connection::Access::check_commit_warning(Effect effect) const {
  if (commit_warned_ && effect == Effect::writes && PQtransactionStatus(raw) != PQTRANS_INERROR) {
    throw DatabaseError{{Fault::in_doubt, "01000", "the server did not wait for its synchronous standby"}};
  }
}

void Connection::Access::lost(Effect effect, const std::string& message) {
  const bool is_in_doubt = effect == Effect::writes;
  if (is_in_doubt) previous_ = PreviousSession{backend_};
  close();
  throw DatabaseError{{is_in_doubt ? Fault::in_doubt : Fault::reconnect, "", message, was_cut_off_}};
}

void Connection::Access::read_notice(std::string_view text) {
  const auto state = sqlstate_of_notice(text);
  if (state == "01000" || state == "57P01") commit_warned_ = true;
  log.debug("inbox.notice", {{"sqlstate", state}, {"purpose", purpose}});
}

// ---- statements

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

void Connection::Access::pin_search_path(pqxx::transaction_base& tx) {
  if (!has_pinned_path_) tx.exec("set local search_path = pg_catalog, pg_temp").no_rows();
}

pqxx::result Connection::Access::run(const Statement& statement, const pqxx::params& parameters, Effect effect) {
  open();
  if (has_pinned_path_) return call(statement, parameters, effect);
  pqxx::result result;
  const auto work = [&](pqxx::work& tx) {
    result = run_in(tx, statement, parameters);
    return effect == Effect::writes;
  };
  transaction(work, effect);
  return result;
}

pqxx::result Connection::Access::call(const Statement& statement, const pqxx::params& parameters, Effect effect) {
  pqxx::result result;
  guarded(effect, time_left(), [&] {
    pqxx::nontransaction tx{*session};
    result = run_in(tx, statement, parameters);
  });
  return result;
}

std::shared_ptr<PGresult> Connection::Access::fetch(const Statement& statement, const WireParameters& parameters) {
  std::shared_ptr<PGresult> result;
  const auto query = [&] {
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
  };
  const auto in_transaction = [&](pqxx::work&) {
    query();
    return false;
  };
  open();
  if (has_pinned_path_) {
    guarded(Effect::reads, time_left(), query);
  } else {
    transaction(in_transaction, Effect::reads);
  }
  return result;
}

}  // namespace inboxd::inbox
