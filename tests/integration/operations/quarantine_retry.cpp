// Quarantined records are read again with the current rules and become events.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <thread>

#include "envelope/decode.hpp"
#include "inbox/unsubscribed.hpp"
#include "integration/operations/quarantined_records.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("after the rules are corrected, a retry makes each record an event once, in the order of offsets") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt", {"orders"});
  const auto shard = inbox.add_shard("orders");
  quarantine_records(inbox, shard, 0, {"one", "two", "three"});
  const auto rules = by_position();
  OperationRunner runner = runner_for(inbox, {rules});
  const auto answer = runner.run("quarantine retry", {{"topic", {"orders"}}});
  CHECK(answer.code == ExitCode::done);
  CHECK(answer.document.at("events") == 3);
  CHECK(answer.document.at("duplicates") == 0);
  CHECK(answer.document.at("still").empty());
  CHECK(quarantined(inbox) == 0);
  CHECK(inbox.position("orders") == 3);
  CHECK(inbox.database().number("select count(*) from inbox.ledger") == 3);
  CHECK(pending_runs(inbox) == "{[0,3)}");

  const auto runs = claim_due(inbox.connection(), handler, inbox.owner).runs;
  REQUIRE(events_in(runs) == 3);
  std::int64_t offset = 0;
  for (const auto* event : runs.at(0).events) {
    event::Record record;
    record.topic = "orders";
    record.offset = offset++;
    base::Arena arena;
    const auto as_ingested = std::get<event::Event>(envelope::decode(record, {rules, "prod", "incarnation"}, arena));
    CHECK(event->event_id == as_ingested.event_id);
    CHECK(event->offset == as_ingested.offset);
    CHECK(event->event_type == "orders");
  }
  CHECK(runs.at(0).events.at(1)->payload == "two");

  CHECK(runner.run("quarantine retry", all).code == ExitCode::no);
  CHECK(stored(inbox) == 3);
  CHECK(inbox.database().text("select actor || '|' || target || '|' || (detail ->> 'events') || '|' || "
                              "jsonb_array_length(detail -> 'event_ids') from inbox.audit "
                              "where operation = 'quarantine retry'") == "ann@host|--topic orders|3|3");
}

TEST_CASE("an id made of the position uses the log of the record, not the current log") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  quarantine_records(inbox, shard, 0, {"one"});
  inbox.database().run("update inbox.shard set truncations = 2, halted_reason = 'lost', halted_at = now()");
  runner_for(inbox, {by_position()}).run("quarantine retry", all);
  event::Record record;
  record.topic = "orders";
  base::Arena arena;
  const envelope::TopicRules rules{by_position(), "prod", "incarnation~2"};
  const auto expected = std::get<event::Event>(envelope::decode(record, rules, arena));
  CHECK(inbox.database().text("select event_id from inbox.event") == expected.event_id.text());
}

TEST_CASE("a record whose event is stored leaves quarantine as a duplicate; with other content it is a conflict") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt", {"orders"});
  const auto shard = inbox.add_shard("orders");
  OperationRunner runner = runner_for(inbox, {by_order()});
  const std::string order = R"({"id": "A-1"})", other = R"({"id": "A-1", "amount": 7})";
  quarantine_records(inbox, shard, 0, {order});
  REQUIRE(runner.run("quarantine retry", all).document.at("events") == 1);
  quarantine_records(inbox, shard, 1,
                     {order, other, R"({"id": "A-2"})", R"({"id": "A-2"})", R"({"id": "A-2", "amount": 8})"});
  const auto numbers = reasons(inbox);
  REQUIRE(numbers == "2 no_id, 3 no_id, 4 no_id, 5 no_id, 6 no_id");

  const auto foreseen = runner.run("quarantine retry", {{"all", {"true"}}, {"dry-run", {"true"}}}).document;
  const auto answer = runner.run("quarantine retry", all);
  for (const auto& document : {foreseen, answer.document}) {
    CHECK(document.at("events") == 1);
    CHECK(document.at("duplicates") == 2);
    CHECK(document.at("still") == operations::Document{{"conflict", 2}});
  }
  CHECK(reasons(inbox) == "3 conflict, 6 conflict");
  CHECK(inbox.database().number("select count(*) from inbox.quarantine q join inbox.event e using (event_id)") == 2);
  CHECK(events_in(claim_due(inbox.connection(), handler, inbox.owner).runs) == 2);

  SECTION("which stays a conflict however often it is retried") {
    CHECK(runner.run("quarantine retry", {{"reason", {"conflict"}}}).document.at("still").at("conflict") == 2);
    CHECK(reasons(inbox) == "3 conflict, 6 conflict");
  }
  SECTION("until the ledger has forgotten the id") {
    inbox.database().run("delete from inbox.ledger");
    CHECK(runner.run("quarantine retry", {{"reason", {"conflict"}}}).document.at("events") == 2);
    CHECK(quarantined(inbox) == 0);
  }
}

TEST_CASE("a record that still cannot be read keeps its number and gets the current reason") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  quarantine_records(inbox, shard, 0,
                     {"no JSON", R"({"id": ""})", R"({"id": "A-1"})", R"({"id": "too long for its topic"})"});
  auto rules = by_order();
  rules.payload_limit = 20;
  OperationRunner runner = runner_for(inbox, {rules});
  CHECK(runner.run("quarantine retry", all).document.at("events") == 1);
  CHECK(reasons(inbox) == "1 no_id, 2 bad_id, 4 too_large");
  CHECK(inbox.database().number("select count(*) from inbox.quarantine where detail = 'a test''s'") == 0);
  // A kept record can be retried whatever its reason.
  rules.payload_limit = 1000;
  CHECK(runner_for(inbox, {rules}).run("quarantine retry", {{"reason", {"too_large"}}}).document.at("events") == 1);
}

TEST_CASE("a record stored without its payload stays in quarantine, and the answer says so") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  quarantine_records(inbox, shard, 0, {"one"});
  Batch large{inbox};
  large.at(shard, 1).reject("too_large").get().rejected.back().payload.reset();
  large.store(inbox.connection());
  OperationRunner runner = runner_for(inbox, {by_position()});
  const auto answer = runner.run("quarantine retry", all);
  CHECK(answer.code == ExitCode::done);
  CHECK(answer.document.at("events") == 1);
  CHECK(answer.document.at("not_kept") == 1);
  CHECK_THAT(answer.message, ContainsSubstring("1 of the matching records were too large to keep"));
  CHECK(reasons(inbox) == "2 too_large");
  CHECK(runner.run("quarantine retry", {{"id", {"2"}}}).code == ExitCode::no);
}

TEST_CASE("a tombstone of a topic that skips tombstones leaves quarantine without an event") {
  Inbox inbox;
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).reject("no_id").get().rejected.back().payload.reset();
  batch.store(inbox.connection());
  auto rules = by_position();
  rules.tombstones = config::Tombstones::skip;
  const auto answer = runner_for(inbox, {rules}).run("quarantine retry", all);
  CHECK(answer.document.at("skipped") == 1);
  CHECK(quarantined(inbox) == 0);
  CHECK(stored(inbox) == 0);
}

TEST_CASE("records of an unconfigured topic are left alone, and the answer names the topic") {
  Inbox inbox;
  quarantine_records(inbox, inbox.add_shard("orders"), 0, {"one"});
  quarantine_records(inbox, inbox.add_shard("payments"), 0, {"two"});
  const auto answer = runner_for(inbox, {by_position()}).run("quarantine retry", all);
  CHECK(answer.document.at("events") == 1);
  CHECK(answer.document.at("still") == operations::Document{{"not_configured", 1}});
  CHECK_THAT(answer.message, ContainsSubstring("topic payments"));
  CHECK(reasons(inbox) == "2 no_id");
}

TEST_CASE("a record that the database refuses stays as poison; the others of its step become events") {
  Inbox inbox;
  quarantine_records(inbox, inbox.add_shard("orders"), 0, orders(20));
  inbox.database().run(
      "create function inbox.refuse() returns trigger language plpgsql as $$ begin if new.\"offset\" in (3, 17) then "
      "raise exception 'not this one' using errcode = '22P02'; end if; return new; end $$; "
      "create trigger refuse before insert on inbox.event for each row execute function inbox.refuse()");
  const auto answer = runner_for(inbox, {by_order()}).run("quarantine retry", all);
  CHECK(answer.document.at("events") == 18);
  CHECK(answer.document.at("still") == operations::Document{{"poison", 2}});
  CHECK(stored(inbox) == 18);
  CHECK(inbox.database().text("select string_agg(\"offset\" || ' ' || detail, ', ' order by \"offset\") from "
                              "inbox.quarantine where reason = 'poison'") ==
        "3 the database refused it: 22P02 not this one, 17 the database refused it: 22P02 not this one");
}

TEST_CASE("two simultaneous retries store each event once") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt", {"orders"});
  quarantine_records(inbox, inbox.add_shard("orders"), 0, orders(2000));
  operations::Document answers[2];
  {
    std::vector<std::jthread> people;
    for (auto& document : answers) {
      people.emplace_back([&inbox, &document] {
        const auto connection = inbox.connect();
        OperationRunner runner = runner_for(inbox, {by_order()});
        runner.context.connection = connection.get();
        document = runner.run("quarantine retry", {{"all", {"true"}}, {"rate", {"50"}}}).document;
      });
    }
  }
  CHECK(answers[0].value("events", 0) + answers[1].value("events", 0) == 2000);
  for (const auto& document : answers) CHECK(document.value("duplicates", 0) == 0);  // no record is counted twice
  CHECK(stored(inbox) == 2000);
  CHECK(quarantined(inbox) == 0);
  CHECK(events_in(claim_due(inbox.connection(), handler, inbox.owner).runs) == 2000);
}

TEST_CASE("a retry delivers events to the current subscribers") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  inbox.add_handler("retired", {"orders"});
  inbox.database().run("update inbox.handler set retired_at = now()");
  quarantine_records(inbox, shard, 0, orders(2));
  const auto since = inbox.add_handler("since", {"orders"});
  inbox.add_handler("elsewhere", {"payments"});
  inbox.add_handler("others", {}, {"Another"});
  CHECK(runner_for(inbox, {by_order()}).run("quarantine retry", all).document.at("events") == 2);
  CHECK(inbox.database().text("select string_agg(handler_id::text || pending::text, ' ') from inbox.delivery") ==
        std::to_string(since) + "{[0,2)}");
}

TEST_CASE("a retry names events without a subscriber, and status counts them afterwards") {
  Inbox inbox;
  inbox.add_handler("receipt", {"orders"}, {"OrderPlaced"});
  quarantine_records(inbox, inbox.add_shard("orders"), 0, orders(3));
  OperationRunner runner = runner_for(inbox, {by_order()});
  const auto dry = runner.run("quarantine retry", {{"all", {"true"}}, {"dry-run", {"true"}}});
  CHECK(dry.document.at("unsubscribed") == 3);
  CHECK(dry.message ==
        "quarantine retry: no handler subscribes to 3 of the events (topic orders, type orders): correct "
        "handlers[].subscribe and restart the daemon before the retry");
  CHECK(inbox::read_unsubscribed(inbox.connection(), 10).empty());

  const auto answer = runner.run("quarantine retry", all);
  CHECK(answer.document.at("unsubscribed") == 3);
  CHECK_THAT(answer.message, ContainsSubstring("to deliver them, add a handler of this type alone"));
  CHECK(inbox::read_unsubscribed(inbox.connection(), 10) ==
        std::vector<inbox::UnsubscribedEvents>{{"orders", "orders", 3}});
}

TEST_CASE("a retried event ahead of a handler's back-fill is delivered once, by the back-fill") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  quarantine_records(inbox, shard, 0, orders(4));
  const auto handler = inbox.add_handler("receipt", {"orders"}, {}, Inbox::beginning());
  OperationRunner runner = runner_for(inbox, {by_order()});
  SECTION("before the back-fill") {
    REQUIRE(runner.run("quarantine retry", all).document.at("events") == 4);
    CHECK(pending_runs(inbox).empty());
    backfill_all(inbox.connection());
  }
  SECTION("after it") {
    backfill_all(inbox.connection());
    REQUIRE(runner.run("quarantine retry", all).document.at("events") == 4);
  }
  SECTION("in its middle") {
    REQUIRE(runner.run("quarantine retry", {{"id", {"1"}}}).document.at("events") == 1);
    inbox.database().run("update inbox.backfill set next_offset = 2");
    inbox.database().run(
        "insert into inbox.delivery (handler_id, shard_id, pending, events, due_at, received_from, "
        "received_to) select handler_id, shard_id, '{[0,1)}', 1, now(), now() - interval '1 h', now() "
        "from inbox.backfill");
    REQUIRE(runner.run("quarantine retry", all).document.at("events") == 3);
    CHECK(pending_runs(inbox) == "{[0,1)} {[1,2)}");
    backfill_all(inbox.connection());
  }
  SECTION("while a step of it runs") {
    Session backfill{inbox.database().url(), inbox.database().schema()};
    backfill.run("begin");
    backfill.run("select inbox.backfill_bite(1000, 1000000)");  // has seen no event
    std::int64_t events = 0;
    {
      const std::jthread person{[&] {
        const auto connection = inbox.connect();
        OperationRunner another = runner_for(inbox, {by_order()});
        another.context.connection = connection.get();
        events = another.run("quarantine retry", all).document.at("events").get<std::int64_t>();
      }};
      inbox.database().wait_for("the retry waits for the back-fill",
                                "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like "
                                "'%' || '" +
                                    inbox.database().schema() + "' || '.retry_quarantined%'",
                                1);
      backfill.run("commit");
    }
    REQUIRE(events == 4);
  }
  CHECK(events_in(claim_due(inbox.connection(), handler, inbox.owner).runs) == 4);
  CHECK(inbox.pending_events() == 4);
}

TEST_CASE("a dry run of a retry shows its result and changes nothing") {
  Inbox inbox;
  inbox.add_handler("receipt", {"orders"});
  quarantine_records(inbox, inbox.add_shard("orders"), 0, {R"({"id": "A-1"})", "no JSON", R"({"id": "A-2"})"});
  const auto before = inbox.database().text(
      "select string_agg(q::text, ' ' order by q.quarantine_id) from "
      "inbox.quarantine q");
  const auto answer =
      runner_for(inbox, {by_order()}).run("quarantine retry", {{"topic", {"orders"}}, {"dry-run", {"true"}}});
  CHECK(answer.code == ExitCode::done);
  CHECK(answer.document.at("events") == 2);
  CHECK(answer.document.at("still") == operations::Document{{"no_id", 1}});
  CHECK(inbox.database().text("select string_agg(q::text, ' ' order by q.quarantine_id) from inbox.quarantine q") ==
        before);
  CHECK(stored(inbox) == 0);
  CHECK(inbox.database().number("select count(*) from inbox.ledger") == 0);
  CHECK(inbox.database().number("select count(*) from inbox.audit where operation like 'quarantine%'") == 0);
}

TEST_CASE("a retry at a rate works in steps of that size, and stops between two on request") {
  Inbox inbox;
  quarantine_records(inbox, inbox.add_shard("orders"), 0, orders(30));
  OperationRunner runner = runner_for(inbox, {by_order()});
  std::vector<milliseconds> pauses;
  runner.context.pause = [&](milliseconds most) {
    pauses.push_back(most);
    return pauses.size() == 2;
  };
  std::vector<std::int64_t> progress;
  runner.context.progress = [&](const operations::Progress& step) { progress.push_back(step.done); };
  const auto answer = runner.run("quarantine retry", {{"all", {"true"}}, {"rate", {"10"}}});
  CHECK(answer.code == ExitCode::try_again);
  CHECK(answer.document.at("events") == 20);
  CHECK(answer.document.at("interrupted") == true);
  CHECK_THAT(answer.message, ContainsSubstring("stopped after 20 of 30 records; repeat the command for the rest"));
  CHECK(pauses == std::vector<milliseconds>{milliseconds{1000}, milliseconds{1000}});
  CHECK(progress == std::vector<std::int64_t>{10, 20});
  CHECK(inbox.database().number("select max(\"offset\") from inbox.event") == 19);
  CHECK(quarantined(inbox) == 10);
}

TEST_CASE("a step ends at 8 MiB of records, so that a claim can read its run whole") {
  Inbox inbox;
  inbox.add_handler("receipt", {"orders"});
  std::vector<std::string> large(20, std::string(std::size_t{1} << 20, 'x'));
  quarantine_records(inbox, inbox.add_shard("orders"), 0, large);
  auto rules = by_position();
  rules.payload_limit = 2 << 20;
  CHECK(runner_for(inbox, {rules}).run("quarantine retry", all).document.at("events") == 20);
  CHECK(pending_runs(inbox) == "{[0,8)} {[8,16)} {[16,20)}");
}

TEST_CASE("no retried run spans more offsets than the views search") {
  Inbox inbox;
  inbox.add_handler("receipt", {"orders"});
  const auto shard = inbox.add_shard("orders");
  quarantine_records(inbox, shard, 0, {"one"});
  Batch gap{inbox};
  gap.at(shard, 1).skip(19'998);
  gap.store(inbox.connection());
  quarantine_records(inbox, shard, 19'999, {"two", "three"});
  CHECK(runner_for(inbox, {by_position()}).run("quarantine retry", all).document.at("events") == 3);
  CHECK(pending_runs(inbox) == "{[0,1)} {[19999,20000)} {[20000,20001)}");
  CHECK(inbox.database().number("select count(*) from inbox.deliveries where state = 'due'") == 3);
}
