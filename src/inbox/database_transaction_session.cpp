// What a handler left in its session, which is the daemon's: looked for before COMMIT, while its event can still be
// made to fail for it, and put right after COMMIT.
#include <algorithm>

#include "inbox/database_transaction.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using Effect = Connection::Access::Effect;

/// The session is looked at after each statement for its first runs, then every so often.
constexpr int looks_at_a_statement = 3;
constexpr std::chrono::seconds look_every{1};

}  // namespace

bool DatabaseTransaction::session_is_due() {
  if (run_.empty()) return false;
  if (Clock::now() - last_look_ >= look_every) return true;
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
    if (PQgetisnull(held, 0, 0) == 0) misdeed_ = PQgetvalue(held, 0, 0);
  } catch (...) {
    lost(inbox::describe(std::current_exception()));
  }
}

/// After COMMIT: what outlived the transaction is undone already, and told.
void DatabaseTransaction::judge_session(const PGresult* result) {
  last_look_ = Clock::now();
  if (!is_good(result)) {
    connection_.close();
    return;
  }
  if (PQgetisnull(result, 0, 0) != 0) return note_clean();
  log_.warn("dispatcher: the handler changed its session, which is the daemon's; it was put right",
            {{"worker", purpose_}, {"what", PQgetvalue(result, 0, 0)}});
}

void DatabaseTransaction::note_clean() {
  for (const auto& key : run_) {
    if (PreparedSql* const found = cache_.find(key)) ++found->clean;
  }
}

}  // namespace inboxd::inbox
