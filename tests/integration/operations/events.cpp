#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "integration/operations/dead_letters.hpp"
#include "integration/operations/operation_runner.hpp"
#include "operations/event_queries.hpp"
#include "operations/find_event.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;
using Catch::Matchers::ContainsSubstring;

namespace {

using Given = std::map<std::string, std::vector<std::string>>;

/// Stores events of two topics, in turn, batch by batch.
void store(Inbox& inbox, int events) {
  for (const std::string topic : {"orders", "payments"}) {
    Batch batch{inbox};
    batch.at(inbox.add_shard(topic), 0).events(events, "{}", topic == "orders" ? "OrderPlaced" : "Paid");
    batch.store(inbox.connection());
  }
}

std::vector<std::string> places(const operations::Answer& answer) {
  std::vector<std::string> out;
  for (const auto& event : answer.document.at("events")) {
    out.push_back(event.at("topic").get<std::string>() + "/" + event.at("offset").dump());
  }
  return out;
}

std::string first_id(Inbox& inbox) {
  return inbox.database().text("select event_id from inbox.events order by received_at limit 1");
}

/// Moves all stored events back in time, as if received then.
void age(Inbox& inbox, int days) {
  const std::string back = std::to_string(days);
  inbox.database().run(
      "create table if not exists inbox.event_20200101 partition of inbox.event "
      "for values from ('2000-01-01') to ((current_date - 2)::timestamptz at time zone 'UTC')");
  inbox.database().run("update inbox.event set received_at = received_at - interval '" + back +
                       " days'; "
                       "update inbox.ledger set received_at = received_at - interval '" +
                       back + " days'");
}

}  // namespace

TEST_CASE("the list shows the newest events of all topics first, at most as many as requested") {
  Inbox inbox;
  store(inbox, 100);
  OperationRunner runner{inbox};
  CHECK(places(runner.run("events list", {{"limit", {"3"}}})) ==
        std::vector<std::string>{"payments/99", "payments/98", "payments/97"});
  const auto all = runner.run("events list", {{"limit", {"1000"}}});
  CHECK(places(all).size() == 200);
  CHECK(all.document.at("complete") == true);
  CHECK(places(runner.run("events list", {{"limit", {"101"}}})).back() == "orders/99");
}

TEST_CASE("an event's document has the names of the view, and event_id as source_id without an id of the producer") {
  Inbox inbox;
  store(inbox, 1);
  inbox.database().run("update inbox.event set source_id = null, payload = null");
  OperationRunner runner{inbox};
  const auto event = runner.run("events show", {{"id", {first_id(inbox)}}}).document.at("event");
  CHECK(event.at("source_id") == event.at("event_id"));
  CHECK(event.at("payload").is_null());
  for (const char* name : {"event_id", "source_id", "topic", "partition", "offset", "event_type", "source", "subject",
                           "key", "payload", "headers", "occurred_at", "received_at"}) {
    CAPTURE(name);
    CHECK(event.contains(name));
  }
  const auto listed = runner.run("events list").document.at("events").at(0);
  CHECK(listed.at("source_id") == listed.at("event_id"));
  CHECK_FALSE(listed.contains("payload"));
}

TEST_CASE("a list shortens a large key and marks it; show prints all of it") {
  Inbox inbox;
  store(inbox, 1);
  const std::string larger =
      GENERATE(as<std::string>{}, "convert_to(repeat('ä', 500), 'UTF8')", "decode(repeat('ff', 1000), 'hex')");
  inbox.database().run("update inbox.event set key = " + larger);
  OperationRunner runner{inbox};
  const auto event = runner.run("events list").document.at("events").at(0);
  CHECK(event.at("key_is_cut") == true);
  CHECK(event.at("key").dump().size() < 400);
  if (event.at("key").is_string()) CHECK_THAT(event.at("key").get<std::string>(), Catch::Matchers::EndsWith("ä…"));
  const auto whole = runner.run("events show", {{"id", {first_id(inbox)}}}).document;
  CHECK(!whole.at("event").contains("key_is_cut"));
  CHECK(whole.at("event").at("key").dump().size() > 1000);
}

TEST_CASE("an event of a topic with a format is shown with its decoded payload, in lists and in its history without") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(1).deliver_to(handler).store(inbox.connection());
  inbox.database().run("update inbox.event set decoded = convert_to('{\"id\": 1}', 'UTF8')");
  fail_due(inbox, handler);
  OperationRunner runner{inbox};
  const Given id{{"id", {first_id(inbox)}}};
  CHECK(runner.run("events show", id).document.at("event").at("decoded") == "{\"id\": 1}");
  CHECK(runner.run("dead show", id).document.at("dead_letters").at(0).at("event").at("decoded") == "{\"id\": 1}");
  CHECK_FALSE(runner.run("events trace", id).document.at("event").contains("decoded"));
  CHECK_FALSE(runner.run("events list").document.at("events").at(0).contains("decoded"));
}

TEST_CASE("a list can be limited to a topic, a type, a time") {
  Inbox inbox;
  store(inbox, 50);
  OperationRunner runner{inbox};
  CHECK(places(runner.run("events list", {{"topic", {"orders"}}, {"limit", {"1"}}})).front() == "orders/49");
  CHECK(places(runner.run("events list", {{"type", {"Order*"}}, {"limit", {"1"}}})).front() == "orders/49");
  CHECK(places(runner.run("events list", {{"type", {"Order*", "Paid"}}, {"limit", {"200"}}})).size() == 100);
  CHECK(places(runner.run("events list", {{"since", {"2000-01-01T00:00:00Z"}}})).size() == 20);
  CHECK(runner.run("events list", {{"until", {"2000-01-01T00:00:00Z"}}}).code == ExitCode::no);
  CHECK(runner.run("events list", {{"type", {"Nothing"}}}).code == ExitCode::no);
  CHECK(runner.run("events list", {{"type", {"P%"}}}).code == ExitCode::no);
  CHECK(runner.run("events list", {{"type", {"Pai_"}}}).code == ExitCode::no);
  CHECK(runner.run("events list", {{"topic", {"nothing"}}}).message == "no topic \"nothing\"; known: orders, payments");
}

TEST_CASE("a list of a time excludes earlier and later events of the same day") {
  Inbox inbox;
  store(inbox, 200);  // a minute apart, on the same day
  inbox.database().run(
      "create table inbox.event_20200101 partition of inbox.event for values from ('2020-01-01 00:00:00+00') to "
      "('2020-01-02 00:00:00+00')");
  inbox.database().run(
      "update inbox.event set received_at = '2020-01-01 00:00:00+00'::timestamptz + \"offset\" * interval '1 minute'");
  inbox.database().run("delete from inbox.event where \"offset\" % 7 = 3");  // offsets have gaps
  OperationRunner runner{inbox};
  for (const int from : {0, 1, 59, 100, 199}) {
    for (const int until : {1, 60, 101, 150, 200}) {
      if (from >= until) continue;
      const auto at = [](int minute) {
        return "2020-01-01T0" + std::to_string(minute / 60) + ":" + (minute % 60 < 10 ? "0" : "") +
               std::to_string(minute % 60) + ":00Z";
      };
      std::vector<std::string> wanted;
      for (int offset = until - 1; offset >= from; --offset) {
        if (offset % 7 != 3) wanted.push_back("orders/" + std::to_string(offset));
      }
      INFO(at(from) << " to " << at(until));
      std::map<std::string, std::vector<std::string>> given{
          {"topic", {"orders"}}, {"since", {at(from)}}, {"until", {at(until)}}, {"limit", {"1000"}}};
      CHECK(places(runner.run("events list", given)) == wanted);
      given["limit"] = {"3"};
      wanted.resize(std::min<std::size_t>(wanted.size(), 3));
      CHECK(places(runner.run("events list", given)) == wanted);
    }
  }
}

TEST_CASE("restored events, received later than their neighbours, hide no others from a list of a time") {
  Inbox inbox;
  store(inbox, 200);
  const auto day = [&](const std::string& name, const std::string& from, const std::string& until) {
    inbox.database().run("create table inbox.event_" + name + " partition of inbox.event for values from ('" + from +
                         " 00:00:00+00') to ('" + until + " 00:00:00+00')");
  };
  day("20200101", "2020-01-01", "2020-01-02");
  day("20200102", "2020-01-02", "2020-01-03");
  const bool has_day_before = GENERATE(true, false);
  inbox.database().run(
      "update inbox.event set received_at = case "
      "when \"offset\" < 140 then timestamptz '2020-01-02 20:00:00+00' "  // restored in the evening
      "when \"offset\" < 150 then timestamptz '2020-01-01 12:00:00+00' "
      "else timestamptz '2020-01-02 00:00:00+00' + \"offset\" * interval '1 minute' end");
  if (!has_day_before) inbox.database().run("delete from inbox.event where \"offset\" between 140 and 149");
  OperationRunner runner{inbox};
  for (const std::string since : {"2020-01-02T00:00:00Z", "2020-01-02T02:31:00Z"}) {
    const auto answer =
        runner.run("events list",
                   {{"topic", {"orders"}}, {"since", {since}}, {"until", {"2020-01-02T02:33:00Z"}}, {"limit", {"2"}}});
    CHECK(places(answer) == std::vector<std::string>{"orders/152", "orders/151"});
  }
}

TEST_CASE("a search for a rare type stops at a limit and reports it") {
  Inbox inbox;
  store(inbox, 500);
  inbox.database().run("update inbox.event set event_type = 'Rare' where \"offset\" = 0");
  OperationRunner runner{inbox};
  const auto shallow = runner.run("events list", {{"type", {"Rare"}}, {"search", {"100"}}});
  CHECK(shallow.code == ExitCode::no);
  CHECK(shallow.document.at("complete") == false);
  CHECK_THAT(shallow.message, ContainsSubstring("search on with --until 2"));
  const auto deep = runner.run("events list", {{"type", {"Rare"}}, {"search", {"10000"}}});
  CHECK(places(deep) == std::vector<std::string>{"payments/0", "orders/0"});
  CHECK(deep.document.at("complete") == true);
}

TEST_CASE("an event is found by its event_id and by its offset, also when it is days old") {
  Inbox inbox;
  store(inbox, 10);
  const auto id = first_id(inbox);
  OperationRunner runner{inbox};
  for (const int days : {0, 40}) {
    if (days > 0) age(inbox, days);
    for (const std::string& typed : {id, std::string{"orders/0/0"}}) {
      CAPTURE(days, typed);
      const auto answer = runner.run("events show", {{"id", {typed}}});
      REQUIRE(answer.code == ExitCode::done);
      CHECK(answer.document.at("event").at("event_id") == id);
      CHECK(answer.document.at("event").at("payload") == "{}");
      CHECK(answer.document.at("event").at("is_purged") == false);
    }
  }
}

TEST_CASE("an event is found by its producer's id") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  // As the envelope derives it from source and id; the newest events name the sources.
  const auto made = operations::ids_made_of("ORDER-4711", "prod", {"/shop"}, {}).at(0);
  Batch batch{inbox};
  batch.at(shard, 0).events(3).event(made);
  batch.store(inbox.connection());
  inbox.database().run("update inbox.event set source = '/shop', source_id = 'ORDER-4711' where \"offset\" = 3");
  OperationRunner runner{inbox};
  const auto answer = runner.run("events show", {{"id", {"ORDER-4711"}}});
  REQUIRE(answer.code == ExitCode::done);
  CHECK(answer.document.at("event").at("offset") == 3);

  // The ledger has forgotten the id: a scan of the events still finds it.
  inbox.database().run("delete from inbox.ledger");
  std::vector<std::string> progress;
  runner.context.progress = [&](const operations::Progress& step) { progress.push_back(step.what); };
  CHECK(runner.run("events show", {{"id", {"ORDER-4711"}}}).document.at("event").at("offset") == 3);
  CHECK_FALSE(progress.empty());
}

TEST_CASE("an id of several producers lists their events") {
  Inbox inbox;
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(2);
  batch.store(inbox.connection());
  inbox.database().run("update inbox.event set source_id = '17', source = '/' || \"offset\"");
  const auto answer = OperationRunner{inbox}.run("events show", {{"id", {"17"}}});
  CHECK(answer.code == ExitCode::no);
  CHECK(answer.document.at("events").size() == 2);
  CHECK(answer.message == "2 events have the id \"17\"; pass an event_id");
}

TEST_CASE("an offset without an event is explained") {
  Inbox inbox;
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(1).reject("no_id").skip(1);
  batch.store(inbox.connection());
  OperationRunner runner{inbox};
  const auto message = [&](const std::string& place) { return runner.run("events show", {{"id", {place}}}).message; };
  CHECK_THAT(message("orders/0/1"), ContainsSubstring("in quarantine (no_id): inboxd quarantine show "));
  CHECK_THAT(message("orders/0/2"), ContainsSubstring("was a duplicate"));
  CHECK_THAT(message("orders/0/3"), ContainsSubstring("not ingested yet: the partition's position is 3"));
  CHECK(message("nothing/0/3") == "no event with the id \"nothing/0/3\": no topic \"nothing\"; known: orders");
  CHECK(runner.run("events show", {{"id", {"nothing"}}}).code == ExitCode::no);
}

TEST_CASE("an event shows its handlers, failures and timeline, from received to done") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(2).deliver_to(handler);
  batch.store(inbox.connection());
  OperationRunner runner{inbox};
  const auto state = [&] {
    const auto handlers = runner.run("events show", {{"id", {"orders/0/0"}}}).document.at("handlers");
    return handlers.empty() ? "" : handlers.at(0).at("state").get<std::string>();
  };
  CHECK(state() == "due");

  auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
  inbox::instance_heartbeat(inbox.connection(), {inbox.owner, "host-a", 42}, false);
  CHECK(state() == "leased");

  inbox::Settlement failed;
  failed.key = run.key;
  failed.whole = true;
  failed.failures.push_back({run.events[0]->event_id, 1, "timeout", "no answer", milliseconds{0}});
  failed.retries.push_back({event::OffsetSet{{0, 1}}, milliseconds{60'000}, "timeout: no answer"});
  failed.done.add(1);
  inbox::settle(inbox.connection(), inbox.owner, {failed});
  CHECK(state() == "retrying");

  inbox.database().run("update inbox.delivery set due_at = now()");
  run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
  inbox::settle(inbox.connection(), inbox.owner, {all_done(run)});
  CHECK(state() == "done");

  const auto show = runner.run("events show", {{"id", {"orders/0/0"}}}).document;
  CHECK(show.at("handlers").at(0).at("attempts") == 2);
  CHECK(show.at("handlers").at(0).at("worker").at("host") == "host-a");
  CHECK(show.at("failures").at(0).at("message") == "no answer");
  std::vector<std::string> story;
  const auto trace = runner.run("events trace", {{"id", {"orders/0/0"}}}).document;
  for (const auto& moment : trace.at("timeline")) {
    story.push_back(moment.at("what"));
  }
  CHECK(story.front() == "received");
  CHECK(std::find(story.begin(), story.end(), "attempt 1 failed") != story.end());
  CHECK(story.back() == "done");
}

TEST_CASE("each handler that subscribed to an event has a state: pending, missing, or in a back-fill") {
  Inbox inbox;
  const auto paused = inbox.add_handler("paused"), lost = inbox.add_handler("lost"), fed = inbox.add_handler("fed");
  inbox.add_handler("other", {"payments"});
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(2).deliver_to(paused).deliver_to(lost).deliver_to(fed);
  batch.store(inbox.connection());
  inbox.add_handler("later");
  inbox.database().run("update inbox.handler set paused_reason = 'looking into it' where name = 'paused'");
  OperationRunner runner{inbox};
  const std::string verb = GENERATE("events show", "events trace");
  const auto states = [&] {
    std::string out;
    const auto document = runner.run(verb, {{"id", {"orders/0/0"}}}).document;
    for (const auto& handler : document.at("handlers")) {
      out += handler.at("handler").get<std::string>() + ":" + handler.at("state").get<std::string>() + " ";
      if (handler.at("handler") == "paused") CHECK(handler.at("paused_reason") == "looking into it");
    }
    return out;
  };
  CHECK(states() == "fed:due lost:due paused:due ");
  inbox.database().run("delete from inbox.delivery where handler_id <> $1::int", {std::to_string(paused)});
  inbox.database().run("insert into inbox.backfill (handler_id, shard_id, next_offset, end_offset) values ($1::int, "
                       "$2::int, 0, 2)",
                       {std::to_string(fed), std::to_string(shard)});
  CHECK(states() == "fed:backfill lost:missing paused:due ");
  runner.context.retention.dead_letters = milliseconds{0};  // its dead letter may have been deleted
  CHECK(states() == "paused:due ");
}

TEST_CASE("a handler of another topic that an event came on has a state, too") {
  Inbox inbox;
  const auto handler = inbox.add_handler("audit", {"copies"});
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(1);
  batch.store(inbox.connection());
  OperationRunner runner{inbox};
  const auto handlers = [&] { return runner.run("events show", {{"id", {"orders/0/0"}}}).document.at("handlers"); };
  CHECK(handlers().empty());
  inbox.database().run(
      "insert into inbox.also_seen (event_id, topic, event_type, shard_id, \"offset\", routing_version) "
      "select event_id, 'copies', event_type, shard_id, \"offset\", 1 from inbox.event");
  REQUIRE(handlers().size() == 1);
  CHECK(handlers()[0].at("state") == "missing");
  inbox.database().run("update inbox.handler set retired_at = now() where handler_id = $1::int",
                       {std::to_string(handler)});
  CHECK(handlers().empty());
}

TEST_CASE("a trace follows an event's messages: to send, waiting, back from Kafka") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(1).deliver_to(handler);
  batch.store(inbox.connection());
  const auto id = batch.events().at(0).event_id;
  const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
  inbox::settle(inbox.connection(), inbox.owner, {all_done(run)});
  const auto first = base::uuid_v5(id, "receipt/1").text();
  const auto second = base::uuid_v5(id, "receipt/2").text();
  inbox.database().run("insert into inbox.outbox (message_id, topic) values ($1::uuid, 'payments')", {first});
  inbox.database().run(
      "insert into inbox.outbox (message_id, topic) values (inbox.message_id($1::uuid, 'dead letter of receipt'), "
      "'orders.DLT')",
      {id.text()});
  OperationRunner runner{inbox};
  const auto story = [&] {
    std::string out;
    const auto trace = runner.run("events trace", {{"id", {id.text()}}}).document;
    for (const auto& moment : trace.at("timeline")) {
      out += moment.at("what").get<std::string>() + " " + moment.at("detail").get<std::string>() + "\n";
    }
    return out;
  };
  CHECK_THAT(story(), ContainsSubstring("message published " + first + " to payments, to send\n") &&
                          ContainsSubstring(" to orders.DLT, to send\n"));
  inbox.database().run(
      "insert into inbox.outbox_lane (lane, topic, whole_topic, error, attempts) values (5, 'payments', false, 'too "
      "large', 1)");
  inbox.database().run(
      "insert into inbox.outbox_waiting (outbox_id, message_id, topic, published_at, lane, alone) values (77, "
      "$1::uuid, "
      "'payments', now(), 5, true)",
      {second});
  CHECK_THAT(story(), ContainsSubstring(second + " to payments, waits: too large\n"));
  inbox.database().run("delete from inbox.outbox where message_id = $1::uuid", {first});
  Batch back{inbox};
  back.at(inbox.add_shard("payments"), 0).event(*base::parse_uuid(first));
  back.store(inbox.connection());
  CHECK_THAT(story(), ContainsSubstring("message in Kafka " + first + " is payments/0/0\n"));
}

TEST_CASE("a purged event is shown from its dead letter's copy, or at least as purged") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(1, "{\"a\": 1}").deliver_to(handler);
  batch.store(inbox.connection());
  const auto id = first_id(inbox);
  const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
  inbox::Settlement settlement;
  settlement.key = run.key;
  settlement.whole = true;
  settlement.dead.push_back({0, run.events[0]->event_id});
  inbox::settle(inbox.connection(), inbox.owner, {settlement});
  inbox.database().run("delete from inbox.event");
  OperationRunner runner{inbox};
  auto document = runner.run("events show", {{"id", {id}}}).document;
  CHECK(document.at("event").at("is_purged") == true);
  CHECK(document.at("event").at("payload") == "{\"a\": 1}");
  CHECK(document.at("handlers").at(0).at("state") == "dead");

  runner.run("dead discard", {{"all", {"true"}}});
  document = runner.run("events show", {{"id", {id}}}).document;
  CHECK(document.at("event").at("is_purged") == true);
  CHECK(document.at("handlers").at(0).at("state") == "discarded");
}

TEST_CASE("a replay is in the event's timeline, with its operator") {
  Inbox inbox;
  const auto handler = inbox.add_handler("receipt");
  Batch batch{inbox};
  batch.at(inbox.add_shard("orders"), 0).events(1).deliver_to(handler);
  batch.store(inbox.connection());
  const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
  inbox::Settlement settlement;
  settlement.key = run.key;
  settlement.whole = true;
  settlement.dead.push_back({0, run.events[0]->event_id});
  inbox::settle(inbox.connection(), inbox.owner, {settlement});
  OperationRunner runner{inbox};
  runner.run("dead replay", {{"all", {"true"}}});
  bool has_replay = false;
  const auto trace = runner.run("events trace", {{"id", {"orders/0/0"}}}).document;
  for (const auto& moment : trace.at("timeline")) {
    has_replay = has_replay || (moment.at("what") == "dead replay" && moment.at("detail") == "ann@host");
  }
  CHECK(has_replay);
}
