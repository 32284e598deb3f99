// What a handler left in its session, which is the daemon's: looked for before COMMIT, while its event can still be
// made to fail for it, and put right after COMMIT.
#include <algorithm>
#include <string_view>

#include "inbox/database_transaction.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Effect = Connection::Access::Effect;

/// Settings that a pooler may have made: not the handler's doing.
constexpr std::string_view poolers_settings =
    "{application_name,client_encoding,DateStyle,TimeZone,IntervalStyle,standard_conforming_strings}";

/// The session is looked at after each statement for its first runs, then every so often; and for many transactions
/// after something was found, which is told every so often.
constexpr int looks_at_a_statement = 3;
constexpr int looks_after_a_finding = 1000;
constexpr std::chrono::seconds look_every{1};

}  // namespace

bool DatabaseTransaction::session_is_due() {
  if (run_.empty()) return false;
  if (suspicious_ > 0 || Clock::now() - last_look_ >= look_every) return true;
  return std::any_of(run_.begin(), run_.end(), [&](const PreparedSqlCache::Key& key) {
    const PreparedSql* const found = cache_.find(key);
    return found != nullptr && found->clean < looks_at_a_statement;
  });
}

/// Before COMMIT, while the event can still be made to fail for it.
void DatabaseTransaction::look_at_session() {
  try {
    std::size_t answer = 0;
    const Sent sent = send(Effect::reads, settings_.deadline, false, [&](Pipeline& pipeline) {
      const bool switches = !settings_.handler_role.empty();
      if (switches) add_role(pipeline, "none");
      answer = add_daemons(pipeline, statements::tx_session_held, {});
      if (switches) add_role(pipeline, settings_.handler_role);
    });
    if (const PGresult* const bad = first_failure(sent.results)) {
      failed(error_elsewhere(bad));
      return;
    }
    const PGresult* const held = sent.results[answer].get();
    if (PQgetisnull(held, 0, 0) != 0) return;
    misdeed_ = PQgetvalue(held, 0, 0);
    suspicious_ = looks_after_a_finding;
  } catch (...) {
    lost(inbox::describe_any(std::current_exception()));
  }
}

/// After COMMIT: what outlived the transaction, and an end to it. The role is no row of pg_settings, and whoever it is
/// may have no right to ask.
DatabaseTransaction::Look DatabaseTransaction::add_look(Pipeline& pipeline) {
  Look look;
  look.role = pipeline.run("show role");
  pipeline.run("reset role");
  look.own_role = pipeline.run("show role");
  WireParameters parameters;
  parameters.add(poolers_settings.data(), poolers_settings.size(), 0);
  look.left = add_daemons(pipeline, statements::tx_session_left, parameters);
  return look;
}

/// What was found is undone already, and told.
void DatabaseTransaction::judge_session(const std::vector<Result>& results, const Look& look) {
  last_look_ = Clock::now();
  const PGresult* const left = results[look.left].get();
  if (!is_good(left)) {
    const SqlError error = error_elsewhere(left);
    log_.warn("dispatcher: a handler's session cannot be looked at, it is closed",
              {{"worker", purpose_}, {"sqlstate", error.sqlstate}, {"message", error.message}});
    connection_.close();
    return;
  }
  const std::string_view role = PQgetvalue(results[look.role].get(), 0, 0);
  const bool has_other_role = role != PQgetvalue(results[look.own_role].get(), 0, 0);
  if (PQgetisnull(left, 0, 0) != 0 && !has_other_role) return note_clean();
  suspicious_ = looks_after_a_finding;
  if (last_look_ - last_told_ < look_every) return;
  last_told_ = last_look_;
  std::string what = PQgetvalue(left, 0, 0);
  if (has_other_role) what = "changed the role to " + std::string{role} + (what.empty() ? "" : ", ") + what;
  log_.warn("dispatcher: the handler changed its session, which is the daemon's; it was put right",
            {{"worker", purpose_}, {"what", what}});
}

void DatabaseTransaction::note_clean() {
  if (suspicious_ > 0) --suspicious_;
  for (const auto& key : run_) {
    if (PreparedSql* const found = cache_.find(key)) ++found->clean;
  }
}

}  // namespace inboxd::inbox
