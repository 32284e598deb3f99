// `dead edit`: another payload or other headers for a handler.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include "event/headers.hpp"
#include "integration/operations/lanes_fixture.hpp"
#include "integration/transaction/handler_transaction_fixture.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;

namespace {

constexpr const char* original = "{\"order\": 7}";

/// Two handlers that dead-lettered the events of a shard.
struct TwoHandlers {
  explicit TwoHandlers(int events = 1) {
    Batch batch{inbox};
    batch.at(inbox.add_shard("orders"), 0).events(events, original, "OrderPlaced");
    batch.deliver_to(receipt).deliver_to(audit).store(inbox.connection());
    for (const auto handler : {receipt, audit}) fail(handler);
  }

  /// Claims all that is due for a handler and dead-letters it. Returns the payloads that it got.
  std::vector<std::string> fail(std::int32_t handler) {
    std::vector<std::string> out;
    for (const auto& run : claim_due(inbox.connection(), handler, inbox.owner).runs) {
      inbox::Settlement settlement;
      settlement.key = run.key;
      settlement.whole = true;
      for (const auto* event : run.events) {
        out.emplace_back(event->payload.value_or("null"));
        settlement.failures.push_back({event->event_id, 1, "validation", "no amount", milliseconds{1}});
        settlement.dead.push_back({event->offset, event->event_id});
      }
      REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
    }
    return out;
  }

  Inbox inbox;
  std::int32_t receipt = inbox.add_handler("receipt");
  std::int32_t audit = inbox.add_handler("audit");
  OperationRunner runner{inbox};
};

std::string headers_of(const event::Event& event) {
  std::string out;
  for (const auto& header : event::unpack_headers(event.headers.value_or(""))) {
    out += std::string{header.name} + "=" + std::string{header.value.value_or("null")} + " ";
  }
  return out;
}

}  // namespace

TEST_CASE("an edited dead letter is due for its handler with the new payload; others get the original") {
  TwoHandlers two;
  const auto answer = two.runner.run("dead edit", {{"id", {"1"}}, {"payload", {"{\"order\": 8}"}}});
  CHECK(answer.code == ExitCode::done);
  CHECK(answer.document.at("handler") == "receipt");
  CHECK(answer.document.at("replayed") == 1);
  CHECK(two.runner.run("dead replay", {{"handler", {"audit"}}}).document.at("replayed") == 1);
  CHECK(two.fail(two.receipt) == std::vector<std::string>{"{\"order\": 8}"});
  CHECK(two.fail(two.audit) == std::vector<std::string>{original});
}

TEST_CASE("the original stays: dead show and events show have it next to the edit") {
  TwoHandlers two;
  two.runner.run("dead edit", {{"id", {"1"}}, {"payload", {"{\"order\": 8}"}}});
  const std::string id = two.inbox.database().text("select event_id::text from inbox.event");
  const auto shown = two.runner.run("events show", {{"id", {id}}}).document;
  CHECK(shown.at("event").at("payload") == original);
  REQUIRE(shown.at("edits").size() == 1);
  CHECK(shown.at("edits")[0].at("handler") == "receipt");
  CHECK(shown.at("edits")[0].at("edited_by") == "ann@host");
  CHECK(shown.at("edits")[0].at("payload") == "{\"order\": 8}");

  two.fail(two.receipt);
  const auto letters = two.runner.run("dead show", {{"id", {id}}}).document;
  for (const auto& letter : letters.at("dead_letters")) {
    CHECK(letter.at("event").at("payload") == original);
    const bool is_edited = letter.at("handler") == "receipt";
    CHECK(letter.at("edit").is_null() != is_edited);
    if (is_edited) CHECK(letter.at("edit").at("payload") == "{\"order\": 8}");
  }
}

TEST_CASE("a replay keeps an edit, and a second edit changes the first") {
  TwoHandlers two;
  two.runner.run("dead edit", {{"id", {"1"}}, {"header", {"tenant=a", "trace=1"}}});
  auto runs = claim_due(two.inbox.connection(), two.receipt, two.inbox.owner).runs;
  CHECK(runs.at(0).events[0]->payload == original);
  CHECK(headers_of(*runs[0].events[0]) == "tenant=a trace=1 ");
  inbox::release_leases(two.inbox.connection(), two.inbox.owner, {runs[0].key});
  two.fail(two.receipt);
  two.runner.run("dead replay", {{"handler", {"receipt"}}});
  two.fail(two.receipt);
  two.runner.run("dead edit",
                 {{"id", {"orders/0/0"}}, {"handler", {"receipt"}}, {"header", {"tenant=b"}}, {"payload", {"{}"}}});
  runs = claim_due(two.inbox.connection(), two.receipt, two.inbox.owner).runs;
  CHECK(runs.at(0).events[0]->payload == "{}");
  CHECK(headers_of(*runs[0].events[0]) == "trace=1 tenant=b ");
}

TEST_CASE("an edited event that was purged is restored as it was, and its handler gets the edit") {
  TwoHandlers two;
  two.inbox.database().run("delete from inbox.event");
  two.runner.run("dead edit", {{"id", {"1"}}, {"payload", {"{\"order\": 8}"}}});
  CHECK(two.inbox.database().text("select convert_from(payload, 'UTF8') from inbox.event") == original);
  CHECK(two.fail(two.receipt) == std::vector<std::string>{"{\"order\": 8}"});
}

TEST_CASE("relation events has the edit among unedited events, read in place or sent") {
  HandlerTransactionFixture fixture{5};
  auto& inbox = fixture.inbox;
  inbox::release_leases(inbox.connection(), inbox.owner, {fixture.run->key});
  inbox.database().run(
      "insert into inbox.edit (handler_id, shard_id, \"offset\", event_id, payload, headers, received_at, edited_by) "
      "select $1::int, shard_id, \"offset\", event_id, '{\"order\": 8}', null, received_at, 'ann' from inbox.event "
      "where \"offset\" in (1, 2)",
      {std::to_string(fixture.handler)});
  fixture.claim();
  fixture.has_content = GENERATE(true, false);
  CAPTURE(fixture.has_content);
  fixture.begin(0, 5);
  CHECK(!fixture.with_events("insert into note select event_id, body->>'order', \"offset\" from events")->error);
  fixture.transaction->end_call();
  REQUIRE(fixture.transaction->commit({all_done(*fixture.run)}).kind == transaction::CommitEnd::Kind::committed);
  CHECK(inbox.database().text("select string_agg(text, ' ' order by number) from " + fixture.app + ".note") ==
        "7 8 8 7 7");
}

TEST_CASE("the edited head of a parked key runs first, then the events that it parked") {
  Inbox inbox;
  LanesFixture lanes{inbox};
  lanes.store("abaa");
  lanes.run('a', LanesFixture::End::parks);
  lanes.store("a");
  const auto answer = OperationRunner{inbox}.run("dead edit", {{"id", {lanes.event_id(0)}}, {"payload", {"mended"}}});
  CHECK(answer.document.at("parked") == 2);
  CHECK(answer.document.at("replayed") == 3);
  CHECK(lanes.drain() == "0 2 3 4");
}

TEST_CASE("the audit names an edit without its payload") {
  TwoHandlers two;
  two.runner.run("dead edit", {{"id", {"1"}}, {"payload", {"a secret"}}});
  CHECK(two.inbox.database().text(
            "select actor || ' ' || operation || ' ' || target from inbox.audit where operation like 'dead %'") ==
        "ann@host dead edit 1 --payload (8 bytes)");
  CHECK(two.inbox.database().number("select count(*) from inbox.audit where detail -> 'event_ids' ? "
                                    "(select event_id::text from inbox.event)") == 1);
}

TEST_CASE("a dry run of an edit changes nothing, and the change is bound to the confirmed dead letter") {
  TwoHandlers two;
  const std::map<std::string, std::vector<std::string>> given{
      {"id", {"orders/0/0"}}, {"handler", {"receipt"}}, {"payload", {"{}"}}};
  auto dry = given;
  dry["dry-run"] = {"true"};
  const auto plan = two.runner.run("dead edit", dry);
  CHECK(plan.document.at("payload_size_before") == 12);
  CHECK(plan.document.at("payload_size") == 2);
  CHECK(two.inbox.database().number("select count(*) from inbox.edit") == 0);
  two.runner.run("dead replay", {{"handler", {"receipt"}}});
  two.fail(two.receipt);
  two.runner.context.agreed = plan.plan;
  CHECK(two.runner.run("dead edit", given).code == ExitCode::no);
  CHECK(two.inbox.database().number("select count(*) from inbox.edit") == 0);
}

TEST_CASE("an edit is refused, with the remedy, if it is ambiguous, empty or cannot be replayed") {
  TwoHandlers two;
  const auto message = [&](const std::map<std::string, std::vector<std::string>>& given) {
    const auto answer = two.runner.run("dead edit", given);
    CHECK(answer.code != ExitCode::done);
    return answer.message;
  };
  CHECK(message({{"id", {"orders/0/0"}}, {"payload", {"{}"}}}) ==
        "dead edit: the event is a dead letter of 2 handlers; pass --handler or a number from `dead list`");
  CHECK(message({{"id", {"1"}}}) == "dead edit: pass --payload, --header or both");
  CHECK(message({{"id", {"1"}}, {"header", {"tenant"}}}) == "dead edit: --header \"tenant\": pass NAME=VALUE");
  CHECK(message({{"id", {"99"}}, {"payload", {"{}"}}}).starts_with("dead edit: no dead letter \"99\""));
  two.inbox.database().run("update inbox.handler set retired_at = now()");
  CHECK(message({{"id", {"1"}}, {"payload", {"{}"}}}).starts_with("dead edit: nothing was changed"));
  CHECK(two.inbox.database().number("select count(*) from inbox.edit") == 0);
}

TEST_CASE("an edit is deleted with its dead letter, or once event and dead letter are gone") {
  TwoHandlers two;
  const auto edits = [&] { return two.inbox.database().number("select count(*) from inbox.edit"); };
  for (const char* const id : {"1", "2"}) two.runner.run("dead edit", {{"id", {id}}, {"payload", {"{}"}}});
  two.fail(two.receipt);
  CHECK(edits() == 2);
  two.runner.run("dead discard", {{"handler", {"receipt"}}});
  CHECK(edits() == 1);
  two.inbox.database().run("update inbox.edit set received_at = received_at - interval '2 days'");
  inbox::trim_old_rows(two.inbox.connection(), {}, {}, 100);
  CHECK(edits() == 1);
  two.inbox.database().run("delete from inbox.event");
  CHECK(inbox::trim_old_rows(two.inbox.connection(), {}, {}, 100) == 1);
  CHECK(edits() == 0);
}
