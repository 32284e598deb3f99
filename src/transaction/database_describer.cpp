// Checks of handlers' statements: the server parses and plans them, and runs nothing.
#include <utility>

#include "inbox/answer.hpp"
#include "transaction/call_events.hpp"
#include "transaction/database_transaction.hpp"

namespace inboxd::transaction {
namespace {

using Effect = inbox::Connection::Access::Effect;

class DatabaseDescriber final : public SqlDescriber {
 public:
  DatabaseDescriber(const config::Database& settings, inbox::Watchdog& watchdog, base::Logger& log,
                    std::string before)
      : limit_{settings.deadline},
        before_{std::move(before)},
        transaction_{settings, base::Uuid{}, "check", watchdog, log} {}

  std::unique_ptr<SqlResult> describe(const SqlStatement& statement) override {
    if (is_away_) return nullptr;
    std::unique_ptr<SqlResult> result;
    const auto failure =
        inbox::database_failure_of([&] { result = transaction_.describe(statement, before_, limit_); });
    is_away_ = failure.has_value();  // asked once: each further question would wait for its own deadline
    return result;
  }

 private:
  std::chrono::milliseconds limit_;
  std::string before_;
  bool is_away_ = false;
  DatabaseTransaction transaction_;
};

}  // namespace

std::unique_ptr<SqlResult> DatabaseTransaction::describe(const SqlStatement& statement, const std::string& before,
                                                         std::chrono::milliseconds limit) {
  begin_call({{}, Clock::now() + limit, true});
  auto result = std::make_unique<SqlResult>();
  if (auto why = refused_because(statement.text)) {
    result->error = error_with("0A000", "refused: a handler that " + *why);
    return result;
  }
  const EventSource source = statement.with_events ? EventSource::in_place : EventSource::none;
  result->error = run_first(before);
  if (!result->error) result->error = prepare(statement, source);
  if (!result->error) {
    const PreparedSql& prepared = *cache_.find(key_of(statement, source));
    result->columns = prepared.shape.columns;
    result->error = explain(statement, prepared);
  }
  roll_back();
  return result;
}

/// Under the daemon's role.
std::optional<SqlError> DatabaseTransaction::run_first(const std::string& before) {
  if (before.empty()) return std::nullopt;
  const Sent sent = send(Effect::reads, settings_.deadline, true, [&](inbox::Pipeline& pipeline) {
    add_role(pipeline, "");
    pipeline.run(before);
    add_role(pipeline, settings_.handler_role);
  });
  const PGresult* const bad = first_failure(sent.results);
  return bad == nullptr ? std::nullopt : std::optional{error_elsewhere(bad)};
}

/// The server checks rights when it opens a plan: EXPLAIN does so without running it.
std::optional<SqlError> DatabaseTransaction::explain(const SqlStatement& statement, const PreparedSql& prepared) {
  if (!with_expression(statement.text, "")) return std::nullopt;  // statements without a plan: DO, CALL, SET LOCAL
  std::string nulls;
  const std::size_t count =
      prepared.types.size() + (statement.with_events ? event_parameters(EventSource::in_place) : 0);
  for (std::size_t i = 0; i < count; ++i) nulls += i == 0 ? "(null" : ", null";
  if (count > 0) nulls += ")";
  const Sent sent = send(Effect::reads, settings_.deadline, true, [&](inbox::Pipeline& pipeline) {
    pipeline.run("explain execute \"" + prepared.name + "\"" + nulls);
  });
  const PGresult* const bad = first_failure(sent.results);
  return bad == nullptr ? std::nullopt : std::optional{error_elsewhere(bad)};
}

std::unique_ptr<SqlDescriber> database_describer(const config::Database& database, inbox::Watchdog& watchdog,
                                                 base::Logger& log, std::string before) {
  return std::make_unique<DatabaseDescriber>(database, watchdog, log, std::move(before));
}

}  // namespace inboxd::transaction
