// The whole SQL veneer, compiled but not run.
#include <inboxd/handler.hpp>

namespace {

struct Everything : inboxd::Handler {
  explicit Everything(const inboxd::Settings&) {}

  inboxd::Outcome handle(inboxd::Call& call, const inboxd::Event& event) override {
    inboxd::Sql sql = call.sql();
    const auto rows =
        sql.execute("insert into t values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)", event.uuid(), event.key(),
                    event.occurred_at(), nullptr, true, 1, 2.5, "text", inboxd::Json{"{}"}, inboxd::Bytea{"raw"});
    for (auto [id, total] : call.sql().query<std::int64_t, std::string>("select 1, $1", event.id())) {
      if (id > 0 && total.empty()) return inboxd::dead("empty");
    }
    for (auto [when, maybe, small, number, uuid, view, flag] :
         sql.query<inboxd::Time, std::optional<double>, std::int16_t, float, inboxd::Uuid, std::string_view, bool>(
             "select")) {
      if (when > inboxd::Time{} && maybe && small > 0 && number > 0 && uuid == event.uuid() && !view.empty() && flag)
        break;
    }
    inboxd::Savepoint before = sql.savepoint();
    try {
      sql.execute_with_events("insert into t select event_id from events where $1", true);
      sql.execute_with_events(inboxd::EventRange{0, 1}, "insert into t select event_id from events");
      if (sql.query_with_events<std::string>({}, "select key from events").empty()) before.keep();
    } catch (const inboxd::SqlError& error) {
      if (error.will_repeat() || error.sqlstate() == "23505" || !sql.is_ready()) before.roll_back();
    }
    call.outbox().publish("receipts", event.key(), std::nullopt, {{"a", "b"}, {"none", std::nullopt}});
    return rows == 1 ? inboxd::done() : inboxd::retry("no");
  }
};

}  // namespace

INBOXD_HANDLER(Everything, "everything", "1.0", INBOXD_SQL, INBOXD_SQL_WITHOUT_PAYLOADS, INBOXD_OUTBOX)
