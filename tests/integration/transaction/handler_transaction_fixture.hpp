#pragma once
#include <catch2/catch_message.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "integration/support/inbox.hpp"

namespace inboxd::support {

/// A statement for calls whose writes do not matter.
inline constexpr const char* insert_all = "insert into note (id, text) select event_id, body->>'order' from events";

/// A claimed run, a worker's transactions, and an application's table `note (id uuid, text text, number bigint)` in
/// schema `app`.
class HandlerTransactionFixture final {
 public:
  using Values = std::vector<transaction::SqlValue>;
  using Result = std::unique_ptr<transaction::SqlResult>;

  explicit HandlerTransactionFixture(
      int events = 10, const std::string& payload = "{\"order\": 7}",
      const std::function<void(config::Database&)>& change = [](config::Database&) {})
      : app{inbox.database().schema() + "_app"}, settings{inbox.settings()}, handler{inbox.add_handler("receipt")} {
    inbox.database().run("create schema " + app);
    inbox.database().run("create table " + app + ".note (id uuid, text text, number bigint)");
    settings.handler_search_path = app;
    change(settings);
    Batch batch{inbox};
    batch.at(inbox.add_shard("orders"), 0).events(events, payload, "OrderPlaced").deliver_to(handler);
    batch.store(inbox.connection());
    claim();
    transaction = inbox.transaction(settings);
  }
  ~HandlerTransactionFixture() {
    transaction.reset();
    inbox.database().run("drop schema " + app + " cascade");
  }
  HandlerTransactionFixture(const HandlerTransactionFixture&) = delete;
  HandlerTransactionFixture& operator=(const HandlerTransactionFixture&) = delete;

  void claim() {
    auto claimed = claim_due(inbox.connection(), handler, inbox.owner);
    run = std::make_unique<inbox::LeasedRun>(std::move(claimed.runs.at(0)));
  }

  /// Begins a call with events [first, end) of the run.
  void begin(std::size_t first, std::size_t end, bool alone = true,
             std::chrono::milliseconds time = milliseconds{10'000}) {
    transaction::CallFrame frame;
    for (std::size_t i = first; i < end; ++i) {
      frame.events.push_back(
          {run->events[i], run->place->topic, run->place->partition, run->attempts + 1, has_content, run->key});
    }
    frame.deadline = std::chrono::steady_clock::now() + time;
    frame.alone = alone;
    frame.lock_wait = lock_wait;
    transaction->begin_call(std::move(frame));
  }
  milliseconds lock_wait{0};
  bool has_content = true;  ///< false: payloads and headers are left in the database

  Result execute(const std::string& sql, const Values& values = {}) {
    return transaction->execute({sql, values, false, 0, 0});
  }
  Result with_events(const std::string& sql, std::size_t first = 0, std::size_t count = 1'000'000,
                     const Values& values = {}) {
    return transaction->execute({sql, values, true, first, count});
  }
  /// Runs this body at COMMIT for each row inserted into note.
  void defer(const std::string& body, const std::string& when = "true") {
    inbox.database().run("create function " + app + ".deferred() returns trigger language plpgsql as $$ begin " + body +
                         " return null; end $$");
    inbox.database().run("create constraint trigger deferred after insert on " + app +
                         ".note deferrable initially deferred for each row when (" + when + ") execute function " +
                         app + ".deferred()");
  }
  /// Makes inserts into table outcome fail with that SQLSTATE, until trigger `no` is dropped.
  void refuse_outcomes(const std::string& sqlstate) {
    inbox.database().run("create function " + app +
                         ".no() returns trigger language plpgsql as $$ begin raise 'no' using errcode = '" + sqlstate +
                         "'; end $$");
    inbox.database().run("create trigger no before insert on inbox.outcome for each row execute function " + app +
                         ".no()");
  }
  /// The settlement of events [first, end) as done.
  inbox::Settlement done(std::size_t first, std::size_t end) const {
    inbox::Settlement out;
    out.key = run->key;
    for (std::size_t i = first; i < end; ++i) out.done.add(run->events[i]->offset);
    out.whole = first == 0 && end == run->events.size();
    return out;
  }
  transaction::CommitEnd commit(const inbox::Settlement& settlement) {
    auto end = transaction->commit({settlement});
    if (end.error) UNSCOPED_INFO(end.error->sqlstate + " " + end.error->message);
    return end;
  }
  transaction::CommitEnd commit_all() { return commit(done(0, run->events.size())); }

  std::int64_t notes(const std::string& where = "true") {
    return inbox.database().number("select count(*) from " + app + ".note where " + where);
  }
  std::int64_t done_events() {
    return inbox.database().number("select count(*) from inbox.deliveries where state = 'done'");
  }

  Inbox inbox;
  const std::string app;
  config::Database settings;
  const std::int32_t handler;
  std::unique_ptr<inbox::LeasedRun> run;
  std::unique_ptr<transaction::HandlerTransaction> transaction;
};

inline transaction::SqlValue text_value(std::string_view text) { return {transaction::SqlType::text, 0, 0, text}; }
inline transaction::SqlValue number_value(std::int64_t number) { return {transaction::SqlType::int64, number, 0, {}}; }

}  // namespace inboxd::support
