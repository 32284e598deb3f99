// What people do with dead letters.
#include <catch2/catch_test_macros.hpp>
#include <future>
#include <thread>

#include "event/offsets.hpp"
#include "inbox/operations_dead.hpp"
#include "integration/operations/ask.hpp"

using namespace inboxd;
using namespace inboxd::support;
using base::ExitCode;

namespace {

/// A handler that gave up on that many events of one shard, one run.
std::int32_t bury(Inbox& inbox, int events, const std::string& name = "receipt", const std::string& topic = "orders",
                  const std::string& error_class = "timeout.read") {
  const auto handler = inbox.add_handler(name, {topic});
  Batch batch{inbox};
  batch.at(inbox.add_shard(topic), 0).events(events, "{\"order\": 7}", "OrderPlaced").owe(handler);
  batch.store(inbox.connection());
  for (const auto& run : claim_due(inbox.connection(), handler, inbox.owner).runs) {
    inbox::Settlement settlement;
    settlement.key = run.key;
    settlement.whole = true;
    for (const auto* event : run.events) {
      settlement.failures.push_back({event->event_id, 1, error_class, "no answer from mail", milliseconds{12}});
      settlement.dead.push_back({event->offset, event->event_id});
    }
    REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
  }
  return handler;
}

std::int64_t dead_letters(Inbox& inbox) { return inbox.database().number("select count(*) from inbox.dead_letter"); }

/// All days of events go, as when their retention is over.
void purge(Inbox& inbox) { inbox.database().run("delete from inbox.event"); }

std::string pending(Inbox& inbox) {
  return inbox.database().text(
      "select coalesce(string_agg(pending::text, ' ' order by delivery_id), '') from inbox.delivery");
}

}  // namespace

TEST_CASE("a replayed dead letter is owed again, due now, from the first attempt") {
  Inbox inbox;
  const auto handler = bury(inbox, 3);
  REQUIRE(dead_letters(inbox) == 3);
  const auto answer = Desk{inbox}.ask("dead replay", {{"handler", {"receipt"}}});
  CHECK(answer.code == ExitCode::done);
  CHECK(answer.document.at("replayed") == 3);
  CHECK(answer.document.at("restored") == 0);
  CHECK(dead_letters(inbox) == 0);
  CHECK(inbox.database().text("select string_agg(distinct state || attempts, ' ') from inbox.deliveries") == "due0");

  const auto runs = claim_due(inbox.connection(), handler, inbox.owner).runs;
  REQUIRE(events_in(runs) == 3);
  for (const auto& run : runs) {
    CHECK(run.attempts == 0);
    CHECK(inbox::settle(inbox.connection(), inbox.owner, {all_done(run)}).empty());
  }
  CHECK(inbox.database().text("select string_agg(distinct state, ' ') from inbox.deliveries") == "done");
}

TEST_CASE("a replay keeps the order of the partition, in runs of neighbours") {
  Inbox inbox;
  const auto handler = bury(inbox, 1200);
  CHECK(Desk{inbox}.ask("dead replay", {{"all", {"true"}}}).document.at("replayed") == 1200);
  CHECK(pending(inbox) == "{[0,500)} {[500,1000)} {[1000,1200)}");
  std::int64_t last = -1;
  for (const auto& run : claim_due(inbox.connection(), handler, inbox.owner).runs) {
    for (const auto* event : run.events) CHECK(std::exchange(last, event->offset) < event->offset);
  }
  CHECK(last == 1199);
}

TEST_CASE("a replay of large events makes runs that a claim can read whole") {
  Inbox inbox;
  bury(inbox, 20);
  inbox.database().run("update inbox.dead_letter set payload = convert_to(repeat('x', 1 << 20), 'UTF8')");
  CHECK(Desk{inbox}.ask("dead replay", {{"all", {"true"}}}).document.at("replayed") == 20);
  CHECK(pending(inbox) == "{[0,8)} {[8,16)} {[16,20)}");
}

TEST_CASE("an event that was purged is restored from the dead letter's copy, and its handler gets it") {
  Inbox inbox;
  const auto handler = bury(inbox, 2);
  const auto before =
      inbox.database().text("select string_agg(event_id::text, ' ' order by \"offset\") from inbox.event");
  purge(inbox);
  const auto answer = Desk{inbox}.ask("dead replay", {{"all", {"true"}}});
  CHECK(answer.document.at("replayed") == 2);
  CHECK(answer.document.at("restored") == 2);
  CHECK(inbox.database().text("select string_agg(event_id::text, ' ' order by \"offset\") from inbox.event") == before);
  const auto runs = claim_due(inbox.connection(), handler, inbox.owner).runs;
  REQUIRE(events_in(runs) == 2);
  CHECK(runs[0].events[0]->payload == "{\"order\": 7}");
  CHECK(runs[0].events[0]->event_type == "OrderPlaced");
}

TEST_CASE("an event that two handlers gave up on is restored once, together or one after the other") {
  for (const bool together : {true, false}) {
    CAPTURE(together);
    Inbox inbox;
    const auto first = inbox.add_handler("first");
    const auto second = inbox.add_handler("second");
    Batch batch{inbox};
    batch.at(inbox.add_shard("orders"), 0).events(1).owe(first).owe(second);
    batch.store(inbox.connection());
    for (const auto handler : {first, second}) {
      const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
      inbox::Settlement settlement;
      settlement.key = run.key;
      settlement.whole = true;
      settlement.dead.push_back({0, run.events[0]->event_id});
      inbox::settle(inbox.connection(), inbox.owner, {settlement});
    }
    REQUIRE(dead_letters(inbox) == 2);
    purge(inbox);
    Desk desk{inbox};
    if (together) {
      desk.ask("dead replay", {{"all", {"true"}}});
    } else {
      desk.ask("dead replay", {{"handler", {"first"}}});
      desk.ask("dead replay", {{"handler", {"second"}}});
    }
    CHECK(inbox.database().number("select count(*) from inbox.event") == 1);
    CHECK(events_in(claim_due(inbox.connection(), first, inbox.owner).runs) == 1);
    CHECK(events_in(claim_due(inbox.connection(), second, inbox.owner).runs) == 1);
  }
}

TEST_CASE("two replays at once put every dead letter back once") {
  Inbox inbox;
  const auto handler = bury(inbox, 2000);
  purge(inbox);
  std::vector<std::int64_t> ids;
  for (const auto& letter : inbox::pick_dead(inbox.connection(), {}, false, 10'000))
    ids.push_back(letter.dead_letter_id);
  std::int64_t replayed[2] = {0, 0};
  {
    std::vector<std::jthread> people;
    for (auto& count : replayed) {
      people.emplace_back([&] {
        const auto connection = inbox.connect();
        for (std::size_t at = 0; at < ids.size(); at += 100) {
          const std::vector<std::int64_t> bite(ids.begin() + static_cast<std::ptrdiff_t>(at),
                                               ids.begin() + static_cast<std::ptrdiff_t>(at + 100));
          count += inbox::replay_dead(*connection, bite, {"ann", "--all"}).letters;
        }
      });
    }
  }
  CHECK(replayed[0] + replayed[1] == 2000);
  CHECK(inbox.database().number("select count(*) from inbox.event") == 2000);
  CHECK(events_in(claim_due(inbox.connection(), handler, inbox.owner).runs) == 2000);
}

TEST_CASE("a replay at a rate goes in bites of that many, and stops between two when it is asked to") {
  Inbox inbox;
  bury(inbox, 30);
  Desk desk{inbox};
  std::vector<milliseconds> pauses;
  desk.context.pause = [&](milliseconds most) {
    pauses.push_back(most);
    return pauses.size() == 2;
  };
  std::vector<std::int64_t> progress;
  desk.context.progress = [&](const admin::Progress& step) { progress.push_back(step.done); };
  const auto answer = desk.ask("dead replay", {{"all", {"true"}}, {"rate", {"10"}}});
  CHECK(answer.code == ExitCode::try_again);
  CHECK(answer.document.at("replayed") == 20);
  CHECK(answer.document.at("interrupted") == true);
  CHECK(pauses == std::vector<milliseconds>{milliseconds{1000}, milliseconds{1000}});
  CHECK(progress == std::vector<std::int64_t>{10, 20});
  CHECK(dead_letters(inbox) == 10);
}

TEST_CASE("a dry run changes nothing") {
  Inbox inbox;
  bury(inbox, 3);
  Desk desk{inbox};
  for (const std::string verb : {"dead replay", "dead discard"}) {
    const auto answer = desk.ask(verb, {{"all", {"true"}}, {"dry-run", {"true"}}});
    CHECK(answer.document.at("matched") == 3);
    CHECK(answer.document.at("handlers").at("receipt") == 3);
  }
  CHECK(dead_letters(inbox) == 3);
  CHECK(inbox.database().number("select count(*) from inbox.audit where operation like 'dead %'") == 0);
}

TEST_CASE("what dies while a person is asked is left alone, whatever its number") {
  for (const std::string verb : {"dead replay", "dead discard"}) {
    CAPTURE(verb);
    Inbox inbox;
    auto& database = inbox.database();
    bury(inbox, 3);
    Desk desk{inbox};
    const auto plan = desk.ask(verb, {{"all", {"true"}}, {"dry-run", {"true"}}});
    CHECK(plan.document.at("matched") == 3);
    bury(inbox, 2, "audit", "payments");
    // Of a transaction that had drawn its number before and was over only now.
    database.run(
        "insert into inbox.dead_letter (dead_letter_id, handler_id, event_id, shard_id, \"offset\", event_type, "
        "received_at, attempts, reasons) overriding system value "
        "select 0, handler_id, gen_random_uuid(), shard_id, 7, event_type, received_at, 1, '[]' "
        "from inbox.dead_letter limit 1");
    desk.context.agreed = plan.plan;
    const auto answer = desk.ask(verb, {{"all", {"true"}}});
    CHECK(answer.code == ExitCode::done);
    CHECK(answer.document.at("matched") == 3);
    CHECK(database.text("select array_agg(dead_letter_id order by dead_letter_id) from inbox.dead_letter") ==
          "{0,4,5}");
    CHECK(desk.ask(verb, {{"all", {"true"}}}).code == ExitCode::no);  // these are gone
    CHECK(dead_letters(inbox) == 3);
  }
}

TEST_CASE("who agrees to the first of many gets the first, named by event or not, and is told of the rest") {
  Inbox inbox;
  bury(inbox, 5);
  const auto event = inbox.database().text("select event_id from inbox.dead_letter where \"offset\" = 4");
  Desk desk{inbox};
  const auto agree_to = [&](std::map<std::string, std::vector<std::string>> given) {
    given["dry-run"] = {"true"};
    const auto plan = desk.ask("dead discard", given);
    given.erase("dry-run");
    desk.context.agreed = plan.plan;
    auto answer = desk.ask("dead discard", given);
    desk.context.agreed = nullptr;
    return answer;
  };
  desk.context.most_rows = 2;
  const auto answer = agree_to({{"all", {"true"}}});
  CHECK(answer.document.at("discarded") == 2);
  CHECK(answer.document.at("more") == true);
  CHECK(answer.message.find("the first 2 were taken; run it again for the rest") != std::string::npos);
  CHECK(agree_to({{"id", {event}}}).document.at("discarded") == 1);
  CHECK(inbox.database().text("select array_agg(\"offset\" order by \"offset\") from inbox.dead_letter") == "{2,3}");
}

TEST_CASE("filters choose by handler, type, class of error, message, time and id") {
  Inbox inbox;
  bury(inbox, 2, "receipt", "orders", "timeout.read");
  bury(inbox, 3, "audit", "payments", "validation");
  const auto matched = [&](const std::map<std::string, std::vector<std::string>>& filter) {
    auto given = filter;
    given["dry-run"] = {"true"};
    return Desk{inbox}.ask("dead replay", given).document.at("matched").get<int>();
  };
  CHECK(matched({{"handler", {"audit"}}}) == 3);
  CHECK(matched({{"handler", {"nobody"}}}) == 0);
  CHECK(matched({{"type", {"Order*"}}}) == 5);
  CHECK(matched({{"type", {"Order"}}}) == 0);
  CHECK(matched({{"error", {"timeout*"}}}) == 2);
  CHECK(matched({{"error", {"timeout*", "validation"}}}) == 5);
  CHECK(matched({{"message", {"ANSWER"}}}) == 5);
  CHECK(matched({{"message", {"%"}}}) == 0);
  CHECK(matched({{"since", {"2000-01-01T00:00:00Z"}}}) == 5);
  CHECK(matched({{"until", {"2000-01-01T00:00:00Z"}}}) == 0);
  const auto id = inbox.database().text("select dead_letter_id from inbox.dead_letter limit 1");
  const auto event =
      inbox.database().text("select event_id from inbox.dead_letter where dead_letter_id <> $1 limit 1", {id});
  CHECK(matched({{"id", {id}}}) == 1);
  CHECK(matched({{"id", {id, event}}}) == 2);
  CHECK(matched({{"id", {id}}, {"handler", {"nobody"}}}) == 0);
}

TEST_CASE("to replay or discard everything one has to say so") {
  Inbox inbox;
  bury(inbox, 1);
  CHECK(Desk{inbox}.ask("dead replay").code == ExitCode::usage);
  CHECK(Desk{inbox}.ask("dead discard").code == ExitCode::usage);
  CHECK(Desk{inbox}.ask("dead discard", {{"id", {"x"}}}).code == ExitCode::usage);
  CHECK(dead_letters(inbox) == 1);
}

TEST_CASE("a discarded dead letter leaves an outcome and who did it") {
  Inbox inbox;
  bury(inbox, 3);
  const auto answer = Desk{inbox}.ask("dead discard", {{"error", {"timeout*"}}});
  CHECK(answer.document.at("discarded") == 3);
  CHECK(dead_letters(inbox) == 0);
  CHECK(inbox.database().text("select offsets || ' ' || attempts from inbox.outcome where outcome = 'discarded'") ==
        "{[0,3)} 1");
  CHECK(inbox.database().text("select actor || '|' || operation || '|' || target || '|' || (detail ->> 'events') "
                              "from inbox.audit where operation like 'dead %'") ==
        "ann@host|dead discard|--error timeout*|3");
  CHECK(inbox.outstanding() == 0);
}

TEST_CASE("an event that died stays one row of view deliveries, whatever becomes of its letter") {
  Inbox inbox;
  const auto handler = bury(inbox, 1);
  Desk desk{inbox};
  const auto states = [&] {
    return inbox.database().text("select coalesce(string_agg(state, ' '), 'none') from inbox.deliveries");
  };
  CHECK(states() == "dead");
  const auto die_again = [&] {
    REQUIRE(desk.ask("dead replay", {{"all", {"true"}}}).document.at("replayed") == 1);
    CHECK(states() == "due");
    const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
    inbox::Settlement settlement;
    settlement.key = run.key;
    settlement.whole = true;
    settlement.dead = {{0, run.events[0]->event_id}};
    REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {settlement}).empty());
    CHECK(states() == "dead");
  };
  die_again();
  SECTION("discarded") {
    CHECK(desk.ask("dead discard", {{"all", {"true"}}}).code == ExitCode::done);
    CHECK(states() == "discarded");
  }
  SECTION("past its retention") {
    CHECK(inbox::trim_old_rows(inbox.connection(), milliseconds{0}, {}, 100) == 1);
    CHECK(states() == "dead");
  }
  SECTION("replayed and done") {
    REQUIRE(desk.ask("dead replay", {{"all", {"true"}}}).document.at("replayed") == 1);
    const auto run = claim_due(inbox.connection(), handler, inbox.owner).runs.at(0);
    REQUIRE(inbox::settle(inbox.connection(), inbox.owner, {all_done(run)}).empty());
    CHECK(states() == "done");
  }
}

TEST_CASE("dead letters of a retired handler can be discarded, not replayed") {
  Inbox inbox;
  bury(inbox, 2);
  inbox.database().run("update inbox.handler set retired_at = now()");
  const auto replay = Desk{inbox}.ask("dead replay", {{"all", {"true"}}});
  CHECK(replay.code == ExitCode::no);
  CHECK(replay.document.at("of_retired_handlers") == 2);
  CHECK(Desk{inbox}.ask("dead discard", {{"all", {"true"}}}).document.at("discarded") == 2);
}

TEST_CASE("what a replay puts back of a handler that is being retired goes with it") {
  Inbox inbox;
  bury(inbox, 3);
  auto& database = inbox.database();
  Session busy{database.url(), database.schema()};
  busy.run("begin");
  busy.run("select from inbox.dead_letter for update");
  const auto in_background = [&](const std::string& verb,
                                 const std::map<std::string, std::vector<std::string>>& given) {
    return std::async(std::launch::async, [&inbox, verb, given] {
      const auto connection = inbox.connect();
      Desk desk{inbox};
      desk.context.connection = connection.get();
      return desk.ask(verb, given);
    });
  };
  auto replay = in_background("dead replay", {{"all", {"true"}}});
  database.wait_for("the replay waits for a letter",
                    "select count(*) from pg_locks l join pg_stat_activity a using (pid) where not l.granted and "
                    "l.locktype in ('transactionid', 'tuple') and a.query like '%' || '" +
                        database.schema() + "' || '.dead_letter%'",
                    1);
  auto retire = in_background("handlers retire", {{"handler", {"receipt"}}});
  database.wait_for("the retirement waits for the replay",
                    "select count(*) from pg_locks where locktype = 'advisory' and classid = 1768841848 "
                    "and objid = 'inbox.routing'::regclass::oid and not granted",
                    1);
  busy.run("commit");
  CHECK(replay.get().document.at("replayed") == 3);
  CHECK(retire.get().code == ExitCode::done);
  CHECK(inbox.outstanding() == 0);
}

TEST_CASE("what is more than one command takes on is said, and is there for the next") {
  Inbox inbox;
  bury(inbox, 5);
  Desk desk{inbox};
  desk.context.most_rows = 2;
  for (const std::string verb : {"dead replay", "dead discard"}) {
    CAPTURE(verb);
    const auto plan = desk.ask(verb, {{"all", {"true"}}, {"dry-run", {"true"}}});
    CHECK(plan.document.at("matched") == 2);
    CHECK(plan.document.at("more") == true);
    CHECK(plan.message.find("the first 2 would be taken; run it again for the rest") != std::string::npos);
    const auto answer = desk.ask(verb, {{"all", {"true"}}});
    CHECK(answer.code == ExitCode::done);
    CHECK(answer.document.at("more") == true);
    CHECK(answer.message.find("the first 2 were taken; run it again for the rest") != std::string::npos);
  }
  REQUIRE(dead_letters(inbox) == 1);
  const auto last = desk.ask("dead replay", {{"all", {"true"}}});
  CHECK(last.document.at("matched") == 1);
  CHECK(last.document.at("more") == false);
  CHECK(last.message.empty());
}

TEST_CASE("letters of retired handlers do not hide the others from a replay") {
  Inbox inbox;
  for (const std::string name : {"first", "second"}) bury(inbox, 3, name, name);
  inbox.database().run(
      "update inbox.handler set retired_at = now() where handler_id = (select min(handler_id) from inbox.handler)");
  Desk desk{inbox};
  desk.context.most_rows = 3;
  const auto answer = desk.ask("dead replay", {{"all", {"true"}}});
  CHECK(answer.document.at("replayed") == 3);
  CHECK(answer.document.at("more") == false);
  CHECK(answer.document.at("of_retired_handlers") == 3);
  CHECK(dead_letters(inbox) == 3);
}

TEST_CASE("the list shows the newest with their groups, and a letter has the event and every reason") {
  Inbox inbox;
  bury(inbox, 2, "receipt", "orders", "timeout.read");
  bury(inbox, 3, "audit", "payments", "validation");
  Desk desk{inbox};
  const auto list = desk.ask("dead list", {{"limit", {"2"}}}).document;
  CHECK(list.at("total") == 5);
  CHECK(list.at("dead_letters").size() == 2);
  CHECK(list.at("groups").at(0).at("handler") == "audit");
  CHECK(list.at("groups").at(0).at("dead") == 3);
  CHECK_FALSE(list.at("dead_letters").at(0).at("event").contains("payload"));

  const auto id = list.at("dead_letters").at(0).at("dead_letter_id").dump();
  const auto letter = desk.ask("dead show", {{"id", {id}}}).document.at("dead_letters").at(0);
  CHECK(letter.at("event").at("payload") == "{\"order\": 7}");
  CHECK(letter.at("reasons").at(0).at("message") == "no answer from mail");
  CHECK(desk.ask("dead show", {{"id", {"999999"}}}).code == ExitCode::no);
  CHECK(desk.ask("dead list", {{"handler", {"nobody"}}}).code == ExitCode::no);
}
