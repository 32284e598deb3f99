// Checks of the session, which handlers may change. The check before COMMIT can still fail the event; the check after
// COMMIT only resets the session and warns.
#include <algorithm>
#include <string_view>

#include "inbox/answer.hpp"
#include "statements.hpp"
#include "transaction/database_transaction.hpp"

namespace inboxd::transaction {
namespace {

using Effect = inbox::Connection::Access::Effect;

/// Settings that a pooler may change: not the handler.
constexpr std::string_view pooler_settings =
    "{application_name,client_encoding,DateStyle,TimeZone,IntervalStyle,standard_conforming_strings}";

/// The session is checked after the first runs of each statement, then once per interval. After a finding it is checked
/// for many transactions; the warnings are limited to 1 per interval.
constexpr int checks_for_a_statement = 3;
constexpr int checks_after_a_finding = 1000;
constexpr std::chrono::seconds check_interval{1};

}  // namespace

bool DatabaseTransaction::is_session_check_due() {
  if (statements_run_.empty()) return false;
  if (checks_left_ > 0 || Clock::now() - last_check_ >= check_interval) return true;
  return std::any_of(statements_run_.begin(), statements_run_.end(), [&](const PreparedSqlCache::Key& key) {
    const PreparedSql* const found = cache_.find(key);
    return found != nullptr && found->clean_checks < checks_for_a_statement;
  });
}

/// Before COMMIT: a finding still fails the event.
void DatabaseTransaction::check_session() {
  const auto failure = inbox::failure_of([&] {
    std::size_t answer = 0;
    const Sent sent = send(Effect::reads, settings_.deadline, false, [&](inbox::Pipeline& pipeline) {
      const bool switches = !settings_.handler_role.empty();
      if (switches) add_role(pipeline, "");
      answer = add_own(pipeline, inbox::statements::tx_check_session, {});
      if (switches) add_role(pipeline, settings_.handler_role);
    });
    if (const PGresult* const bad = first_failure(sent.results)) {
      failed(error_elsewhere(bad));
      return;
    }
    const PGresult* const held = sent.results[answer].get();
    if (PQgetisnull(held, 0, 0) != 0) return;
    facts_.end.violation = PQgetvalue(held, 0, 0);
    checks_left_ = checks_after_a_finding;
  });
  if (failure) lost(*failure);
}

/// After COMMIT: finds the settings that outlived the transaction, and resets them. pg_settings does not list the role,
/// and a handler's role may lack the right to query it, so the role is reset first.
DatabaseTransaction::SessionReset DatabaseTransaction::add_session_reset(inbox::Pipeline& pipeline) {
  SessionReset reset;
  reset.role = pipeline.run("show role");
  pipeline.run("reset role");
  reset.own_role = pipeline.run("show role");
  inbox::WireParameters parameters;
  parameters.add(pooler_settings.data(), pooler_settings.size(), 0);
  reset.left = add_own(pipeline, inbox::statements::tx_reset_session, parameters);
  return reset;
}

/// Logs a finding of the reset. Closes the session if the reset failed.
void DatabaseTransaction::read_session_reset(const std::vector<Result>& results, const SessionReset& reset) {
  last_check_ = Clock::now();
  const PGresult* const left = results[reset.left].get();
  if (!inbox::is_good(left)) {
    const SqlError error = error_elsewhere(left);
    log_.warn("transaction.session_unreadable",
              {{"worker", purpose_}, {"sqlstate", error.sqlstate}, {"error", error.message}});
    connection_.close();
    return;
  }
  const std::string_view role = PQgetvalue(results[reset.role].get(), 0, 0);
  const bool has_other_role = role != PQgetvalue(results[reset.own_role].get(), 0, 0);
  if (PQgetisnull(left, 0, 0) != 0 && !has_other_role) return note_clean();
  checks_left_ = checks_after_a_finding;
  if (last_check_ - last_warned_ < check_interval) return;
  last_warned_ = last_check_;
  std::string what = PQgetvalue(left, 0, 0);
  if (has_other_role) what = "changed the role to " + std::string{role} + (what.empty() ? "" : ", ") + what;
  log_.warn("transaction.session_changed", {{"worker", purpose_}, {"change", what}});
}

void DatabaseTransaction::note_clean() {
  if (checks_left_ > 0) --checks_left_;
  for (const auto& key : statements_run_) {
    if (PreparedSql* const found = cache_.find(key)) ++found->clean_checks;
  }
}

}  // namespace inboxd::transaction
